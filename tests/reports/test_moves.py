"""What a record says of the levers that moved, and of the launch that got furthest."""

from dataclasses import replace

import pytest

from relight.reports.moves import with_moves
from relight.reports.steps import steps
from relight.reports.verdict import furthest, verdict
from relight.words.attempt import Attempt, Outcome, Phase, Record
from relight.words.settings import Repair, Settings

ASKED = Settings({"tp-size": 8, "speculative-algorithm": "NEXTN"}, {"SPEC_V2": "1"})
WITHOUT = Settings({"tp-size": 8})


def record(*attempts: Attempt, asked: Settings | None = ASKED) -> Record:
    return Record("r", "f", "p", "h", ("h",), attempts=attempts, asked=asked)


def launch(n: int, *phases: str, outcome: Outcome | None = "crashed") -> Attempt:
    return Attempt(n, "real", ASKED, outcome=outcome, phases=tuple(Phase(name, "") for name in phases))


def test_a_lever_that_moved_is_a_change_like_any_other() -> None:
    first = Attempt(1, "real", ASKED, choice={"spec": 1})
    second = Attempt(2, "real", WITHOUT, choice={"spec": None})

    told = with_moves(record(first, second)).attempts

    assert told[0].changes == ()
    assert told[1].changes == (
        Repair(unset=("speculative-algorithm",), unset_env=("SPEC_V2",), why="lever spec off", origin="lever"),
    )


def test_what_a_repair_did_is_not_told_again_as_a_move() -> None:
    mended = Repair(unset=("speculative-algorithm",), why="it fails")
    second = Attempt(2, "real", Settings(WITHOUT.flags, ASKED.env), changes=(mended,), choice={"spec": 1})

    assert with_moves(record(Attempt(1, "real", ASKED, choice={"spec": 1}), second)).attempts[1].changes == (mended,)


def test_a_record_that_does_not_know_what_was_asked_for_stays_as_it_is() -> None:
    alone = record(Attempt(1, "real", WITHOUT, choice={"spec": None}), asked=None)

    assert with_moves(alone) == alone


def test_the_launch_that_got_furthest_reached_the_latest_phase_however_few_it_went_through() -> None:
    long, late = launch(1, "args", "download", "load_weights", "pools"), launch(2, "args", "load_weights", "capture")
    between = launch(3, "args", "load_weights", "pools", "capture", "warmup")

    sick = launch(1, "args", "pools", outcome="sick")

    assert furthest(record(long, late, between)) == [between]
    assert furthest(record(late, launch(1, "args", "download", "load_weights"))) == [late]
    assert furthest(record(sick, replace(long, n=2))) == [sick]


def test_all_launches_that_got_as_far_are_named() -> None:
    assert furthest(record(launch(1, "args"), launch(2, "args"))) == [launch(1, "args"), launch(2, "args")]
    assert furthest(record()) == []


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (None, "nothing has been launched yet"),
        (launch(2, outcome=None), "attempt 2 begins"),
        (launch(2, "args", "load_weights", outcome=None), "attempt 2 is in phase load weights"),
        (launch(2, "args"), "attempt 2 crashed, and the next step is being chosen"),
        (launch(2, "serving", outcome="healthy"), "attempt 2 was healthy, and the next step is being chosen"),
    ],
)
def test_a_run_that_goes_on_says_where_it_is(attempt: Attempt | None, said: str) -> None:
    running = replace(record(*(() if attempt is None else (attempt,))), state="running")

    assert said in "".join(str(part) for part in verdict(running))


def test_a_lever_whose_variant_a_repair_overwrites_moved_in_name_only() -> None:
    triton = Repair(set={"moe-runner-backend": "triton"}, why="it runs on every GPU", origin="signature")
    off = replace(launch(1), choice={"experts": None}, settings=Settings({"tp-size": 8}))
    same = replace(launch(2), choice={"experts": 1}, settings=Settings({"tp-size": 8, "moe-runner-backend": "triton"}))
    asked = replace(same, settings=Settings({"tp-size": 8, "moe-runner-backend": "cutlass"}))

    assert steps(record(off, replace(same, changes=(triton,))))[-1].moved == ()
    assert steps(record(off, asked))[-1].moved == ("experts from off to variant 1",)
