"""Marks: lines that say where a start has got to."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from relight.logs.lines import Line
from relight.logs.literals import Literals
from relight.logs.records import Record, record
from relight.words.knowledge import MarkRole, PhasePattern


@dataclass(frozen=True, slots=True)
class Mark:
    """A phase began, moved on, or ended; `facts` are what the line says, numbers as numbers."""

    id: str
    phase: str
    role: MarkRole
    line: int
    facts: Mapping[str, Any] = field(default_factory=dict)
    rank: str | None = None
    time: str | None = None


class Marks:
    """Recognise marks line by line; holds only compiled patterns, so one may serve several logs."""

    def __init__(self, phases: Iterable[PhasePattern]) -> None:
        compiled = [(p, re.compile(p.regex)) for p in phases]
        self._patterns = [(p, regex) for p, regex in compiled if p.role not in {"frame", "through", "routine"}]
        self._literals = Literals(text for p, _ in self._patterns for text in p.literal)
        self._told_by = [
            {n for n, (p, _) in enumerate(self._patterns) if text in p.literal} for text in self._literals.all
        ]
        self._any = {n for n, (p, _) in enumerate(self._patterns) if not p.literal}
        self._frames = [(p.phase, regex) for p, regex in compiled if p.role == "frame"]
        self._through = [regex for p, regex in compiled if p.role == "through"]

    def phase_of_frames(self, places: str) -> str | None:
        """Return the phase that a traceback's frames show ("file function", one a line), None where they do not."""
        return next((phase for phase, regex in self._frames if regex.search(places)), None) if places else None

    def inside(self, places: str) -> str:
        """Return the frames without the innermost ones that only pass a call on to compiled code."""
        for regex in self._through:
            places = regex.sub("", places)
        return places

    def feed(self, line: Line) -> tuple[Mark, ...]:
        """Return the marks on one line; a bar that was redrawn counts with its last state."""
        return self.read(record(line))

    def read(self, rec: Record) -> tuple[Mark, ...]:
        """Return the marks of a record already understood."""
        if not rec.body.strip():
            return ()
        bar = rec.line.text if rec.line.text.endswith(rec.body) else rec.body
        return tuple(
            Mark(pattern.id, pattern.phase, pattern.role, rec.number, facts_of(match), rec.rank, rec.time)
            for pattern, regex in self._possible(bar)
            if (match := _last(regex, bar) if pattern.role == "progress" else regex.search(rec.body))
        )

    def _possible(self, text: str) -> list[tuple[PhasePattern, re.Pattern[str]]]:
        """Return the patterns, in their order, of which a literal occurs in the text: of most lines none."""
        told = self._any.union(*(self._told_by[n] for n in self._literals.find(text)))
        return [self._patterns[n] for n in sorted(told)]


def _last(regex: re.Pattern[str], text: str) -> re.Match[str] | None:
    for part in reversed(text.split("\r")):
        match = regex.search(part)
        if match:
            return match
    return None


def facts_of(match: re.Match[str]) -> dict[str, Any]:
    """Return the named groups that took part, numbers as numbers."""
    return {name: as_number(text.strip()) for name, text in match.groupdict().items() if text is not None}


def as_number(text: str) -> int | float | str:
    """Return an int or a float where the text is one, else the text."""
    plain = text.replace(",", "") if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?", text) else text
    if re.fullmatch(r"-?\d{1,18}", plain):
        return int(plain)
    if re.fullmatch(r"-?\d+\.\d*|-?\.\d+|-?\d+(?:\.\d+)?[eE][+-]?\d{1,3}", plain):
        return float(plain)
    return text
