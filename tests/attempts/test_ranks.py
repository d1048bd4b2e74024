"""Dead and stopped ranks behind a live parent."""

import re

import pytest

from relight.attempts.life import patience_of
from relight.attempts.ranks import Ranks
from relight.words.host import HostProcess

PARENT = HostProcess(10, 1, 5, "S", "python -m sglang.launch_server")


def rank(n: int, state: str = "S") -> HostProcess:
    return HostProcess(11 + n, 10, 5, state, f"sglang::scheduler_TP{n}")


@pytest.fixture
def ranks() -> Ranks:
    ranks = Ranks(re.compile("sglang::scheduler"))
    ranks.look(0.0, (PARENT, rank(0), rank(1)))
    return ranks


@pytest.mark.parametrize("now", [(PARENT, rank(0)), (PARENT, rank(0), rank(1, "Z"))], ids=["gone", "zombie"])
def test_a_rank_that_died_is_named_once_it_has_had_its_time(ranks: Ranks, now: tuple[HostProcess, ...]) -> None:
    ranks.look(1.0, now)

    assert ranks.fault(15.0, after=20.0) == ""
    assert ranks.fault(21.0, after=20.0) == "a rank died and its parent did not notice: sglang::scheduler_TP1 (pid 12)"


def test_a_rank_that_died_before_the_first_look_is_named_too() -> None:
    ranks = Ranks(patience_of("sglang").ranks)
    zombie = HostProcess(12, 10, 5, "Z", "[sglang::schedul]")

    ranks.look(0.0, (PARENT, rank(0), zombie))
    ranks.look(5.0, (PARENT, rank(0), zombie))

    assert ranks.fault(21.0, after=20.0) == "a rank died and its parent did not notice: [sglang::schedul] (pid 12)"


def test_a_process_that_a_signal_stopped_is_named_and_forgotten_when_it_goes_on(ranks: Ranks) -> None:
    ranks.look(1.0, (PARENT, rank(0), rank(1, "T")))
    stopped = ranks.fault(30.0, after=20.0)
    ranks.look(31.0, (PARENT, rank(0), rank(1)))
    ranks.look(32.0, (PARENT, rank(0), rank(1, "T")))

    assert "sglang::scheduler_TP1 (pid 12)" in stopped
    assert ranks.fault(40.0, after=20.0) == ""


def test_the_parent_itself_may_be_the_one_that_is_stopped(ranks: Ranks) -> None:
    ranks.look(1.0, (HostProcess(10, 1, 5, "T", PARENT.command), rank(0), rank(1)))

    assert "python -m sglang.launch_server (pid 10)" in ranks.fault(1.0)


@pytest.mark.parametrize(
    "tree",
    [(), (PARENT, rank(0), rank(1, "t")), (PARENT, rank(0), rank(1, "D"))],
    ids=["no tree at all", "a tracer looks", "waits for a disk"],
)
def test_what_passes_by_itself_is_no_fault(ranks: Ranks, tree: tuple[HostProcess, ...]) -> None:
    ranks.look(1.0, tree)

    assert ranks.fault(600.0) == ""


@pytest.mark.parametrize("state", ["R", "Z"])
def test_what_a_rank_forks_is_no_rank(state: str) -> None:
    """Between fork and exec, and for as long as a worker of a pool lives, it bears the name of its rank."""
    ranks = Ranks(patience_of("sglang").ranks)
    controller = HostProcess(11, 10, 5, "S", "sglang::data_parallel_controller")
    below = HostProcess(12, 11, 5, "S", "sglang::scheduler_DP0_TP0")
    forked = HostProcess(40, 12, 9, state, "[sglang::schedul]" if state == "Z" else below.command)

    ranks.look(0.0, (PARENT, controller, below, forked))
    ranks.look(1.0, (PARENT, controller, below))
    none = ranks.fault(600.0)
    ranks.look(2.0, (PARENT, controller))

    assert none == ""
    assert "sglang::scheduler_DP0_TP0 (pid 12)" in ranks.fault(600.0)


def test_helpers_come_and_go(ranks: Ranks) -> None:
    ranks.look(1.0, (PARENT, rank(0), rank(1), HostProcess(40, 11, 9, "R", "/usr/local/cuda/bin/cicc")))
    ranks.look(2.0, (PARENT, rank(0), rank(1)))

    assert ranks.fault(600.0) == ""


def test_of_many_dead_ranks_the_first_few_are_named(ranks: Ranks) -> None:
    ranks.look(1.0, (PARENT, *map(rank, range(8))))
    ranks.look(2.0, (PARENT,))

    assert ranks.fault(3.0).endswith("sglang::scheduler_TP3 (pid 14) and 4 more")
