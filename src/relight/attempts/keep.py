"""Stay with a healthy server (`--keep`): watch it cheaply and name its death; the loop then goes on."""

import re

from relight.attempts.autopsy import with_autopsy
from relight.attempts.clock import epoch
from relight.attempts.guard import Guard, died
from relight.attempts.judge.book import Book
from relight.attempts.site import Site
from relight.attempts.spent import of_today
from relight.attempts.watch import Ending
from relight.hosts.values import Status
from relight.words.attempt import Attempt, Incident
from relight.words.step import Plan, Spent

FIRST_PAUSE = 5.0
LONGEST_PAUSE = 1800.0
REMARK = re.compile(r"^relight: (?:hung: \w+: |sick: [\w.]+: )?")


def stay(site: Site, book: Book) -> None:
    """Watch the healthy server until it dies; journal the incident, so that the loop stops, diagnoses, launches.

    Launches after a death wait longer each time; what a day may cost is the playbook's budget of attempts.
    """
    attempt = site.record.attempts[-1]
    guard = Guard(site, attempt, book)
    why = guard.until_dead()
    if why.startswith("relight: hung: "):
        tree = site.host.status(site.attempt_id(attempt.n)).tree
        why = with_autopsy(site, attempt.n, Ending("hung", lines=(why,)), tree).lines[0]
    incident(site, attempt, why, guard.seen)
    _pause(site)


def look_after(site: Site) -> None:
    """Journal an incident where the server that was healthy when the run was left is gone now."""
    last = site.record.attempts[-1] if site.record.attempts else None
    if last is None or last.outcome != "healthy" or last.rung != "real" or last.n == site.died:
        return
    status = site.host.status(site.attempt_id(last.n))
    if not status.serves:
        incident(site, last, died(status, " while nobody watched"), status)


def incident(site: Site, attempt: Attempt, why: str, seen: Status | None = None) -> None:
    """Journal that the healthy server of `attempt` is no longer one; `seen` is what the host said of its end."""
    healthy = max(0.0, site.clock.now() - epoch(attempt.ended or attempt.started))
    # What is read as a sentence of its own needs no name of the kind in front: the diagnosis gives that.
    new = Incident(attempt.n, site.stamp(), REMARK.sub("", why), healthy)
    site.note(
        "crashed",
        attempt.n,
        record={"state": "running", "ended": None, "final": None, "incidents": (*site.record.incidents, new)},
        attempt={
            "remarks": (why,) if why.startswith("relight: ") else (),
            "exit": seen.exit if seen and seen.state == "ended" else None,
        },
        reason=new.why,
    )


def stormy(site: Site) -> Plan | None:
    """Return the end of a run whose healthy server dies more often in a day than the budget has attempts."""
    given = site.order.max_attempts
    most = site.order.playbook.budget.attempts if given is None else given
    today = of_today(site.record.incidents, site.clock.now())
    if not site.order.keep or len(today) < most:
        return None
    because = f"the healthy server died {len(today)} times within a day; the last time: {today[-1].why}"
    return Plan(Spent((), because), site.record.nogoods, site.record.options)


def _pause(site: Site) -> None:
    earlier = len(of_today(site.record.incidents, site.clock.now())) - 1
    if earlier > 0:
        site.clock.sleep(min(FIRST_PAUSE * 2**earlier, LONGEST_PAUSE))
