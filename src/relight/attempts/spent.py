"""What a run has used of its budget. Only time in which it could work counts, and the wall clock may jump."""

from collections.abc import Sequence

from relight.attempts.clock import epoch
from relight.attempts.site import Site
from relight.journal.journal import events
from relight.words.attempt import Incident, Record

DAY = 86400.0


def begin_counting(site: Site) -> float:
    """Note where this process takes over; return the record's seconds of absence, with what passed since it was left.

    Time counts by the monotonic clock from now on.
    """
    record, last = site.record, _last_seen(site)
    gap = max(0.0, site.clock.now() - last) if last is not None else 0.0
    used = 0.0 if last is None else last - epoch(record.started) - record.unreachable_seconds
    site.spent_before, site.reached, site.away = max(0.0, used), site.clock.monotonic(), 0.0
    return record.unreachable_seconds + gap


def _last_seen(site: Site) -> float | None:
    last = None
    for event in events(site.journal.folder):
        last = event
    return epoch(last.at) if last else None


def count_absence(site: Site, seconds: float) -> None:
    """Add seconds in which the host was out of reach, or others had its cards, journaled."""
    if seconds > 0:
        site.away += seconds
        site.note("changed", record={"unreachable_seconds": site.record.unreachable_seconds + seconds}, away=seconds)


def spent(site: Site) -> float:
    """Return the seconds this run has used; absence and the time a healthy server was only watched do not count.

    A run that is kept has its budget anew each day: what is more than a day ago does not count either.
    """
    now = site.clock.monotonic()
    worked = site.spent_before + now - (now if site.reached is None else site.reached) - site.away
    used = max(0.0, worked - sum(i.healthy for i in site.record.incidents))
    return min(used, _since_yesterday(site)) if site.order.keep else used


def _since_yesterday(site: Site) -> float:
    begin = site.clock.now() - DAY
    spans = ((epoch(a.started), epoch(a.ended or site.stamp())) for a in site.record.attempts if a.started)
    return sum(max(0.0, ended - max(begin, started)) for started, ended in spans)


def attempts_allowed(site: Site) -> int | None:
    """Return how many launches the whole run may have; for a run that is kept the budget is one of a day."""
    given = site.order.max_attempts
    if not site.order.keep:
        return given
    budget = site.order.playbook.budget.attempts if given is None else given
    return budget + launched_before(site.record, site.clock.now() - DAY)


def launched_before(record: Record, moment: float) -> int:
    """Return how many launches of the run are older than `moment` (epoch seconds)."""
    return sum(1 for a in record.attempts if a.launched and a.started and epoch(a.started) < moment)


def of_today(incidents: Sequence[Incident], now: float) -> tuple[Incident, ...]:
    """Return the incidents of the last 24 hours."""
    return tuple(i for i in incidents if now - epoch(i.at) < DAY)
