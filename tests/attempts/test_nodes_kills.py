"""The controller of a run over two nodes is killed at any point; a new one goes on, and no node has a second server."""

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import pytest

from relight.attempts.clock import stamp
from relight.attempts.loop import run
from relight.hosts.nodes import Nodes
from relight.hosts.values import LaunchOrder
from relight.journal.journal import Journal
from relight.testing import Act
from relight.testing.faults import FaultyHost, Fuse, KilledError
from relight.words.attempt import Record
from relight.words.playbook import Playbook
from tests.attempts.conftest import book, healthy
from tests.attempts.test_kills import BreakableJournal, carried, tried, unreachable
from tests.attempts.test_loop import BACKEND
from tests.attempts.test_nodes import ATTENTION, GLOO, KILLED, Pair, follower, goes, pair

__all__ = ["pair"]
EVERY = int(os.environ.get("RELIGHT_SOAK_SHARE", "1"))
CASES: dict[str, tuple[Playbook, Callable[[LaunchOrder], Act]]] = {
    "healthy": (book(), goes(follower(), first=healthy())),
    "a follower crashes first": (
        book(levers=(ATTENTION,)),
        goes(Act(BACKEND, exit=KILLED, ends=1.0), first=Act("", later=((1.4, GLOO),), exit=KILLED, ends=1.6)),
    ),
}


@dataclass
class Killing:
    """One run of a case, broken off at one point."""

    pair: Pair
    case: str
    fault: Callable[[], BaseException] = KilledError

    def carry(self, at: str) -> tuple[Any, Fuse]:
        """Run, be broken off at point `at`, go on, and return what came of it."""
        playbook, _ = CASES[self.case]
        self.pair.scripted(self._alone)
        fuse = Fuse(at, self.fault)

        def create() -> Journal:
            state, now = self.pair.state / (at.replace(" ", "-") or "whole"), self.pair.clock.now()
            return BreakableJournal.create(state, playbook=playbook, specs=self.pair.specs, started=stamp(now))

        return self._outcome(carried(fuse, create, self._run)), fuse

    def _run(self, journal: Journal, fuse: Fuse) -> Record:
        order = self.pair.ordered(CASES[self.case][0])
        faulty: list[Any] = [FaultyHost(host, fuse) for host in self.pair.hosts]
        with closing(Nodes(faulty)) as host:
            return run(order, host, journal, self.pair.knowledge, clock=self.pair.clock, emit=lambda _: None)

    def _alone(self, order: LaunchOrder) -> Act:
        """Play a launch; nothing of an earlier attempt may be alive then."""
        number = order.attempt_id.removesuffix("-node1")
        alive = [p.ours for h in self.pair.hosts for p in h.processes() if p.ours]
        assert {a.removesuffix("-node1") for a in alive if a} <= {number}, f"{order.attempt_id} beside {alive}"
        return CASES[self.case][1](order)

    def _outcome(self, record: Record) -> Any:
        return (
            record.state,
            [a.outcome for a in record.attempts],
            [[o.argv for o in host.orders] for host in self.pair.hosts],
            sorted(name.replace(record.run, "") for name in self.pair.alive()),
            [host.locks for host in self.pair.hosts],
            [[replace(n, ended=None, exit=None) for n in a.nodes] for a in record.attempts],
        )


def check(case: str, pair: Pair, share: int, fault: Callable[[], BaseException] = KilledError) -> int:
    killing = Killing(pair, case, fault)
    undisturbed, fuse = killing.carry("")
    chosen = tried(tuple(dict.fromkeys(fuse.points)), share)
    ends = {at: killing.carry(at)[0] for at in chosen}
    assert {at: end for at, end in ends.items() if end != undisturbed} == {}, undisturbed
    return len(chosen)


@pytest.mark.parametrize("case", CASES)
def test_wherever_the_controller_is_killed_both_nodes_end_the_same(case: str, pair: Pair) -> None:
    assert check(case, pair, share=60) > 2


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("fault", [KilledError, unreachable], ids=["kill", "link"])
@pytest.mark.parametrize("case", CASES)
def test_every_point_of_a_run_over_two_nodes(
    case: str,
    fault: Callable[[], BaseException],
    pair: Pair,
) -> None:
    print(f"{case}: {check(case, pair, EVERY, fault)} points")  # noqa: T201  a soak run prints its figure
