"""Lines apart from the cause that belong to it: what a compiler said, what it passes on, what its message asks for."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from relight.diagnosis.candidates import SHORTEST_PASSED_ON, Candidate
from relight.diagnosis.evidence import Evidence
from relight.diagnosis.match import bounded
from relight.logs.lines import shown
from relight.logs.records import Record
from relight.words.area import Areas
from relight.words.diagnosis import LogLine
from relight.words.settings import Repair

BEFORE = 80
AFTER = 200
"""Lines before a traceback, and after the line of its exception, that may be a compiler's."""
TOLD = re.compile(r"(?i)\b(?:error|fatal)\b[^:]*: *(?P<what>.+)")
LONGEST = 160
MOST_ASKING = 2


def details(root: Candidate, evidence: Evidence, areas: Areas) -> tuple[LogLine, ...]:
    """Return the line in which a compiler says why it failed, () where the cause is one, or there is none."""
    kind = root.claim.signature.kind if root.claim else "unknown"
    regexes = _compiled(areas.compilers)
    if not any(fnmatchcase(kind, k) for k in areas.compiled) or _tells(root.record, regexes):
        return ()
    first = evidence.index(root.block.start.number) if root.block else root.index
    after = evidence.records[root.index + 1 : root.index + AFTER]
    near = [*after, *evidence.records[max(0, first - BEFORE) : first]]
    found = next((rec for rec in near if not rec.fresh and _tells(rec, regexes)), None)
    return (_line(found),) if found else ()


def passed_on(root: Candidate) -> tuple[LogLine, ...]:
    """Return the line of the error that the cause only passes on the message of, () where there is none."""
    inner = root.chain[: root.chain.index(root.block)] if root.block in root.chain else ()
    found = (b for b in inner if len(b.message) >= SHORTEST_PASSED_ON and b.message in root.text)
    return tuple(_line(block.end) for block in found)[:1]


def asking(root: Candidate, repairs: Iterable[Repair]) -> tuple[LogLine, ...]:
    """Return the lines below its first in which the cause's message names what repairs made of it change."""
    names = {name for r in repairs if r.origin == "message" for name in (*r.names, *r.variables)}
    if root.block is None or not names:
        return ()
    spelled = (f"--{re.escape(n)}" if not n.isupper() else re.escape(n) for n in names)
    regex = re.compile(rf"(?<![\w-])(?:{'|'.join(spelled)})(?![\w-])")
    found = [rec for rec in root.block.more if regex.search(bounded(rec.body).replace("_", "-"))
             or regex.search(bounded(rec.body))]  # fmt: skip
    return tuple(map(_line, found[:MOST_ASKING]))


def _line(rec: Record) -> LogLine:
    return LogLine(rec.number, shown(rec.line.text))


def told(lines: Sequence[LogLine], summary: str) -> str:
    """Return a summary with what a compiler said, where it does not say that already."""
    match = TOLD.search(lines[0].text) if lines else None
    what = match["what"].strip().rstrip(".") if match else ""
    known = not what or len(what) > LONGEST or what.partition(": ")[0] in summary
    return summary if known else f"{summary.rstrip('.')}: {what}"


def _tells(rec: Record, regexes: tuple[re.Pattern[str], ...]) -> bool:
    return any(regex.search(bounded(rec.body)) for regex in regexes)


@lru_cache(maxsize=8)
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(p) for p in patterns)
