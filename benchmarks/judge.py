"""Measure the judge: bad answer sets caught, false alarms on good ones. Run: python benchmarks/judge.py [SEED]

Every set holds an answer to each question relight asks. Good sets come from pretended models of several kinds (chat,
base, terse, thinking aloud, coder); bad ones are good ones in which one of the known patterns was planted.
"""

import json
import random
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from relight.attempts.judge import plan
from relight.attempts.judge.answers import Answered, Question
from relight.attempts.judge.book import Book, read_book
from relight.attempts.judge.facts import Facts
from relight.attempts.judge.verdict import judge
from relight.config import shipped
from relight.words.playbook import Health

TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").with_stem("judge_texts").read_text())
GOODS, BADS = 1000, 300
LANGUAGES = tuple(TEXTS["sentences"])
RIGHT = {
    "The capital of France is": " Paris",
    "Monday, Tuesday, Wednesday, Thursday,": " Friday",
    "1, 2, 3, 4, 5, 6,": " 7",
    "The opposite of hot is": " cold",
    "2 + 2 =": " 4",
    "Two plus three equals": " five",
    "A, B, C, D, E, F,": " G",
    "What is the capital of Japan? Answer with one word.": "Tokyo",
}


@dataclass
class Said:
    """One answer before it becomes JSON."""

    text: str
    finish: str
    ids: list[int]
    logprobs: list[float | None]
    tokens: int | None = None
    status: int = 200


@dataclass
class Set:
    """The answers of one server, and how it reports numbers."""

    questions: list[Question]
    said: list[Said]
    with_numbers: bool
    language: str


def book() -> Book:
    """Return the shipped book."""
    return read_book((shipped.engine() / "judge.toml").read_text())


def questions(rng: random.Random, known: Book) -> list[Question]:
    """Return what one session asks, in order."""
    facts = Facts(version="0.5.16", chunk=256, context_length=4096)
    asked = list(plan.questions(Health(), known, facts))
    return asked + list(plan.load_questions(known, facts, count=rng.choice([4, 8, 16]), turn=rng.randrange(40)))


# --- good ---------------------------------------------------------------------------------------------------------


def good(rng: random.Random, known: Book) -> Set:
    """Return the answers of a sound model of a random kind."""
    kind = rng.choice(["chat", "base", "base", "terse", "thinker", "coder", "looper"])
    language = rng.choice([*LANGUAGES, "en", "en", "en"])
    asked = questions(rng, known)
    weak = rng.choice([0.0, 0.0, 0.1, 0.3])
    said = [speak(rng, q, kind, language, weak) for q in asked]
    equal = [i for i, q in enumerate(asked) if q.role == "equal"]
    for i in equal[1:]:
        said[i] = batched(rng, said[equal[0]])
    return Set(asked, said, rng.random() < 0.6, language)


def speak(rng: random.Random, question: Question, kind: str, language: str, weak: float) -> Said:
    right = answer_of(question)
    if question.role == "long":
        right = " harbour"
    if rng.random() < weak and question.role in {"plain", "load"}:
        right = rng.choice([" a", " the", " (", " not", "\n"])
    if kind == "thinker" and question.role != "long":
        return cut(rng, rng.choice(TEXTS["other"]["thinking"]) + " " + prose(rng, "en", 6), question)
    if not right:
        return cut(rng, " " + body(rng, kind, language), question)
    return short(rng, question, kind, right, language)


def answer_of(question: Question) -> str:
    return next((r for p, r in RIGHT.items() if question.prompt.endswith(p)), "")


def short(rng: random.Random, question: Question, kind: str, right: str, language: str) -> Said:
    if kind == "terse" or question.role == "chat":
        return ended(rng, right.strip() + rng.choice(["", ".", "!"]))
    if kind == "looper":
        return cut(rng, right + ("." + question.prompt + right) * 9, question)
    if kind == "chat":
        return ended(rng, f"{right}. {prose(rng, language, 1)}")
    go_on = rng.choice(
        [
            lambda: (
                rng.choice(TEXTS["other"]["choices"]) if "France" in question.prompt else right + ".\n\nQ: Why?\nA: "
            ),
            lambda: right + ". " + prose(rng, language, 3),
            lambda: right + "\n\n" + rng.choice(TEXTS["other"]["code"]),
            lambda: right + ", " + ", ".join(str(rng.randrange(90)) for _ in range(12)),
            lambda: right + " " + json.dumps({"answer": right.strip(), "score": rng.random()}),
            lambda: right + ".\n" + "_" * rng.randrange(8, 40) + "\n" + prose(rng, "en", 1),
        ]
    )
    return cut(rng, go_on(), question)


def body(rng: random.Random, kind: str, language: str) -> str:
    other = TEXTS["other"]
    choices: list[Callable[[], str]] = [
        lambda: prose(rng, language, 4),
        lambda: prose(rng, language, 3),
        lambda: rng.choice(other["poems"]),
        lambda: rng.choice(other["lists"]),
        lambda: rng.choice(other["tables"]),
        lambda: records(rng),
        lambda: prose(rng, "en", 1) + "\n\n" + rng.choice(other["lists"]) + "\n\n" + prose(rng, "en", 1),
        lambda: prose(rng, language, 1) + "\n" + rng.choice(other["code"]),
    ]
    if kind == "coder":
        choices += [lambda: rng.choice(other["code"]) + "\n\n" + rng.choice(other["code"])] * 6
    if kind == "looper":
        choices += [lambda: (rng.choice(TEXTS["sentences"]["en"]) + " ") * 5] * 4
    return rng.choice(choices)()


def prose(rng: random.Random, language: str, count: int) -> str:
    pool = TEXTS["sentences"][language]
    gap = "" if language in {"zh", "ja"} else " "
    return gap.join(rng.sample(pool, min(count, len(pool))))


def records(rng: random.Random) -> str:
    names = ["Ada", "Bo", "Cem", "Dina", "Eli"]
    rows = [{"id": i, "name": rng.choice(names), "ok": rng.random() < 0.5, "tags": []} for i in range(4)]
    return json.dumps(rows, indent=rng.choice([None, 2]))


def batched(rng: random.Random, first: Said) -> Said:
    """Return the same answer from another batch: it may part where two tokens were about equally likely."""
    if rng.random() < 0.7 or len(first.ids) < 6:
        return first
    at = rng.randrange(3, len(first.ids))
    ids = first.ids[:at] + [rng.randrange(5, 50000) for _ in first.ids[at:]]
    logprobs = list(first.logprobs)
    logprobs[at] = -0.72
    text = first.text[: at * 4] + " " + prose(rng, "en", 1)
    return replace(first, ids=ids, logprobs=logprobs, text=text)


def cut(rng: random.Random, text: str, question: Question) -> Said:
    """Return an answer that reached the number of tokens asked for, or ended before it."""
    text = text[: question.tokens * 5]
    finish = "length" if len(text) >= question.tokens * 3 else "stop"
    count = question.tokens if finish == "length" else max(1, len(text) // 4)
    return Said(text, finish, ids_for(rng, count), likely(rng, count))


def ended(rng: random.Random, text: str) -> Said:
    count = max(1, len(text) // 4)
    return Said(text, "stop", ids_for(rng, count), likely(rng, count))


def ids_for(rng: random.Random, count: int) -> list[int]:
    return [rng.randrange(5, 50000) for _ in range(count)]


def likely(rng: random.Random, count: int) -> list[float | None]:
    return [-rng.expovariate(1.4) for _ in range(count)]


# --- bad ----------------------------------------------------------------------------------------------------------


def bad(rng: random.Random, known: Book) -> tuple[str, Set]:
    """Return a pattern and a set in which it was planted."""
    name = rng.choice(list(PATTERNS))
    base = good(rng, known)
    base.language = rng.choice(LANGUAGES)
    PATTERNS[name](rng, base)
    return name, base


def scope(rng: random.Random, base: Set, *, roles: Sequence[str] = ()) -> list[int]:
    """Return which answers are broken: all, those of long prompts and load, or only the last of the load."""
    every = list(range(len(base.questions)))
    loaded = [i for i in every if base.questions[i].role in {"load", "long"}]
    if roles:
        return [i for i in every if base.questions[i].role in roles]
    return rng.choice([every, every, loaded, loaded[-max(2, len(loaded) // 3) :]])


def plant(rng: random.Random, base: Set, make: Callable[[Question], str], **changes: Any) -> None:
    for i in scope(rng, base):
        question = base.questions[i]
        text = make(question)
        count = question.tokens
        base.said[i] = Said(text, "length", ids_for(rng, count), likely(rng, count))
        base.said[i] = replace(base.said[i], **changes)


def nan(rng: random.Random, base: Set) -> None:
    base.with_numbers = True
    for i in scope(rng, base):
        where = rng.randrange(len(base.said[i].logprobs))
        base.said[i].logprobs[where:] = [rng.choice([float("nan"), float("-inf"), -3.4e38])] * (
            len(base.said[i].logprobs) - where
        )


def nulls(rng: random.Random, base: Set) -> None:
    base.with_numbers = True
    for i in scope(rng, base):
        base.said[i].text = "!" * base.questions[i].tokens
        base.said[i].logprobs = [None] * len(base.said[i].logprobs)


def one_token(rng: random.Random, base: Set) -> None:
    tokens = [
        "!",
        "+",
        "?",
        " the",
        "的",
        "の",
        "다",
        " и",
        " de",
        ")",
        "\u200b",
        "<pad>",
        " Sun",
        "<unk>",
        "\u0627",
        "क",
    ]
    token = rng.choice(tokens)
    plant(rng, base, lambda q: token * q.tokens)


def n_gram(rng: random.Random, base: Set) -> None:
    words = TEXTS["words"][base.language].split()
    gap = "" if base.language in {"zh", "ja"} else " "
    unit = gap + gap.join(rng.sample(words, rng.choice([2, 2, 3])))
    plant(rng, base, lambda q: (unit * q.tokens)[: q.tokens * 5])


def token_zero(rng: random.Random, base: Set) -> None:
    base.with_numbers = True
    plant(rng, base, lambda q: rng.choice(["!", ""]) * q.tokens)
    for said, question in zip(base.said, base.questions, strict=True):
        if not said.text or set(said.text) == {"!"}:
            said.ids = [0] * question.tokens


def empty(rng: random.Random, base: Set) -> None:
    plant(rng, base, lambda _: "")


def control(rng: random.Random, base: Set) -> None:
    marks = ["\x00", "\x02", "\x1b", "\x07", "\ue000", "\x98"]

    def make(_: Question) -> str:
        text = list(prose(rng, base.language, 2))
        for _ in range(rng.randrange(3, 9)):
            text.insert(rng.randrange(len(text)), rng.choice(marks))
        return "".join(text)

    plant(rng, base, make)


def broken_characters(rng: random.Random, base: Set) -> None:
    plant(rng, base, lambda q: "".join(rng.choice("\ufffd\ufffda 中x") for _ in range(q.tokens * 2)))


def script_salad(rng: random.Random, base: Set) -> None:
    pools = [TEXTS["words"][k].split() for k in rng.sample(["en", "ru", "zh", "ar", "hi", "ko", "ja"], 5)]
    gap = rng.choice(["", " "])
    plant(rng, base, lambda q: gap.join(rng.choice(rng.choice(pools)) for _ in range(q.tokens)))


def word_salad(rng: random.Random, base: Set) -> None:
    words = TEXTS["words"][base.language].split()
    gap = "" if base.language in {"zh", "ja"} else " "
    plant(rng, base, lambda q: gap.join(rng.choice(words) for _ in range(max(q.tokens, 30))))


def fragment_salad(rng: random.Random, base: Set) -> None:
    pieces = TEXTS["other"]["fragments"].split()
    marks = ["", "", " ", " ", " ", ")", "(", "_", ".", "\n", "::", "'"]
    plant(rng, base, lambda q: "".join(rng.choice(pieces) + rng.choice(marks) for _ in range(max(q.tokens, 40))))


def decay(rng: random.Random, base: Set) -> None:
    words = TEXTS["words"][base.language].split()
    mixed = TEXTS["words"]["zh"].split() + TEXTS["words"]["ru"].split() + TEXTS["words"]["hi"].split()
    tails: list[Callable[[int], str]] = [
        lambda n: rng.choice("!+?)") * (2 * n),
        lambda n: (" " + rng.choice(words)) * n,
        lambda n: " ".join(rng.choice([*mixed, *TEXTS["words"]["ar"].split()]) for _ in range(n)),
        lambda n: rng.choice([" the", "。。\uff01", "\n\n- -", " and and"]) * n,
    ]
    tail = rng.choice(tails)
    plant(rng, base, lambda q: answer_of(q) + ". " + prose(rng, base.language, 2) + " " + tail(max(q.tokens, 30)))


def disagree(rng: random.Random, base: Set) -> None:
    certain = rng.random() < 0.5
    base.with_numbers = base.with_numbers or certain
    for n, i in enumerate(scope(rng, base, roles=["equal"])):
        text = f" {prose(rng, LANGUAGES[(n * 3) % len(LANGUAGES)], 1)}"
        said = Said(text, "length", ids_for(rng, 24), [-0.01] * 24 if certain else likely(rng, 24))
        base.said[i] = said


def all_wrong(rng: random.Random, base: Set) -> None:
    for i, question in enumerate(base.questions):
        if question.role in {"plain", "chat", "equal"}:
            text = rng.choice(TEXTS["other"]["wrong"]) + " " + prose(rng, base.language, 1).replace("sieben", "")
            base.said[i] = Said(text, "stop", ids_for(rng, 24), likely(rng, 24))


def unlikely(rng: random.Random, base: Set) -> None:
    base.with_numbers = True
    word_salad(rng, base)
    for said in base.said:
        said.logprobs = [-rng.uniform(5, 12) for _ in said.logprobs]


def too_short(rng: random.Random, base: Set) -> None:
    for i in scope(rng, base):
        if base.questions[i].role != "long":
            base.said[i].finish, base.said[i].tokens = "length", rng.randrange(1, 20)


def server_error(rng: random.Random, base: Set) -> None:
    for i in scope(rng, base, roles=["load"]):
        base.said[i].status = rng.choice([500, 500, 502])


PATTERNS: dict[str, Callable[[random.Random, Set], None]] = {
    f.__name__: f
    for f in (
        nan, nulls, one_token, n_gram, token_zero, empty, control, broken_characters, script_salad, word_salad,
        fragment_salad, decay, disagree, all_wrong, unlikely, too_short, server_error,
    )
}  # fmt: skip


# --- measure ------------------------------------------------------------------------------------------------------


def answered(given: Set) -> list[Answered]:
    """Return the set as the HTTP answers relight would get."""
    return [wire(q, s, numbers=given.with_numbers) for q, s in zip(given.questions, given.said, strict=True)]


def wire(question: Question, said: Said, *, numbers: bool) -> Answered:
    if said.status != 200:
        return Answered(question, said.status, '{"error": {"message": "internal error"}}', seconds=1.0)
    count = said.tokens if said.tokens is not None else len(said.ids)
    if question.role == "chat":
        choice = {"message": {"content": said.text}, "finish_reason": said.finish}
        return Answered(question, 200, json.dumps({"choices": [choice], "usage": {"completion_tokens": count}}))
    meta: dict[str, Any] = {"finish_reason": {"type": said.finish}, "completion_tokens": count, "prompt_tokens": 9}
    if numbers:
        meta["output_token_logprobs"] = [[p, i, None] for p, i in zip(said.logprobs, said.ids, strict=False)]
    return Answered(question, 200, json.dumps({"text": said.text, "meta_info": meta}), seconds=1.0)


def measured(
    known: Book, goods: Iterable[list[Answered]], bads: Iterable[tuple[str, list[Answered]]]
) -> tuple[list[str], list[str]]:
    """Judge sound sets and named bad ones; return the false alarms and the missed sets, a line for each."""
    alarms, missed = [], []
    for n, answers in enumerate(goods):
        verdict = judge(answers, Health(), known)
        if verdict.outcome != "well":
            alarms.append(f"good {n}: {verdict.outcome} {verdict.notes[:3]} {verdict.evidence[:3]}")
    for n, (name, answers) in enumerate(bads):
        verdict = judge(answers, Health(), known)
        if verdict.outcome != "sick":
            missed.append(f"bad {n}: {name}: {verdict.outcome} {verdict.notes[:3]}")
    return alarms, missed


def told(measure: Callable[[int], tuple[list[str], list[str]]], goods: int, bads: int) -> None:
    """Print both rates for the seed on the command line, and the sets that were judged wrongly."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    alarms, missed = measure(seed)
    print(f"seed {seed}: false alarms {len(alarms)} of {goods} good sets ({len(alarms) / goods:.1%})")
    print(f"seed {seed}: caught {bads - len(missed)} of {bads} bad sets ({1 - len(missed) / bads:.1%})")
    print("missed by pattern:", dict(Counter(line.split(": ")[1] for line in missed)))
    print("\n".join([*alarms[:40], *missed[:12]]))


def measure(seed: int, *, goods: int = GOODS, bads: int = BADS) -> tuple[list[str], list[str]]:
    """Return the false alarms and the missed sets, a line for each."""
    rng, known = random.Random(seed), book()
    sound = (answered(good(rng, known)) for _ in range(goods))
    broken = (
        (f"{name} in {given.language}", answered(given)) for name, given in (bad(rng, known) for _ in range(bads))
    )
    return measured(known, sound, broken)


if __name__ == "__main__":
    told(measure, GOODS, BADS)
