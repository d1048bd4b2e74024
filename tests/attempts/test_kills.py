"""The controller is killed at every journal write and at every question to the host; a new one goes on."""

import math
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from relight.attempts.clock import stamp
from relight.attempts.loop import run
from relight.attempts.order import RunOrder
from relight.hosts.values import HttpAnswer, HttpRequest, LaunchOrder
from relight.journal.journal import Journal, mark
from relight.testing import Act
from relight.testing.faults import FaultyHost, Fuse, KilledError
from relight.words.attempt import Exit, Record
from relight.words.errors import BusyError, UnreachableError
from relight.words.events import Event
from relight.words.playbook import Budget, Playbook, Variant
from tests.attempts.conftest import PORT, Bench, book, crashed, generated, healthy, lever, sound
from tests.attempts.test_loop import BACKEND, NOT_FOUND

EVERY = int(os.environ.get("RELIGHT_SOAK_SHARE", "1"))
"""Of how many points the soak tries one."""


def unreachable() -> UnreachableError:
    return UnreachableError("no route to host", place="box")


class BreakableJournal(Journal):
    """A journal that passes a point before and after each write; the first may leave half a line."""

    fuse = Fuse()

    def write(self, event: Event) -> None:
        if self.fuse.fault is not KilledError:
            # A lost link leaves the journal alone.
            super().write(event)
            self.fuse.step()
            return
        try:
            self.fuse.point(f"before {event.event}")
        except KilledError:
            with (self.folder / "events.jsonl").open("a") as file:
                file.write('{"at": "2026-11-2')
            raise
        super().write(event)
        self.fuse.step()
        self.fuse.point(f"after {event.event}")


Go = Callable[[Journal, Fuse], Record]


def carried(fuse: Fuse, create: Callable[[], Journal], go: Go) -> Record:
    """Run with a fuse; where that broke it off, go on without. Return the record."""
    BreakableJournal.fuse = fuse
    with create() as journal:
        record = unless_broken_off(go, journal, fuse)
    if record is None:
        BreakableJournal.fuse = Fuse()
        with BreakableJournal(journal.folder) as again:
            record = unless_broken_off(go, again, BreakableJournal.fuse)
    assert record
    return record


def unless_broken_off(go: Go, journal: Journal, fuse: Fuse) -> Record | None:
    """Return what comes of a run, None where it was killed or lost its host."""
    try:
        return go(journal, fuse)
    except KilledError:
        return None
    except UnreachableError:
        assert journal.record.state == "unreachable"
        return None


def nonsense(request: HttpRequest) -> HttpAnswer:
    return generated(request, "!!!!", math.nan) if request.url.endswith("/generate") else sound(request)


def by_backend(**acts: Act) -> Callable[[LaunchOrder], Act]:
    """Play an act by the attention backend asked for; others are healthy."""
    return lambda order: next((act for name, act in acts.items() if name in order.argv), healthy())


def dies(_: LaunchOrder) -> Act:
    """Play a server that is healthy and dies of illegal memory access an hour later."""
    return replace(healthy(), exit=Exit(None, 9), ends=3600.0, later=(*healthy().later, (3599.0, BACKEND)))


ATTENTION = lever(
    "attention",
    Variant({"attention-backend": "trtllm_mha"}),
    Variant({"attention-backend": "fa3"}),
    Variant({"attention-backend": "triton"}),
    keep=2,
)
FATAL = crashed(BACKEND, code=None, signal=9)
OTHER = crashed(BACKEND.replace("TRTLLM MHA", "FlashAttention v3"), code=None, signal=9)
FIXED = {"model-path": "m", "port": PORT}


STUCK = book(
    flags=FIXED | {"attention-backend": "trtllm_mha"},
    protect_others=True,
    protect_flags=frozenset({"attention-backend"}),
)


@dataclass(frozen=True)
class Case:
    """A playbook, what the host plays, and how the order differs."""

    playbook: Playbook
    play: Callable[[LaunchOrder], Act]
    order: dict[str, Any] = field(default_factory=dict)


CASES = {
    "healthy at once": Case(book(), lambda _: healthy()),
    "two failures": Case(book(levers=(ATTENTION,)), by_backend(trtllm_mha=FATAL, fa3=OTHER)),
    "exhausted": Case(STUCK, by_backend(trtllm_mha=FATAL)),
    "person": Case(book(), lambda _: crashed(NOT_FOUND)),
    "sick": Case(book(flags=FIXED | {"attention-backend": "flashinfer"}),
                 by_backend(flashinfer=replace(healthy(), answers=nonsense))),
    "kept": Case(book(budget=Budget(attempts=2)), dies, {"keep": True}),
    "won back": Case(book(levers=(ATTENTION,), budget=Budget(win_back=1)), by_backend(trtllm_mha=FATAL)),
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What must not depend on where the controller was killed."""

    state: str
    outcomes: tuple[str | None, ...]
    launched: tuple[tuple[str, ...], ...]
    live: tuple[str, ...]
    locks: tuple[str, ...]
    argv: tuple[str, ...]


@dataclass
class Killing:
    """One run of a case with a fuse at one point."""

    bench: Bench
    case: Case
    fault: Callable[[], BaseException] = KilledError

    def carry(self, at: str) -> tuple[Outcome, Fuse]:
        """Run, be broken off at point `at`, go on, and return what came of it."""
        host = self.bench.scripted(self._alone)
        fuse = Fuse(at, self.fault)

        def create() -> Journal:
            return BreakableJournal.create(
                self.bench.state / at.replace(" ", "-"),
                playbook=self.case.playbook,
                specs=[host.spec],
                started=stamp(host.clock.now()),
            )

        return self._outcome(carried(fuse, create, self._run)), fuse

    def _run(self, journal: Journal, fuse: Fuse) -> Record:
        host = self.bench.host
        order = RunOrder(self.case.playbook, host.spec, owner_user="t", owner_host="h", **self.case.order)
        faulty: Any = FaultyHost(host, fuse)
        return run(order, faulty, journal, self.bench.knowledge, clock=host.clock, emit=lambda _: None)

    def _alone(self, order: LaunchOrder) -> Act:
        """Play a launch; nothing else of ours may be alive then."""
        alive = [p.ours for p in self.bench.host.processes() if p.ours]
        assert not alive, f"{order.attempt_id} was launched beside {alive}"
        return self.case.play(order)

    def _outcome(self, record: Record) -> Outcome:
        host = self.bench.host
        known = {f"{record.run}.{a.n}" for a in record.attempts if a.launched}
        assert set(host.played) <= known, "an attempt is lost"
        assert [a.n for a in record.attempts] == list(range(1, len(record.attempts) + 1))
        return Outcome(
            record.state,
            tuple(a.outcome for a in record.attempts),
            tuple(tuple(o.argv) for o in host.orders),
            tuple(p.ours.rpartition(".")[2] for p in host.processes() if p.ours),
            tuple(host.locks),
            record.final.argv if record.final else (),
        )


def tried(points: tuple[str, ...], share: int) -> tuple[str, ...]:
    """Return one point in `share`; the first and the last two are among them."""
    return tuple(dict.fromkeys((*points[::share], *points[-2:])))


def check(name: str, bench: Bench, share: int, kind: str = "kill") -> int:
    """Kill the case at one point in `share`; all must end like the undisturbed run. Return how many were tried."""
    killing = Killing(bench, CASES[name], unreachable if kind == "link" else KilledError)
    undisturbed, fuse = killing.carry("")
    chosen = tried(tuple(fuse.points), share)
    ends = {at: comparable(killing.carry(at)[0], name, kind) for at in chosen}
    same = comparable(undisturbed, name, kind)
    assert {at: end for at, end in ends.items() if end != same} == {}, undisturbed
    return len(chosen)


def comparable(end: Outcome, name: str, kind: str) -> Outcome:
    """Return what must be the same: a server that is kept is waited for a day, and deaths of yesterday do not count."""
    return replace(end, outcomes=(), launched=()) if (name, kind) == ("kept", "link") else end


@pytest.mark.parametrize("name", CASES)
def test_wherever_the_controller_is_killed_the_run_ends_the_same(name: str, bench: Bench) -> None:
    assert check(name, bench, share=60) > 2


@pytest.mark.parametrize("name", ["healthy at once", "two failures"])
def test_wherever_the_link_is_lost_for_good_the_run_says_unreachable_and_goes_on(name: str, bench: Bench) -> None:
    assert check(name, bench, share=60, kind="link") > 2


ENDS: dict[str, tuple[str, dict[str, object]]] = {
    "healthy": ("healthy at once", {}), "exhausted": ("exhausted", {}), "person": ("person", {}),
    "failed": ("two failures", {"mode": "deploy"}), "budget": ("two failures", {"max_attempts": 1}),
}  # fmt: skip


@pytest.mark.parametrize("state", ENDS)
def test_a_run_that_is_over_may_be_resumed_and_stays_what_it_is(state: str, bench: Bench) -> None:
    name, bench.order = ENDS[state]
    case = CASES[name]
    first = bench.run(case.playbook, case.play)
    launched = len(bench.host.orders)

    with Journal(bench.folder) as journal:
        again = bench.go_on(case.playbook, journal)

    assert first.state == again.state == state
    assert len(again.attempts) == len(first.attempts)
    assert len(bench.host.orders) == launched
    assert len([p for p in bench.host.processes() if p.ours]) == (state == "healthy")
    assert not bench.host.locks


@pytest.mark.parametrize("state", ["busy", "unreachable", "interrupted", "replaced"])
def test_a_run_that_was_broken_off_is_resumed_to_its_end(state: str, bench: Bench) -> None:
    host: Any = bench.scripted(lambda _: healthy())
    asked, breaks = host.processes, {"unreachable": unreachable(), "interrupted": KeyboardInterrupt(),
                                     "busy": BusyError("gpu 0 held by somebody", place="box")}  # fmt: skip

    def broken(**more: float) -> Any:
        host.processes = asked
        if state in breaks:
            raise breaks[state]
        return asked(**more)

    host.processes = broken
    with suppress(UnreachableError, KeyboardInterrupt, BusyError):
        bench.run(book())
    if state == "replaced":
        host.stop(f"{bench.folder.name}.1")
        mark(bench.folder, at=stamp(host.clock.now()), changes={"state": "replaced"})
    with Journal(bench.folder) as journal:
        assert journal.record.state == state

        again = bench.go_on(book(), journal)

    assert again.state == "healthy"
    assert len([p for p in host.processes() if p.ours]) == 1


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", ["kill", "link"])
@pytest.mark.parametrize("name", CASES)
def test_every_point_of_every_run(name: str, kind: str, bench: Bench) -> None:
    tried_points = check(name, bench, share=EVERY, kind=kind)

    print(f"{name}: {kind} at {tried_points} points")  # noqa: T201  a soak run prints its figure
