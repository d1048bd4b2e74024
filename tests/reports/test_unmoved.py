"""What is said of one failure that came again and again, and of the launches that got as far as any."""

from dataclasses import replace

import pytest

from relight.reports.blocks import words
from relight.reports.tables import levers_table
from relight.reports.unmoved import unmoved
from relight.reports.verdict import verdict
from relight.words.attempt import Attempt, Phase, Record
from relight.words.diagnosis import Cause, Diagnosis, Frame, Traceback
from relight.words.settings import FlagValue, Settings

FRAME = Frame("/opt/lib/site-packages/acme/experts.py", 12, "run")


def failed(n: int, backend: str | None, *phases: str, frame: Frame | None = FRAME, mark: str = "a1") -> Attempt:
    cause = Cause("kernel", "kernel.x", None, mark, 3, "no kernel", None, None, 0.9, "no kernel", blames=("backend",))
    trace = Traceback("RuntimeError", "", (frame,)) if frame else None
    flags: dict[str, FlagValue] = {"tp-size": 8, **({"backend": backend} if backend else {})}
    seen = tuple(Phase(name, "") for name in phases)
    found = Diagnosis("log", "failed", cause=cause, traceback=trace)
    held = {"backend": backend} if backend else {}
    return Attempt(n, "real", Settings(flags), outcome="crashed", diagnosis=found, phases=seen, effective=held)


def run(*attempts: Attempt) -> Record:
    return Record("r", "f", "p", "h", ("h",), attempts=attempts, state="exhausted")


def test_one_place_that_failed_whatever_a_flag_said_is_named_with_the_values() -> None:
    told = unmoved(run(failed(1, "cutlass"), failed(2, "triton"), failed(3, None)))

    assert told == (
        "The same place in the code failed (`acme/experts.py:12` in `run`) in attempts 1 to 3, "
        "whatever `--backend` (cutlass, triton, not given) was; the engine says that it took each value."
    )


def test_different_places_are_not_called_one() -> None:
    other = Frame("/opt/acme/other.py", 7, "go")

    assert unmoved(run(failed(1, "a"), failed(2, "b", frame=other))).startswith("The same failure came in attempts")


@pytest.mark.parametrize("second", [failed(2, "b", mark="b2"), replace(failed(1, "a"), n=2)])
def test_nothing_is_said_of_another_failure_or_of_the_same_settings(second: Attempt) -> None:
    assert unmoved(run(failed(1, "a"), second)) == ""


@pytest.mark.parametrize(
    ("attempts", "said"),
    [
        ((failed(1, "a", "args", "pools"), failed(2, "b", "args", "pools")), "Both crashed in phase pools: "),
        (
            (failed(1, "a", "args"), failed(2, "b", "args", "pools")),
            "Attempt 2 got furthest and crashed in phase pools",
        ),
        (
            (failed(1, "a", "args"), failed(2, "b", "args", "pools"), failed(3, "c", "args", "pools")),
            "Attempts 2 and 3 got furthest and crashed in phase pools",
        ),
        ((failed(1, "a", "args"),), "The launch crashed in phase args"),
    ],
)
def test_a_launch_got_furthest_only_where_its_phases_show_it(attempts: tuple[Attempt, ...], said: str) -> None:
    assert said in words(verdict(run(*attempts)))


def test_a_lever_that_the_last_launch_took_is_told_so() -> None:
    last = replace(failed(2, "triton"), choice={"experts": 2})
    levers = {"levers": {"experts": ["--backend cutlass", "--backend triton", "off"]}}
    record = replace(run(replace(failed(1, "cutlass"), choice={"experts": 1}), last), environment=levers)

    table, other = levers_table(record), replace(last, effective={"backend": "auto"})
    renamed = levers_table(replace(record, attempts=(record.attempts[0], other)))

    assert table
    assert renamed
    assert [words(cell) for cell in table.rows[0]][-1] == "yes"
    assert [words(cell) for cell in renamed.rows[0]][-1] == "as auto"
