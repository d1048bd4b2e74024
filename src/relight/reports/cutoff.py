"""Logs that end before they say what failed: what is known all the same, and how to get the rest."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from relight.reports.prose import path
from relight.words.diagnosis import LogLine

_PREFIX = re.compile(r"^\[[^\]]*\]:? ?")
_FRAME = re.compile(r'^\s+File "(?P<file>[^"]*)(?:", line (?P<line>\d+)(?:, in (?P<function>\S+))?)?')
_CARETS = re.compile(r"^[\s|]*[\^~]+\s*$")
_HEAD = re.compile(r"Traceback \(most recent call last\):?\s*$")
_FURTHEST = 12
"""Lines that one frame of a traceback takes at most: its place, its source, the marks below it."""

WHOLE = (
    "relight diagnose HOST:PATH                    reads the whole file on its host",
    "docker logs NAME 2>&1 | relight diagnose -    a container's, from its start",
)
"""Commands that get a log whole."""


@dataclass(frozen=True)
class Cut:
    """Where a log was cut inside a traceback: its last line, and the innermost place it still names ("" for none)."""

    line: LogLine
    place: str = ""


def cut_in_traceback(ends: Sequence[LogLine]) -> Cut | None:
    """Return where a log ends inside a traceback, before the line that names the exception; None where it does not."""
    said = [line for line in last_said(ends) if not _CARETS.match(line.text)]
    for line in reversed(said[-_FURTHEST:]):
        body = _PREFIX.sub("", line.text)
        frame = _FRAME.match(body)
        if frame:
            return Cut(said[-1], _place(frame))
        if _HEAD.search(body):
            return Cut(said[-1])
        if body[:1] not in {" ", "\t"}:
            return None
    return None


def last_said(ends: Sequence[LogLine]) -> list[LogLine]:
    """Return the lines that say anything."""
    return [line for line in ends if line.text.strip()]


def _place(frame: re.Match[str]) -> str:
    where = f"{path(frame['file'])}:{frame['line']}" if frame["line"] else ""
    return f"{where}, in {frame['function']}" if where and frame["function"] else where
