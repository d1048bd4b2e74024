"""Measure the judge on texts it was not made with: strange but sound styles, and other ways to be broken.

Run: python benchmarks/judge_styles.py [SEED]. The frame of a set (questions, numbers, JSON) is that of judge.py.
"""

import json
import random
import tomllib
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import judge as frame

from relight.attempts.judge.answers import Answered, Question

HERE = Path(__file__).parent
TEXTS: dict[str, Any] = tomllib.loads((HERE / "judge_styles.toml").read_text())
GOODS, BADS = 200, 60

# --- good ---------------------------------------------------------------------------------------------------------


def random_bytes(rng: random.Random) -> str:
    return "data:image/png;base64," + b64encode(rng.randbytes(300)).decode()


def hexadecimal(rng: random.Random) -> str:
    rows = (" ".join(f"{b:02x}" for b in rng.randbytes(16)) for _ in range(12))
    return "\n".join(f"{i * 16:08x}  {row}" for i, row in enumerate(rows))


def identifiers(rng: random.Random) -> str:
    return "\n".join(
        f"{rng.getrandbits(32):08x}-{rng.getrandbits(16):04x}-4{rng.getrandbits(12):03x}" for _ in range(9)
    )


def numbered(rng: random.Random) -> str:
    things = TEXTS["bad"]["drift"].split()
    return "\n".join(f"{i}. {rng.choice(things)}" for i in range(1, 40))


def matrix(rng: random.Random) -> str:
    return "\n".join(" ".join(str(rng.choice([0, 0, 0, 1])) for _ in range(12)) for _ in range(10))


MADE: tuple[Callable[[random.Random], str], ...] = (random_bytes, hexadecimal, identifiers, numbered, matrix)


def style(rng: random.Random) -> str:
    """Return a text of one style."""
    if rng.random() < 0.12:
        return rng.choice(MADE)(rng)
    return str(rng.choice(list(TEXTS["good"].values())))


def good(rng: random.Random, known: Any) -> Any:
    """Return the answers of a sound model that writes in odd styles: base, chat or thinking aloud."""
    kind = rng.choice(["base", "base", "chat", "thinker", "one style"])
    asked = frame.questions(rng, known)
    same = style(rng)
    weak = 0.0 if kind == "one style" else rng.choice([0.0, 0.1, 0.3])
    said = [speak(rng, q, kind, same, weak) for q in asked]
    equal = [i for i, q in enumerate(asked) if q.role == "equal"]
    for i in equal[1:]:
        said[i] = frame.batched(rng, said[equal[0]])
    return frame.Set(asked, said, rng.random() < 0.7, "en")


def speak(rng: random.Random, question: Question, kind: str, same: str, weak: float) -> Any:
    right = " harbour" if question.role == "long" else frame.answer_of(question)
    if rng.random() < weak and question.role in {"plain", "load"}:
        right = rng.choice([" one of", " the", " __", "…"])
    if kind == "thinker" and question.role != "long":
        thought = rng.choice(list(TEXTS["thinking"].values()))
        return frame.cut(rng, f"{thought} {style(rng)}", question)
    if not right:
        return frame.cut(rng, same if kind == "one style" else style(rng), question)
    if kind == "chat":
        return frame.ended(rng, right.strip())
    return frame.cut(rng, f"{right}\n{same if kind == 'one style' else style(rng)}", question)


# --- bad ----------------------------------------------------------------------------------------------------------


def sound_text(rng: random.Random) -> str:
    return str(frame.prose(rng, rng.choice(frame.LANGUAGES), 6))


def broken(rng: random.Random, base: Any, make: Callable[[Question], str], roles: Sequence[str] = ()) -> None:
    """Let every answer of these roles (all where none is named) be what `make` says, to the length asked for."""
    for i, question in enumerate(base.questions):
        if not roles or question.role in roles:
            text = make(question)[: question.tokens * 5]
            base.said[i] = frame.Said(
                text, "length", frame.ids_for(rng, question.tokens), frame.likely(rng, question.tokens), question.tokens
            )


def late_loop(rng: random.Random, base: Any) -> None:
    """Good for half of its tokens, then one token for ever."""
    token = rng.choice(["!", " the", "的", ".", "0", " a", "</s>", "\n\n#", " and then"])
    broken(rng, base, lambda q: frame.answer_of(q) + sound_text(rng)[: q.tokens * 2] + token * (3 * q.tokens))


def zero_tail(rng: random.Random, base: Any) -> None:
    base.with_numbers = True
    broken(rng, base, lambda q: sound_text(rng)[: q.tokens * 2] + "!" * (q.tokens // 2))
    for said in base.said:
        half = len(said.ids) // 2
        said.ids = said.ids[:half] + [0] * (len(said.ids) - half)


def slow_drift(rng: random.Random, base: Any) -> None:
    words = TEXTS["bad"]["drift"].split()

    def make(question: Question) -> str:
        first = (frame.prose(rng, "en", 4)).split()
        mixed = [w if rng.random() > 2.2 * i / len(first) else rng.choice(words) for i, w in enumerate(first)]
        return " ".join([*mixed, *(rng.choice(words) for _ in range(question.tokens))])

    broken(rng, base, make)


def other_language_salad(rng: random.Random, base: Any) -> None:
    words = TEXTS["bad"]["latin_salad"].split()
    broken(rng, base, lambda q: " ".join(rng.choice(words) for _ in range(q.tokens)))


def changed_paragraph(rng: random.Random, base: Any) -> None:
    """Whatever is asked, the same paragraph with other numbers."""

    def make(question: Question) -> str:
        filled = (TEXTS["bad"]["paragraph"].format(n=rng.randrange(24), m=rng.randrange(90)) for _ in range(12))
        return "".join(filled)[: question.tokens * 5]

    broken(rng, base, make)


def nan_on_long(_: random.Random, base: Any) -> None:
    base.with_numbers = True
    for said, question in zip(base.said, base.questions, strict=True):
        if question.role == "long":
            said.logprobs = [float("nan")] * len(said.logprobs)


def half_of_concurrent(rng: random.Random, base: Any) -> None:
    """Every second of the requests that were sent at once is garbage."""
    garbage = rng.choice([
        lambda q: "!" * q.tokens,
        lambda q: " ".join(rng.choice(TEXTS["bad"]["latin_salad"].split()) for _ in range(q.tokens)),
        lambda q: "".join(chr(rng.randrange(0x3041, 0x9FA0)) for _ in range(q.tokens)),
    ])  # fmt: skip
    spoilt = [i for i, q in enumerate(base.questions) if q.role == "load"][::2]
    for i in spoilt:
        question = base.questions[i]
        base.said[i] = frame.Said(
            garbage(question), "length", frame.ids_for(rng, question.tokens), frame.likely(rng, question.tokens)
        )


def of_text(name: str) -> Callable[[random.Random, Any], None]:
    def spoil(rng: random.Random, base: Any) -> None:
        text = TEXTS["bad"][name]
        broken(rng, base, lambda _: text * 4, rng.choice([(), ("load", "sampled", "long"), ("load",)]))

    spoil.__name__ = name
    return spoil


def backwards(rng: random.Random, base: Any) -> None:
    broken(rng, base, lambda q: sound_text(rng)[::-1][: q.tokens * 5])


def shuffled_letters(rng: random.Random, base: Any) -> None:
    def make(_: Question) -> str:
        return " ".join("".join(rng.sample(w, len(w))) for w in frame.prose(rng, "en", 6).split())

    broken(rng, base, make)


def only_digits(rng: random.Random, base: Any) -> None:
    broken(rng, base, lambda q: " ".join(str(rng.choice([1, 3, 8, 9, 33, 811, 90])) for _ in range(q.tokens)))


def thought_loop(rng: random.Random, base: Any) -> None:
    """A model that thinks aloud and only ever says the same few words."""
    words = rng.choice([" Wait, wait,", " Hmm. Hmm.", "嗯嗯嗯", " okay okay"])
    broken(rng, base, lambda q: "<think>\n" + words * q.tokens)


def endless_brackets(rng: random.Random, base: Any) -> None:
    pair = rng.choice(["(((", "}}}", '","', "[[", "\\\\"])
    broken(rng, base, lambda q: frame.answer_of(q) + pair * q.tokens)


def empty_under_load(rng: random.Random, base: Any) -> None:
    broken(rng, base, lambda _: "", ("load",))


BROKEN: dict[str, Callable[[random.Random, Any], None]] = {
    f.__name__: f
    for f in (
        late_loop, zero_tail, slow_drift, other_language_salad, changed_paragraph, nan_on_long, half_of_concurrent,
        of_text("mojibake"), of_text("markers"), of_text("pieces"), of_text("glued"), backwards,
        shuffled_letters, only_digits, thought_loop, endless_brackets, empty_under_load,
    )
}  # fmt: skip


# --- measure ------------------------------------------------------------------------------------------------------


def wired(given: Any) -> list[Answered]:
    """Return the answers as HTTP; thinking models split their thoughts off in the chat."""
    answers = []
    for answer in frame.answered(given):
        data = json.loads(answer.body) if answer.question.role == "chat" else {}
        text = (data.get("choices") or [{"message": {}}])[0]["message"].get("content") or ""
        if text.startswith("<think>"):
            data["choices"][0]["message"] = {"content": None, "reasoning_content": text.removeprefix("<think>")}
            answer = replace(answer, body=json.dumps(data))  # noqa: PLW2901  the same answer, written differently
        answers.append(answer)
    return answers


def measure(seed: int, *, goods: int = GOODS, bads: int = BADS) -> tuple[list[str], list[str]]:
    """Return the false alarms and the missed sets, a line for each."""
    rng, known = random.Random(seed), frame.book()
    sound = (wired(good(rng, known)) for _ in range(goods))
    names: tuple[str, ...] = tuple(list(BROKEN)[n % len(BROKEN)] for n in range(bads))
    return frame.measured(known, sound, ((name, wired(spoiled(name, rng, known))) for name in names))  # type: ignore[no-any-return]


def spoiled(name: str, rng: random.Random, known: Any) -> Any:
    """Return a sound set that was broken in one way."""
    given = good(rng, known)
    BROKEN[name](rng, given)
    return given


if __name__ == "__main__":
    frame.told(measure, GOODS, BADS)
