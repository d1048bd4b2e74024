"""Measure the judge on texts written before it was tried on any: a good or bad server for each. Run: ... [SEED]

The frame of a set (questions, numbers, JSON) is that of judge.py. Every text stands for two servers: one that gives it
everywhere, one that answers short questions well.
"""

import random
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import judge as frame

from relight.attempts.judge.answers import Answered, Question

HERE = Path(__file__).parent
TEXTS: dict[str, Any] = tomllib.loads((HERE / "judge_fresh.toml").read_text())

# --- good ---------------------------------------------------------------------------------------------------------


def good(rng: random.Random, known: Any, make: Callable[[random.Random], str], *, always: bool) -> Any:
    """Return the answers of a sound model that says what `make` gives behind its answers, or one time in three."""
    asked = frame.questions(rng, known)
    said = [_sound(rng, q, make(rng) if always or rng.random() < 0.33 else frame.prose(rng, "en", 3)) for q in asked]
    equal = [i for i, q in enumerate(asked) if q.role == "equal"]
    for i in equal[1:]:
        said[i] = frame.batched(rng, said[equal[0]])
    return frame.Set(asked, said, rng.random() < 0.7, "en")


def _sound(rng: random.Random, question: Question, text: str) -> Any:
    right = " harbour" if question.role == "long" else frame.answer_of(question)
    if question.role == "chat":
        return frame.ended(rng, right.strip())
    return frame.cut(rng, f"{right}\n{text}" if right else text, question)


# --- bad ----------------------------------------------------------------------------------------------------------


def of_range(first: int, last: int, gap: str = "") -> Callable[[random.Random], str]:
    """Return a maker of random letters of one script, in words where `gap` parts them."""

    def make(rng: random.Random) -> str:
        words = ("".join(chr(rng.randrange(first, last)) for _ in range(rng.randrange(2, 8))) for _ in range(90))
        return gap.join(words)

    return make


def han_salad(rng: random.Random) -> str:
    return "".join(chr(rng.randrange(0x4E00, 0x9F00)) for _ in range(300))


def digit_soup(rng: random.Random) -> str:
    return "".join(rng.choice("0123456789") for _ in range(300))


def number_soup(rng: random.Random) -> str:
    return " ".join(str(rng.randrange(10 ** rng.randrange(1, 9))) for _ in range(120))


def two_languages(rng: random.Random) -> str:
    """Two languages, word by word."""
    left, right = frame.prose(rng, "en", 6).split(), frame.prose(rng, rng.choice(["de", "es", "ru", "fr"]), 6).split()
    return " ".join(word for pair in zip(left, right, strict=False) for word in pair)


def shuffled_words(rng: random.Random) -> str:
    words = frame.prose(rng, "en", 6).replace(".", "").replace(",", "").lower().split()
    return " ".join(rng.sample(words, len(words)))


def shuffled_german(rng: random.Random) -> str:
    words = frame.prose(rng, "de", 6).replace(".", "").replace(",", "").lower().split()
    return " ".join(rng.sample(words, len(words)))


def letter_noise(rng: random.Random) -> str:
    """Language in which every third letter is another one."""
    text = frame.prose(rng, "en", 6)
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") if c.isalpha() and rng.random() < 0.33 else c for c in text)


def decay_digits(rng: random.Random) -> str:
    return frame.prose(rng, "en", 1) + " " + " ".join(str(rng.randrange(9999)) for _ in range(120))


def decay_letters(rng: random.Random) -> str:
    words = ("".join(rng.choice("bcdfghjklmnpqrstvwxz") for _ in range(rng.randrange(2, 9))) for _ in range(90))
    return frame.prose(rng, "en", 1) + " " + " ".join(words)


def decay_lines(rng: random.Random) -> str:
    return frame.prose(rng, "en", 1) + "\n" * 200


def decay_han(rng: random.Random) -> str:
    return frame.prose(rng, "en", 1) + " " + han_salad(rng)


def decay_punctuation(rng: random.Random) -> str:
    return frame.prose(rng, "en", 1) + "".join(rng.choice(".,;:!?-") for _ in range(300))


def camel_soup(rng: random.Random) -> str:
    parts = (
        "get",
        "Set",
        "Url",
        "Byte",
        "Node",
        "Stream",
        "Null",
        "Array",
        "Index",
        "Hash",
        "Lock",
        "Event",
        "Query",
        "Table",
        "Frame",
        "Token",
        "Scope",
        "Cache",
    )
    return " ".join("".join(rng.choice(parts) for _ in range(rng.randrange(2, 5))) for _ in range(60))


MADE: dict[str, Callable[[random.Random], str]] = {
    f.__name__: f
    for f in (
        han_salad, digit_soup, number_soup, two_languages, shuffled_words, shuffled_german, letter_noise, decay_digits,
        decay_letters, decay_lines, decay_han, decay_punctuation, camel_soup,
    )
} | {
    "kana_salad": of_range(0x3042, 0x3093),
    "hangul_salad": of_range(0xAC00, 0xD7A0, " "),
    "arabic_salad": of_range(0x0627, 0x064A, " "),
    "devanagari_salad": of_range(0x0915, 0x0939, " "),
    "cyrillic_salad": of_range(0x0430, 0x0450, " "),
    "latin_salad": of_range(0x61, 0x7B, " "),
    "thai_salad": of_range(0x0E01, 0x0E2F),
}  # fmt: skip


def bad(rng: random.Random, known: Any, make: Callable[[random.Random], str], *, always: bool) -> Any:
    """Return the answers of a server that says what `make` gives, everywhere or where more is asked of it."""
    base = frame.good(rng, known)
    for i, question in enumerate(base.questions):
        if always or question.role in {"load", "long", "sampled"}:
            text = make(rng)
            text = (text * (1 + question.tokens * 5 // max(1, len(text))))[: question.tokens * 4]
            numbers = frame.ids_for(rng, question.tokens), frame.likely(rng, question.tokens)
            base.said[i] = frame.Said(text, "length", *numbers)
    return base


def makers(kind: str) -> dict[str, Callable[[random.Random], str]]:
    """Return what makes each text, by name."""
    fixed: dict[str, Callable[[random.Random], str]] = {n: (lambda _, t=t: t) for n, t in TEXTS[kind].items()}
    return fixed | (MADE if kind == "bad" else {})


def sets(kind: str, rng: random.Random, make_set: Callable[..., Any], every: int) -> list[tuple[str, list[Answered]]]:
    """Return two sets for each text, named: one that gives it everywhere and one that does not."""
    known = frame.book()
    chosen = list(makers(kind).items())[::every]
    return [
        (f"{name} {'everywhere' if always else 'in part'}", frame.answered(make_set(rng, known, make, always=always)))
        for name, make in chosen
        for always in (True, False)
    ]


def measure(seed: int, *, every: int = 1) -> tuple[list[str], list[str]]:
    """Return the false alarms and the missed sets, a line for each; of the texts only `every` n-th is used."""
    rng = random.Random(seed)
    goods, bads = sets("good", rng, good, every), sets("bad", rng, bad, every)
    alarms, missed = frame.measured(frame.book(), [answers for _, answers in goods], bads)
    return [f"{goods[int(line.split()[1][:-1])][0]}: {line}" for line in alarms], missed


if __name__ == "__main__":
    frame.told(measure, 2 * len(makers("good")), 2 * len(makers("bad")))
