"""How a text is woven, whatever its language: the same few words, letters that no mouth speaks, rows of numbers."""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from relight.attempts.judge.form import Sign

WORD = re.compile(r"[^\W\d_]+", re.UNICODE)
MARK = re.compile(r"[,;:.!?\u060c\u061b\u061f\u06d4\u0964\u3001\u3002\uff0c\uff01\uff1f]")
# A mark as people write it: behind a word, before a blank, the end or what closes a quotation; East Asia has no blank.
SET_MARK = re.compile(
    r"[^\s,;:][,;:.!?\u060c\u061b\u061f\u06d4\u0964](?=[\s\"'\u2019\u201d\u00bb)]|$)|[\u3001\u3002\uff0c\uff01\uff1f\uff1b]"
)
NEW_SENTENCE = re.compile(r"[.!?\u06d4\u0964]\s+[\"'\u201c\u00ab]?(\w)")
# W is a vowel in Welsh; the others are letters that do not come apart into one and an accent.
VOWELS = frozenset("aeiouyw\u00e6\u0153\u00f8\u0131")
MUTE = re.compile(r"[bcdfghjklmnpqrstvxz]{6,}")
SOUP = re.compile(r"[.,;:!?-]{40,}")
# A long number is a fraction or the result of a sum where it is sound.
DIGITS = re.compile(r"(?<![\d.,=])(?<!= )\d{100,}")
BRACKETS = re.compile(r"[()\[\]{}]{40,}")
MIXED = re.compile(r"[a-z][A-Z][a-z]|[A-Z][a-z][A-Z]|^[a-z][A-Z]")
NUMBERS = re.compile(r"\d+(?: \d+){24,}")
ENOUGH = 20
NOTES = 7
FEW = 0.15
SPARSE = 0.05
"""Marks per word below which a text has none to speak of."""
BREATH = 22
"""Words that running text has between two marks at most."""
SAME = 0.97
"""Share of words that come again after a fixed number of words, from which on a text is a loop and nothing else."""


def texture(text: str, common: Collection[str]) -> tuple[Sign, ...]:
    """Return the signs that words, letters or numbers are strung together as no writer does.

    `common` are the small words that running text cannot do without.
    """
    words = [word.lower() for word in WORD.findall(text)]
    return (*_words(words, text, common), *_letters(words, text), *_cases(text), *_numbers(text), *_marks(text))


def written(text: str) -> bool:
    """Say whether marks and capitals stand as in running text: a salad has none, or has them anywhere."""
    marks, well_set = len(MARK.findall(text)), len(SET_MARK.findall(text))
    begun = [first for first in NEW_SENTENCE.findall(text) if first.isalpha()]
    capital = sum(not first.islower() for first in begun)
    pieces = [_breath(piece) for piece in SET_MARK.split(text)]
    steady = len(pieces) > 1 and max(pieces) <= BREATH and sum(pieces) >= 2 * len(pieces)
    return steady and well_set >= 0.85 * marks and capital >= 0.8 * len(begun)


def _breath(piece: str) -> float:
    # East Asia writes about two characters where others write a word.
    return len(piece.split()) + sum(char >= "\u2e80" for char in piece) / 2


def _words(words: Sequence[str], text: str, common: Collection[str]) -> Iterator[Sign]:
    count, kinds = len(words), len(set(words))
    bare = len(MARK.findall(text)) + text.count("\n") <= SPARSE * count
    twice = sum(a == b for a, b in pairwise(words))
    # Labels, notes and steps are few words, too; only language has the small ones among them.
    small = sum(word in common for word in words) >= 0.25 * count
    if count >= ENOUGH and kinds <= FEW * count and small and not _loops(words):
        yield Sign("numerics.garbage", 0.6, f"{count} words are {kinds} different ones")
    elif count >= ENOUGH and bare and 0.35 * count <= twice < 0.8 * count:
        yield Sign("numerics.garbage", 0.6, f"{twice} of {count} words are the word before again")


def _loops(words: Sequence[str]) -> bool:
    """Say whether the words only go round: small models do, and what they repeat is looked at elsewhere."""
    for period in range(1, len(words) // 2 + 1):
        again = sum(a == b for a, b in zip(words, words[period:], strict=False))
        if again >= SAME * (len(words) - period):
            return True
    return False


def _letters(words: Sequence[str], text: str) -> Iterator[Sign]:
    tokens = text.split()
    single = [token for token in tokens if len(token) == 1 and token.isalpha() and token.isascii()]
    # Notes are letters set apart, of which there are seven.
    if len(tokens) >= 1.5 * ENOUGH and len(single) >= 0.8 * len(tokens) and len(set(single)) > NOTES:
        yield Sign("numerics.garbage", 0.6, f"{len(single)} of {len(tokens)} words are single letters")
    latin = [word for word in words if len(word) >= 3 and "a" <= word[0] <= "z"]
    mute = sum(VOWELS.isdisjoint(unicodedata.normalize("NFD", word)) or bool(MUTE.search(word)) for word in latin)
    if len(latin) >= ENOUGH and mute >= 0.6 * len(latin) and not written(text):
        yield Sign("numerics.garbage", 0.6, f"{mute} of {len(latin)} words cannot be spoken")


def _cases(text: str) -> Iterator[Sign]:
    words = [token for token in text.split() if token.isalpha()]
    mixed = sum(bool(MIXED.search(word)) for word in words)
    if len(words) >= 0.75 * ENOUGH and mixed >= 0.5 * len(words):
        yield Sign("numerics.garbage", 0.6, f"{mixed} of {len(words)} words mix small letters and capitals")


def _numbers(text: str) -> Iterator[Sign]:
    if DIGITS.search(text):
        yield Sign("numerics.garbage", 0.5, "a row of a hundred digits")
    for row in NUMBERS.findall(text):
        numbers = [int(n) for n in row.split()[:60]]
        steps = [b - a for a, b in pairwise(numbers)]
        counted = all(s >= 0 for s in steps) or all(s <= 0 for s in steps)
        # Who counts goes by steps, or one way only; bits are written in rows, too.
        if not counted and max(steps.count(s) for s in steps) < 0.5 * len(steps) and set(row) - set("01 "):
            yield Sign("numerics.garbage", 0.6, f"a row of {len(numbers)} numbers")
            return


def _marks(text: str) -> Iterator[Sign]:
    found = SOUP.search(text)
    if found and len(set(found.group())) >= 3:
        yield Sign("numerics.garbage", 0.6, f"{len(found.group())} marks in a row")
    elif found := BRACKETS.search(text):
        yield Sign("numerics.garbage", 0.6, f"{len(found.group())} brackets in a row")
