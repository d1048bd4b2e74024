"""What a broken decoder leaves in a text: bytes read in the wrong encoding, marks of the tokenizer, lost blanks."""

import re
from collections.abc import Iterator

from relight.attempts.judge.form import Sign

# Two or more characters that one-byte encodings have beyond ASCII: where they are UTF-8 bytes, they were misread.
BEYOND_ASCII = re.compile(
    "[\u0080-\u00ff\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]{2,}"
)
# How tokenizers write a blank, a line end or a byte inside a token.
MARK = re.compile("\u0120[A-Za-z]|[a-z]\u010a|\u2581[A-Za-z]|<0x[0-9A-F]{2}>")
UNBROKEN = re.compile(r"[a-z]{50,}")
# Tokens that are no text: ends, fillers, places held free in the vocabulary.
SPECIAL = re.compile(
    r"<\|[a-z_0-9]{2,40}\|>|<(?:unused|extra_id_|reserved_?|mask_?|pad|unk|s|/s)\d*>|\[(?:PAD|UNK|MASK|CLS|SEP|unused\d+)\]"
)
# Bytes written out one by one, as programs and addresses do.
ESCAPED = re.compile(r"(?:\\x[0-9a-fA-F]{2}|%[0-9A-F]{2}){12,}")
UNPARTED = re.compile(r"\S{80,}")
SORTS = re.compile(r"[a-z]+|[A-Z]+|\d+|[^\w\s]+")
SORT = 1.3
"""Characters of one sort that stand together in a soup; code, keys and patterns have more."""
ENOUGH = 4
LETTERS = 11
"""Different letters that a row of words without blanks has at least; a sequence of a few letters is something else."""


def decoding(text: str) -> tuple[Sign, ...]:
    """Return the signs that the text was put together wrongly, whatever the model said."""
    return (*_misread(text), *_marks(text), *_unbroken(text), *_special(text), *_escaped(text), *_soup(text))


def _misread(text: str) -> Iterator[Sign]:
    count = sum(_is_utf8(found) for found in BEYOND_ASCII.findall(text))
    if count >= ENOUGH:
        yield Sign("numerics.garbage", 0.6, f"{count} characters are bytes read in the wrong encoding")


def _is_utf8(text: str) -> bool:
    for encoding in ("cp1252", "latin-1"):
        try:
            text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        return True
    return False


def _marks(text: str) -> Iterator[Sign]:
    count = len(MARK.findall(text))
    if count >= ENOUGH:
        yield Sign("numerics.garbage", 1, f"{count} marks of the tokenizer are left in the text")


def _unbroken(text: str) -> Iterator[Sign]:
    found = UNBROKEN.search(text)
    if found and len(set(found.group())) >= LETTERS:
        yield Sign("numerics.garbage", 0.6, f"{len(found.group())} letters without a blank")


def _special(text: str) -> Iterator[Sign]:
    found = SPECIAL.findall(text)
    # Turns of a chat that goes on by itself have words between them.
    if len(found) > ENOUGH and sum(map(len, found)) > 0.75 * len(text):
        yield Sign("numerics.garbage", 0.6, f"{len(found)} special tokens are most of the text")


def _escaped(text: str) -> Iterator[Sign]:
    size = sum(len(found) for found in ESCAPED.findall(text))
    if size > 0.6 * len(text):
        yield Sign("numerics.garbage", 0.6, "most of the text are escaped bytes")


def _soup(text: str) -> Iterator[Sign]:
    for found in UNPARTED.findall(text):
        rows, signs = SORTS.findall(found), {char for char in found if not char.isalnum()}
        if len(signs) >= LETTERS and found.isascii() and len(found) <= SORT * len(rows) and _even(found):
            yield Sign("numerics.garbage", 0.6, f"{len(found)} letters, digits and signs in no order")
            return


def _even(text: str) -> bool:
    """Say whether no sort of character is rare in it: programs have few capitals and digits."""
    least = 0.1 * len(text)
    return all(sum(map(sort, text)) >= least for sort in (str.islower, str.isupper, str.isdigit))
