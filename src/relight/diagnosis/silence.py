"""A log that stops without a failure: still starting, hung, or simply cut."""

import itertools
import re
from collections.abc import Sequence

from relight.diagnosis.evidence import Evidence
from relight.logs.records import Record

GAP = 60.0
"""Seconds between the last lines after which a start counts as having stopped."""

BEHIND = 20.0
"""Seconds that a rank may say nothing while others go on."""

_CLOCK = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?")
_STACKS = re.compile(r"^(?:Current )?[Tt]hread 0x[0-9a-f]+ .*\(most recent call first\)|^Thread \d+ \(\w+\): ")
_MONTH_DAYS = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


def seconds(time: str | None) -> float | None:
    """Return a printed time as seconds on some fixed scale, None where it has no date."""
    match = _CLOCK.search(time or "")
    if not match:
        return None
    year, month, day, hour, minute, second = (int(match[i]) for i in range(1, 7))
    if not 1 <= month <= 12:
        return None
    leap = (year - (month < 3)) // 4
    days = year * 365 + leap + _MONTH_DAYS[month - 1] + day
    return days * 86400.0 + hour * 3600 + minute * 60 + second + float(f"0.{match[7] or 0}")


def stopped(evidence: Evidence) -> bool:
    """Say whether the log shows that a start came to a stop: a gap, stacks, or a step that only others finished.

    A log that was merely cut shows none of these, however early it ends.
    """
    return _gap(evidence) or _stacks(evidence.records) or _left_behind(evidence)


def _gap(evidence: Evidence) -> bool:
    """Say whether time passed near the end after which nothing moved on any more; lines out of order tell nothing."""
    moved = max((span.last.line for span in evidence.progress.spans.values()), default=0)
    timed = [(t, rec.number) for rec in evidence.records[-200:] if (t := seconds(rec.time)) is not None]
    if timed != sorted(timed):
        return False
    pairs = itertools.pairwise(timed[-4:])
    return any(after[0] - before[0] >= GAP and moved < after[1] for before, after in pairs)


def _stacks(records: Sequence[Record]) -> bool:
    return any(_STACKS.search(rec.body) for rec in records[-500:])


def _left_behind(evidence: Evidence) -> bool:
    """Say whether one rank is in a phase that all others left a while ago."""
    reached = {rank: phase for rank, phase in evidence.progress.by_rank.items() if rank}
    if len(set(reached.values())) < 2:
        return False
    newest = {rec.rank: t for rec in evidence.records if rec.rank in reached and (t := seconds(rec.time)) is not None}
    return bool(newest) and max(newest.values()) - min(newest.values()) >= BEHIND


def last_progress(evidence: Evidence) -> Record | None:
    """Return the last line that marks progress, else the last that says anything."""
    marks = [span.last.line for span in evidence.progress.spans.values()]
    if marks:
        return evidence.records[evidence.index(max(marks))]
    return next((rec for rec in reversed(evidence.records) if rec.body.strip()), None)
