"""How long the phases of a start usually take, from runs that ended well. Pure."""

from collections.abc import Iterable
from statistics import median

from relight.reports.times import between
from relight.words.attempt import Attempt, Record


def usual(records: Iterable[Record], *, playbook: str, host: str) -> tuple[tuple[str, float], ...]:
    """Return the phases of a start in their order with the seconds they usually take; () without history.

    Healthy launches of the same playbook on the same host count; of each phase the median is taken.
    """
    good = [
        attempt
        for record in records
        if (record.playbook, record.host) == (playbook, host)
        for attempt in record.attempts
        if attempt.outcome == "healthy" and attempt.rung == "real"
    ]
    seen = [_lengths(attempt) for attempt in good]
    order = dict.fromkeys(name for lengths in seen[::-1] for name in lengths)
    return tuple((name, median(lengths[name] for lengths in seen if name in lengths)) for name in order)


def _lengths(attempt: Attempt) -> dict[str, float]:
    spans = ((p.name, between(p.started, p.ended)) for p in attempt.phases)
    return {name: length for name, length in spans if length is not None}
