"""Put the records of a log in the order things happened, and keep the last attempt."""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from relight.diagnosis.wrap import unwrapped
from relight.logs.lines import Line
from relight.logs.records import Record

_TRACEBACK = re.compile(r"Traceback \(most recent call last\)")
_FRAME = re.compile(r'^\s*File "[^"]+", line \d*')


def outdented(lines: Iterable[Line]) -> list[Line]:
    """Return lines without the indentation that all of them have: a log pasted into a list or a comment."""
    found = list(lines)
    said = [line.text for line in found if line.text.strip()]
    width = min((len(text) - len(text.lstrip(" \t")) for text in said), default=0)
    return [replace(line, text=line.text[width:]) for line in found] if width else found


def put_in_order(found: Sequence[Record]) -> list[Record]:
    """Return the records oldest first, lines that a terminal cut put together again."""
    records = unwrapped(found)
    if not _newest_first(records):
        return records
    return _lines_reversed(records) if _frames_reversed(records) else _records_reversed(records)


def _newest_first(records: Sequence[Record]) -> bool:
    times = [rec.time for rec in records if rec.time and len(rec.time) >= 19]
    falls = sum(a > b for a, b in itertools.pairwise(times))
    rises = sum(a < b for a, b in itertools.pairwise(times))
    return falls >= 2 and rises * 4 < falls


def _frames_reversed(records: Sequence[Record]) -> bool:
    """Say whether a traceback's frames stand above its first line."""
    above = below = 0
    for before, rec, after in zip([None, *records], records, [*records[1:], None], strict=False):
        if _TRACEBACK.search(rec.body):
            above += bool(before and _FRAME.match(before.body)) or bool(before and before.body[:4] == "    ")
            below += bool(after and _FRAME.match(after.body))
    return above >= below


def _lines_reversed(records: Sequence[Record]) -> list[Record]:
    return list(reversed(records))


def _records_reversed(records: Sequence[Record]) -> list[Record]:
    """Turn records round, each with the lines that continue it."""
    groups: list[list[Record]] = []
    for rec in records:
        if rec.time or not groups:
            groups.append([rec])
        else:
            groups[-1].append(rec)
    return [rec for group in reversed(groups) for rec in group]
