"""The loop: look at the record, take the next action, until the run is over."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from relight.attempts.absent import Absences
from relight.attempts.actions import Action, Carry, Diagnose, End, Follow, Stop, next_action
from relight.attempts.busy import busy
from relight.attempts.carry import carry
from relight.attempts.clock import Clock
from relight.attempts.examine import changed_by, examine
from relight.attempts.finish import finish, stop_attempt
from relight.attempts.judge.book import Book, read_book
from relight.attempts.keep import look_after, stay, stormy
from relight.attempts.order import RunOrder
from relight.attempts.prepare import memory_holders
from relight.attempts.reach import reach
from relight.attempts.site import NEVER, Site
from relight.attempts.spent import begin_counting
from relight.attempts.start import follow
from relight.attempts.world import world
from relight.config.shipped import engine
from relight.hosts.interface import Host
from relight.hosts.values import HostError, NoAnswerError
from relight.journal.journal import Journal
from relight.planning.plan import next_step, next_win
from relight.words.attempt import Record, State
from relight.words.errors import BusyError, PersonError, RelightError, UnreachableError, UsageError
from relight.words.events import Event
from relight.words.knowledge import Knowledge
from relight.words.step import Launch, Plan

JUDGE = "judge.toml"
OTHER_PROCESS = "oom.gpu.other_process"


def run(
    order: RunOrder,
    host: Host,
    journal: Journal,
    knowledge: Knowledge,
    *,
    clock: Clock,
    emit: Callable[[Event], None],
) -> Record:
    """Carry a run to its end and return its record; a run that was broken off goes on where it was.

    Raises UnreachableError (3), BusyError (6) and UsageError (2) after the journal says so; KeyboardInterrupt leaves
    the server as it is.
    """
    book = read_book((engine(order.playbook.engine) / JUDGE).read_text(), place=JUDGE)
    site = Site(order, host, journal, knowledge, clock, emit)
    try:
        resumed = bool(site.record.attempts)
        begun = {"state": "running", "ended": None, "unreachable_seconds": begin_counting(site)}
        who: dict[str, Any] = {"playbook": order.playbook.name, "host": order.spec.name, "mode": order.mode}
        site.note("run_started", record=begun, resumed=resumed, **who)
        reach(site)
        look_after(site)
        return _loop(site, book)
    except RelightError as fault:
        return _broken_off(site, fault)
    except KeyboardInterrupt:
        _over(site, "interrupted", "interrupted; the server keeps its state")
        give_back(site)
        raise


def _loop(site: Site, book: Book) -> Record:
    absences = Absences(site)
    while True:
        action = next_action(
            site.record, site.order.mode, site.stopped, lambda: plan(site), lambda: win(site), site.died
        )
        try:
            if not isinstance(action, End):
                _act(site, action, book)
                continue
            record = finish(site, action)
            if not (site.order.keep and action.state == "healthy"):
                return record
            stay(site, book)
        except (UnreachableError, NoAnswerError) as fault:
            # Every action may be repeated; what was begun on the host is taken up again.
            absences.wait(fault)
            # Whether the cards are still ours is to be seen before anything starts.
            site.beaten = NEVER


def plan(site: Site) -> Plan:
    """Return the planner's next step; what it learned is journaled when it is new."""
    planned = next_step(site.record, site.order.playbook, world(site))
    if planned.nogoods != site.record.nogoods:
        site.note("changed", record={"nogoods": planned.nogoods}, learned=len(planned.nogoods))
    return stormy(site) or planned


def win(site: Site) -> Launch | None:
    """Return the launch that tries to win a dropped lever back, None where the budget or the levers allow none."""
    return next_win(site.record, site.order.playbook, world(site))


def _act(site: Site, action: Action, book: Book) -> None:
    match action:
        case Follow(n):
            ending = follow(site, n, book)
            site.note(
                "judged" if ending.outcome == "healthy" else "stopped",
                n,
                attempt={
                    "outcome": ending.outcome,
                    "exit": ending.exit,
                    "ended": site.stamp(),
                    "judged": ending.judged,
                    "effective": ending.effective,
                    "measured": ending.measured,
                    "remarks": ending.lines,
                },
                why=ending.why,
            )
        case Stop(n):
            stop_attempt(site, n)
        case Diagnose(n):
            with busy(site, f"looking for the cause of attempt {n}: its log, the kernel's log, the engine's source", n):
                found, nodes = examine(site, site.attempt(n))
            changes = {"diagnosis": found, **changed_by(nodes)}
            if found.cause and found.cause.kind == OTHER_PROCESS:
                site.memory_holder = memory_holders(site)
            site.note("diagnosed", n, attempt=changes, diagnosis=found)
        case Carry(planned):
            carry(site, planned)


def _broken_off(site: Site, fault: RelightError) -> Record:
    """Journal why the run cannot go on. What needs a person is a result; the rest is the caller's to show."""
    if isinstance(fault, PersonError):
        return finish(site, End("person", fault.text, fault.next), patience=0.0)
    if isinstance(fault, HostError) and not site.record.attempts:
        # The host answers and cannot do what a launch needs: no setting will change that.
        return finish(site, End("person", fault.text, fault.next))
    if not isinstance(fault, UnreachableError):
        give_back(site)
    states: dict[type[RelightError], State] = {UnreachableError: "unreachable", BusyError: "busy", UsageError: "failed"}
    _over(site, states.get(type(fault), "interrupted"), str(fault), fault.next)
    raise fault


def give_back(site: Site) -> None:
    """Give back the lock of a run that is broken off; a server that lives on is known by its attempt."""
    with suppress(RelightError):
        if site.known:
            site.host.unlock(site.owner)


def _over(site: Site, state: State, reason: str, then: str = "") -> None:
    site.note(
        "run_ended",
        record={"state": state, "reason": reason, "next": then, "ended": site.stamp()},
        state=state,
        reason=reason,
    )
