"""What a compiler says near the failure it brought about, before or after the line that tells of it."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from relight.diagnosis.candidates import Candidate
from relight.diagnosis.evidence import Evidence
from relight.diagnosis.match import bounded
from relight.logs.lines import shown
from relight.logs.records import Record
from relight.words.area import Areas
from relight.words.diagnosis import LogLine

BEFORE = 80
AFTER = 200
"""Lines before a traceback, and after the line of its exception, that may be a compiler's."""
TOLD = re.compile(r"(?i)\b(?:error|fatal)\b[^:]*: *(?P<what>.+)")
LONGEST = 160


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
    return (LogLine(found.number, shown(found.line.text)),) if found else ()


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
