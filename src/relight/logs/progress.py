"""How far a start has got: the same for a log that grows and one that is over."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from relight.logs.lines import Line
from relight.logs.marks import Mark, Marks
from relight.logs.records import Record, record


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """One phase: lines and printed times of its first and last mark; `ended` only where the log says so."""

    phase: str
    first: Mark
    last: Mark
    ended: Mark | None = None


@dataclass
class Progress:
    """The state of one start, fed line by line.

    `phase` is the phase of the newest mark of any rank, `step` the (i, n) of its bar, `last` the newest line that
    says anything, `facts` every fact by mark id and rank, newest wins, `first` the oldest, `moved` the line of each
    rank's last step, `repeated` the phases that a rank began once more after it had ended them.
    """

    marks: Marks
    phase: str | None = None
    step: tuple[int, int] | None = None
    ready: Mark | None = None
    last: Line | None = None
    lines: int = 0
    spans: dict[str, PhaseSpan] = field(default_factory=dict)
    by_rank: dict[str | None, str] = field(default_factory=dict)
    facts: dict[str, dict[str | None, Mapping[str, Any]]] = field(default_factory=dict)
    first: dict[str, dict[str | None, Mapping[str, Any]]] = field(default_factory=dict)
    moved: dict[str | None, int] = field(default_factory=dict)
    repeated: dict[str | None, set[str]] = field(default_factory=dict)
    _ended: set[tuple[str | None, str]] = field(default_factory=set)

    def feed(self, line: Line) -> tuple[Mark, ...]:
        """Take one line in and return its marks."""
        return self.read(record(line))

    def read(self, rec: Record) -> tuple[Mark, ...]:
        """Take in a record already understood and return its marks."""
        self.lines += 1
        if rec.body.strip():
            self.last = rec.line
        found = self.marks.read(rec)
        for mark in found:
            self._take(mark)
        return found

    def phase_of(self, rank: str | None) -> str | None:
        """Return the phase a rank is in; the newest phase of any rank where it never said."""
        return self.by_rank.get(rank, self.phase) if rank else self.phase

    def open_phases(self) -> tuple[str, ...]:
        """Return the phases that began and did not end, in order."""
        return tuple(span.phase for span in self.spans.values() if span.ended is None)

    def _take(self, mark: Mark) -> None:
        if mark.facts:
            self.facts.setdefault(mark.id, {})[mark.rank] = mark.facts
            self.first.setdefault(mark.id, {}).setdefault(mark.rank, mark.facts)
        if mark.role == "fact":
            return
        if mark.role == "ready":
            self.ready = self.ready or mark
        self.phase = self.by_rank[mark.rank] = mark.phase
        if mark.role != "progress" and mark.phase != "shutdown":
            self.moved[mark.rank] = mark.line
        self.step = _step(mark)
        if mark.role == "end":
            self._ended.add((mark.rank, mark.phase))
        elif mark.role == "begin" and (mark.rank, mark.phase) in self._ended:
            self.repeated.setdefault(mark.rank, set()).add(mark.phase)
        old = self.spans.get(mark.phase)
        ended = mark if mark.role in {"end", "ready"} else None
        self.spans[mark.phase] = PhaseSpan(mark.phase, old.first if old else mark, mark, ended)


def _step(mark: Mark) -> tuple[int, int] | None:
    done, total = mark.facts.get("i"), mark.facts.get("n")
    return (done, total) if isinstance(done, int) and isinstance(total, int) else None
