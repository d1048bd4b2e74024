"""A whole log, read once: records, phases, tracebacks."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from relight.diagnosis.match import bounded
from relight.diagnosis.order import outdented, put_in_order
from relight.diagnosis.traceback import Block, Chain, Reader
from relight.logs.lines import Line
from relight.logs.marks import Marks
from relight.logs.progress import Progress
from relight.logs.records import Record, record
from relight.words.knowledge import PhasePattern

_USAGE = re.compile(r"^usage: ")
_USAGE_END = re.compile(r"^\S.*: error:|^error:|^unrecognized arguments|^ambiguous option|^Traceback ")

_FILE = re.compile(
    r"(?:(?P<before>\w+) \()?(?P<file>[\w./+-]+\.(?:py|cuh?|h|hpp|cpp|cc|hip))"
    r"(?::\d+|: line \d+|\", line \d+,? in (?P<after>\w+))"
)
NEAR = 150
"""Lines on each side of a failure, and from the beginning, that tell what the model and the launch have."""
GOING_ON = 5
AROUND = 12
LONGEST = 600
"""Characters beyond which a line is no sentence but a dump, in which every feature has a name."""


@dataclass
class Evidence:
    """What a log holds. `ours` says that it is a log of the engine.

    `phases` has, for each record, the phase its rank was in before the line; `commands` are the lines that hold the
    command of a launch, `served` says that the engine told of answers it gave. `cut` is the traceback in which the
    log ends, before its exception.
    """

    records: list[Record] = field(default_factory=list)
    phases: list[str | None] = field(default_factory=list)
    progress: Progress = field(default_factory=lambda: Progress(Marks(())))
    chains: list[Chain] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)
    place: dict[int, int] = field(default_factory=dict)
    commands: set[int] = field(default_factory=set)
    usage: set[int] = field(default_factory=set)
    ours: bool = False
    served: bool = False
    cut: Block | None = None

    def index(self, number: int) -> int:
        """Return the position in `records` of the line with this number."""
        return self.place[number]

    def phase_at(self, number: int) -> str | None:
        """Return the phase a line's rank was in."""
        return self.phases[self.place[number]]

    def around(self, index: int) -> str:
        """Return the text of the first lines and of those around one, without dumps and usage texts."""
        near = [*self.records[: min(NEAR, max(index, 0))], *self.records[max(0, index - NEAR) : max(index, 0) + NEAR]]
        return "\n".join(r.body for r in near if len(r.body) <= LONGEST and r.number not in self.usage)

    def after(self, index: int) -> str:
        """Return the lines that may go on with what is said at an index: those that no logger began."""
        following = self.records[max(index, 0) + 1 : max(index, 0) + GOING_ON]
        return "\n".join(r.body for r in takewhile(lambda r: not r.fresh, following) if r.body.strip())

    def files_near(self, index: int) -> list[str]:
        """Return the files and functions that lines around an index name, the nearest first: a stack dump has no
        traceback, and excerpts abridge theirs."""
        near = sorted(
            range(max(0, index - AROUND), min(len(self.records), index + AROUND)), key=lambda i: abs(i - index)
        )
        return [
            f"{m['file']} {m['before'] or m['after'] or ''}".strip()
            for i in near
            for m in _FILE.finditer(bounded(self.records[i].body))
        ]


def _usage_lines(records: Sequence[Record]) -> set[int]:
    """Return the lines of an argument parser's usage text, which names every flag there is."""
    lines: set[int] = set()
    inside = False
    for rec in records:
        if _USAGE.match(rec.body):
            inside = True
        elif inside and (rec.fresh or _USAGE_END.search(rec.body)):
            inside = False
        if inside:
            lines.add(rec.number)
    return lines


def gather(lines: Iterable[Line], phases: Sequence[PhasePattern]) -> Evidence:
    """Read all lines of a log as one attempt."""
    return read_attempt(put_in_order([record(line) for line in outdented(lines)]), phases)


def attempts(lines: Iterable[Line], phases: Sequence[PhasePattern]) -> list[list[Record]]:
    """Return the records of each attempt that a log holds, in order; what comes before the first belongs to it."""
    begins = [re.compile(p.regex) for p in phases if p.id == "attempt"]
    groups: list[list[Record]] = [[]]
    begun = False
    for rec in put_in_order([record(line) for line in outdented(lines)]):
        if any(regex.search(rec.body) for regex in begins):
            if begun:
                groups.append([])
            begun = True
        groups[-1].append(rec)
    return groups


def _before_the_stop(evidence: Evidence) -> str | None:
    """Return the phase that relight's own remarks are about: the last before the stop they were the reason for."""
    return next((phase for phase in reversed(evidence.phases) if phase != "shutdown"), None)


def _phase_now(evidence: Evidence, rec: Record) -> str | None:
    """Return the phase of a record's rank; an excerpt that shows no start, only answers given, is of a server."""
    return evidence.progress.phase_of(rec.rank) or ("serving" if evidence.served else None)


def read_attempt(found: list[Record], phases: Sequence[PhasePattern]) -> Evidence:
    """Read the records of one attempt."""
    marks = Marks(phases)
    evidence = Evidence(records=found, progress=Progress(marks))
    reader = Reader()
    routine = [re.compile(p.regex) for p in phases if p.role == "routine"]
    for index, rec in enumerate(found):
        evidence.place[rec.number] = index
        remark = rec.line.offset < 0
        evidence.phases.append(_before_the_stop(evidence) if remark else _phase_now(evidence, rec))
        if rec.body.strip():
            evidence.served = evidence.served or any(regex.search(bounded(rec.line.text)) for regex in routine)
        reader.feed(rec)
        if rec.number not in reader.taken and any(mark.id == "command" for mark in evidence.progress.read(rec)):
            evidence.commands.add(rec.number)
    reader.close()
    last = next((rec.number for rec in reversed(found) if rec.body.strip()), None)
    evidence.cut = reader.cut if last in reader.taken else None
    engine = [re.compile(p.regex) for p in phases if p.id == "engine"]
    evidence.ours = not engine or any(engine[0].search(rec.line.text) for rec in found)
    evidence.usage = _usage_lines(found)
    evidence.cut = reader.cut
    evidence.chains, evidence.taken = reader.chains, reader.taken | evidence.usage
    return evidence
