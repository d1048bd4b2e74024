"""Letters by script, and the runs of one script that a text is made of."""

import itertools
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

# Scripts that sound text writes without anything between them, by the word Unicode names their letters with.
FAMILIES = {
    "LATIN": "latin",
    "CYRILLIC": "cyrillic",
    "GREEK": "greek",
    "ARABIC": "arabic",
    "HEBREW": "hebrew",
    "DEVANAGARI": "devanagari",
    "CJK": "han",
    "HIRAGANA": "kana",
    "KATAKANA": "kana",
    "KATAKANA-HIRAGANA": "kana",
    "HANGUL": "hangul",
    "THAI": "thai",
}
EAST_ASIAN = frozenset({"han", "kana", "hangul"})


@dataclass(frozen=True)
class Run:
    """Letters of one script in a row; `before` is what stands between them and the run before."""

    script: str
    text: str
    before: str


@cache
def script_of(char: str) -> str:
    """Return the script of a letter (the first word of its Unicode name where it is none of the usual), else ""."""
    if unicodedata.category(char)[0] not in "LM":
        return ""
    first = unicodedata.name(char, "").partition(" ")[0]
    if first in {"FULLWIDTH", "MODIFIER", "COMBINING", "FEMININE", "MASCULINE", "MICRO"}:
        return "latin"
    return FAMILIES.get(first, first.lower())


def runs(text: str) -> tuple[Run, ...]:
    """Return the runs of letters of one script in `text`."""
    found: list[Run] = []
    before = ""
    for script, chars in itertools.groupby(text, script_of):
        piece = "".join(chars)
        if script:
            found.append(Run(script, piece, before))
            before = ""
        else:
            before = piece
    return tuple(found)


def family(script: str) -> str:
    """Return the script, with the scripts of East Asia, which are mixed in sound text, as one."""
    return "east asian" if script in EAST_ASIAN else script


def switches(found: tuple[Run, ...]) -> Iterator[tuple[Run, Run]]:
    """Yield neighbours of different families with nothing or only blanks between them."""
    for left, right in itertools.pairwise(found):
        if family(left.script) != family(right.script) and not right.before.strip():
            yield left, right
