"""What is believed only so far: failures named wrongly, and failures that should have passed by themselves."""

from dataclasses import replace

import pytest

from relight.planning.bounds import Known, between, indifferent
from relight.planning.ground import ground_of
from relight.words.attempt import Term
from relight.words.diagnosis import Diagnosis
from relight.words.settings import Repair
from relight.words.step import Candidate, Clean, Exhausted, Launch, Person
from tests.planning.situations import WORLD, attempt, cause, diagnosis, launch, lever, plan, playbook, played, variant

SPEC = lever("spec", variant({"speculative-algorithm": "NEXTN"}), "off", keep=3)
COMM = lever("comm", variant({"enable-mscclpp": True}), "off")
SYMM = lever("symm", variant({"enable-torch-symm-mem": True}), "off")
BOOK = playbook(SPEC, COMM, SYMM)


def test_a_failure_blamed_on_what_nobody_gave_does_not_prove_that_nothing_works() -> None:
    def engine(candidate: Candidate) -> Diagnosis | None:
        works = candidate.choice == {"spec": 1, "comm": None, "symm": None}
        return None if works else diagnosis(cause("comm.transfer", blames=("kv-cache-dtype",), confidence=0.95))

    attempts, _ = played(BOOK, engine)

    assert attempts[-1].outcome == "healthy"


def test_leftovers_that_are_not_ours_need_a_person_after_two_tries() -> None:
    found = diagnosis(cause("oom.gpu.other_process"), action="clean")
    failed = attempt(launch(BOOK), "crashed", found)

    assert isinstance(plan(BOOK, failed).step, Clean)
    assert isinstance(plan(BOOK, failed, failed, world=replace(WORLD, settled=2)).step, Launch)
    assert isinstance(plan(BOOK, failed, failed, failed).step, Person)


def test_a_port_of_the_server_s_own_that_stays_taken_is_no_case_for_a_person() -> None:
    found = diagnosis(cause("comm.port_in_use", blames=("port",)), action="again")
    failed = attempt(launch(BOOK), "crashed", found)

    assert not isinstance(plan(BOOK, failed, failed, failed).step, Person | Exhausted)


def test_every_further_failure_of_memory_asks_for_more_room() -> None:
    ground = ground_of(playbook(flags={"mem-fraction-static": 0.9}), WORLD)
    first, second = Term("mem-fraction-static", ">=", 0.85), Term("mem-fraction-static", ">=", 0.83)

    once = between("mem-fraction-static", Known((first,)), ground)
    twice = between("mem-fraction-static", Known((first, second)), ground)

    assert once
    assert twice
    assert (once.set, twice.set) == ({"mem-fraction-static": 0.84}, {"mem-fraction-static": 0.8})


def test_what_the_sums_of_one_failure_proposed_is_taken_for_all_where_it_keeps_to_every_bound() -> None:
    ground = ground_of(playbook(flags={"mem-fraction-static": 0.9}), WORLD)
    limits = (Term("mem-fraction-static", ">=", 0.85), Term("mem-fraction-static", ">=", 0.83))
    near = Repair(set={"mem-fraction-static": 0.845}, why="the first sums", origin="memory", cost=1.1)
    enough = Repair(set={"mem-fraction-static": 0.825}, why="the second sums", origin="memory", cost=1.5)

    made_up = between("mem-fraction-static", Known(limits, (near,)), ground)

    assert between("mem-fraction-static", Known(limits, (near, enough), (near, enough)), ground) == enough
    assert made_up
    assert made_up.cost == pytest.approx(0.9 * near.cost)


def test_where_a_kind_came_again_its_own_sums_are_not_enough() -> None:
    ground = ground_of(playbook(flags={"mem-fraction-static": 0.9}), WORLD)
    limits = (Term("mem-fraction-static", ">=", 0.85), Term("mem-fraction-static", ">=", 0.83))
    enough = Repair(set={"mem-fraction-static": 0.825}, why="the second sums", origin="memory", cost=1.5)

    wide = between("mem-fraction-static", Known(limits, (enough,)), ground)

    assert wide
    assert wide.set == {"mem-fraction-static": 0.8}
    assert wide.cost < enough.cost


def test_sums_that_fell_short_before_are_followed_only_where_they_ask_for_more_than_is_made_up() -> None:
    ground = ground_of(playbook(flags={"mem-fraction-static": 0.9}), WORLD)
    limits = (Term("mem-fraction-static", ">=", 0.85), Term("mem-fraction-static", ">=", 0.83))
    far = Repair(set={"mem-fraction-static": 0.77}, why="the second sums", origin="memory", cost=2.0)

    assert between("mem-fraction-static", Known(limits, (far,)), ground) == far


def test_between_two_bounds_no_more_of_the_pool_is_given_up_than_what_fell_short_asks_for() -> None:
    ground = ground_of(playbook(flags={"mem-fraction-static": 0.9}), WORLD)

    def inside(low: float, high: float) -> object:
        limits = (Term("mem-fraction-static", "<=", low), Term("mem-fraction-static", ">=", high))
        found = between("mem-fraction-static", Known(limits), ground)
        return found and found.set["mem-fraction-static"]

    assert inside(0.6, 0.85) == 0.84
    assert inside(0.84, 0.85) == 0.845
    assert inside(0.85, 0.84) is None


@pytest.mark.parametrize(
    ("values", "seen", "same"),
    [
        ({None, 2}, {None, 16, 4}, True),
        ({24, 1}, {128, 32}, True),
        ({16, 2}, {16, 8}, False),
        ({128, 64}, {32, 8}, False),
        ({True, 2}, {16, 4}, False),
    ],
)
def test_a_number_that_fell_far_without_a_difference_is_not_lowered_on(
    values: set[object], seen: set[object], same: bool
) -> None:
    assert indifferent(values, seen) == same


def test_what_several_unexplained_failures_have_in_common_is_left_by_the_repair_that_was_proposed() -> None:
    away = Repair(unset=("kv-cache-dtype",), why="the cache may be wrong", origin="signature", cost=3.0)
    book = playbook(SPEC, COMM, SYMM, flags={"kv-cache-dtype": "fp8_e4m3", "attention-backend": "triton"})

    def engine(candidate: Candidate) -> Diagnosis | None:
        if candidate.settings.flags.get("kv-cache-dtype", "auto") == "auto":
            return None
        blames = ("kv-cache-dtype", "speculative-algorithm", "attention-backend")
        return diagnosis(cause("numerics.garbage", blames=blames, fingerprint="garbage", confidence=0.7), away)

    attempts, _ = played(book, engine)

    assert attempts[-1].choice == {"spec": 1, "comm": 1, "symm": 1}
