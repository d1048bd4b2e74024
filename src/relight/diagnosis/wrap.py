"""Put lines together again that were cut: at the width of a terminal, by a chat, by what collected the log.

A traceback has lines whose shape is known, so one that is cut shows it: `File "x.py", line 12,` lacks its function.
Such lines prove that a log was cut and tell at which width; what else is as wide is joined for their sake only.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from relight.diagnosis.traceback import names_exception
from relight.logs.lines import Line
from relight.logs.records import Record, record

_HEADER = "Traceback (most recent call last):"
_FRAME = re.compile(r'^[\s|]*File "[^"]+", line \d+, in \S')
_FRAME_BEGUN = re.compile(r'^[\s|]*File(?:$| "[^"]*(?:$|",?(?:$| (?:l|li|lin|line|line \d+,?|line \d+, in?)?$)))')
_STRUCTURE = re.compile(
    r'^[\s|]*(?:File "|Traceback \(most|\[\d{4}-|During handling of|The above exception|[\^~]+\s*$|\[Previous line)'
    r"|^(?:[a-z_]\w*\.)+[A-Z]\w*(?::|$)"
)
"""What begins a line of its own, whatever stands above it."""
_REST_OF_NAME = re.compile(r"\w+>?$")
_DIGITS = re.compile(r"\d+")
_PADDING = " |\u2502\u2503"
"""What fills a line up to the width of a terminal: a line that ends so was not cut there."""
NARROWEST = 60
"""The least width at which a log without a traceback is taken for cut."""
MOST_PARTS = 6
"""Rows that one frame takes at most: a long path in a narrow window."""
NEAR = 40
"""Rows around a frame that was cut whose width counts."""


@dataclass(frozen=True)
class Width:
    """How a log was cut: at a fixed column, or (`words`) at the last blank before it."""

    at: int
    words: bool = False

    def cuts(self, row: str, after: str) -> str | None:
        """Return what stood between a row and the next where the row was cut after it, None where it was not."""
        if not self.words:
            return {self.at: "", self.at - 1: " "}.get(len(row))
        first = after.split(None, 1)[0]
        return " " if len(row) <= self.at < len(row) + 1 + len(first) else None


def unwrapped(records: Sequence[Record]) -> list[Record]:
    """Return records without the cuts; what is joined has the number of its first row."""
    framed, cut = _frames(records)
    cut += _broken(records)
    width = _width(records, cut) if cut else _common_width(records)
    return _filled(framed, width) if width else [rec for rec, _ in framed]


def _frames(records: Sequence[Record]) -> tuple[list[tuple[Record, str]], list[int]]:
    """Return the records, frames and headers made whole, each with its last row, and the positions of cut rows."""
    found: list[tuple[Record, str]] = []
    cut: list[int] = []
    index = 0
    while index < len(records):
        made = _whole_frame(records, index) or _whole_header(records, index)
        text, parts = made or ("", 1)
        last = records[index + parts - 1].line.text
        found.append((_joined(records[index], text) if made else records[index], last))
        cut += range(index, index + parts - 1)
        index += parts
    return found, cut


def _whole_frame(records: Sequence[Record], index: int) -> tuple[str, int] | None:
    """Return a frame that begins at an index and goes on below, and how many rows it takes."""
    if "File" not in records[index].line.text or not _FRAME_BEGUN.match(records[index].body):
        return None
    text = records[index].body
    for parts, rec in enumerate(records[index + 1 : index + MOST_PARTS], start=2):
        if not _continues(rec):
            return None
        rest = rec.body.lstrip()
        ways = (text + rest,) if text.count('"') == 1 else (text + rec.body, f"{text} {rest}", text + rest)
        whole = next((way for way in ways if _FRAME.match(way)), None)
        if whole:
            return records[index].line.text.removesuffix(records[index].body) + whole, parts
        begun = next((way for way in ways if _FRAME_BEGUN.match(way)), None)
        if begun is None:
            return None
        text = begun
    return None


def _whole_header(records: Sequence[Record], index: int) -> tuple[str, int] | None:
    """Return a line that ends in the first line of a traceback, the rest of which stands below."""
    rest = records[index + 1].body.strip() if index + 1 < len(records) else ""
    begun = _HEADER.removesuffix(rest)
    text = records[index].line.text
    if not rest or not 0 < len(begun) < len(_HEADER) or not text.endswith(begun.rstrip()) or len(text) < len(rest):
        return None
    return text.removesuffix(begun.rstrip()) + _HEADER, 2


def _broken(records: Sequence[Record]) -> list[int]:
    """Return the rows of tracebacks after which stands, without indentation, what can only be the rest of them."""
    found = []
    for index, (row, rest, after) in enumerate(zip(records, records[1:], records[2:], strict=False)):
        if rest.body[:1].isspace() or not _continues(rest) or len(row.line.text) < NARROWEST:
            continue
        if _FRAME.match(row.body):
            named = _REST_OF_NAME.match(rest.body) and (_indent(after.body) > _indent(row.body) or _begins(after))
            found += [index] if named else []
        elif index and _FRAME.match(records[index - 1].body) and _indent(row.body) and _STRUCTURE.match(after.body):
            found.append(index)
    return found


def _continues(rec: Record) -> bool:
    return not rec.fresh and bool(rec.body.strip()) and not _begins(rec)


def _begins(rec: Record) -> bool:
    return bool(_STRUCTURE.match(rec.body)) or names_exception(rec.body)


def _joined(first: Record, text: str) -> Record:
    return record(Line(first.line.number, first.line.offset, text))


def _width(records: Sequence[Record], cut: Sequence[int]) -> Width:
    """Return the width that cut rows show: one column where all are as long as that, else the longest row near them."""
    lengths = [len(records[i].line.text) for i in cut]
    near = {i for at in cut for i in range(max(0, at - NEAR), min(len(records), at + NEAR))}
    longest = max(len(records[i].line.text) for i in near)
    return Width(longest, words=not (min(lengths) >= longest - 1))


def _common_width(records: Sequence[Record]) -> Width | None:
    """Return the column at which lines of a log without a cut traceback end conspicuously often."""
    lengths = [len(rec.line.text) for rec in records]
    width = max(lengths, default=0)
    full = {_DIGITS.sub("", rec.line.text) for rec in records if len(rec.line.text) == width}
    cut = [text for text in full if not _FRAME.match(text)]
    padded = sum(text[-1:] in _PADDING for text in cut) * 2 > len(cut)
    often = sum(length == width for length in lengths) * 20 >= len(lengths)
    return Width(width) if width >= NARROWEST and len(cut) >= 3 and often and not padded else None


def _filled(rows: Sequence[tuple[Record, str]], width: Width) -> list[Record]:
    """Return records in which every row that was cut is joined with the next."""
    joined: list[Record] = []
    last = ""
    for rec, end in rows:
        glue = width.cuts(last, rec.body) if joined and last and _continues(rec) else None
        if glue is None or not _goes_on(joined[-1], rec, width):
            joined.append(rec)
        else:
            joined[-1] = _joined(joined[-1], joined[-1].line.text + glue + _rest(rec, glue))
        last = end
    return joined


def _goes_on(before: Record, rec: Record, width: Width) -> bool:
    """Say whether a row's indentation lets it go on with the line above: none, or that of the line itself."""
    indent = _indent(rec.body)
    return indent <= 1 or (width.words and indent == _indent(before.body))


def _rest(rec: Record, glue: str) -> str:
    return rec.body.lstrip() if glue else rec.body


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
