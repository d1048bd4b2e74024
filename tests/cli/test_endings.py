"""What a run says as it ends, and what its screen knows from the runs before it."""

import getpass
import os
from dataclasses import replace
from pathlib import Path

import pytest

from relight.cli.listeners import expected, used
from relight.cli.main import name_user
from relight.cli.options import Common
from relight.cli.work import ended
from relight.words.attempt import Attempt, Incident, Phase, Record
from relight.words.settings import Settings

RUN = Record(
    "20261129-0800-qwen-abcd", "runs/r1", "qwen", "rtx8", ("rtx8",), environment={"options": {"state": ["s d"]}}
)


def at(minute: int) -> str:
    return f"2026-11-29T08:{minute:02}:00.000Z"


def attempt(*phases: tuple[str, int, int], outcome: str = "healthy") -> Attempt:
    seen = tuple(Phase(name, at(began), at(over)) for name, began, over in phases)
    return Attempt(1, "real", Settings(), phases=seen, outcome=outcome, started=at(0), ended=at(40))  # type: ignore[arg-type]


def test_a_quiet_run_that_fails_says_why_in_one_line_and_prints_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    status = ended(Common(quiet=True), replace(RUN, state="person", reason="the disk is full."), None)

    said = capsys.readouterr()
    assert (status, said.out) == (5, "")
    assert said.err == f"relight: person: the disk is full; see `relight report {RUN.run} --state 's d'`\n"


def test_a_user_who_is_only_a_number_has_a_name_and_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME", "HOME"):
        monkeypatch.setenv(name, "kept")
        monkeypatch.delenv(name)
    monkeypatch.setattr(os, "getuid", lambda: 2_000_000_017)

    name_user()

    assert (getpass.getuser(), str(Path.home())) == ("2000000017", "/")


def test_the_command_that_goes_on_with_an_interrupted_run_names_its_state_folder(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ended(Common(), replace(RUN, state="interrupted"), KeyboardInterrupt())

    assert f"`relight retry --resume {RUN.run} --state 's d'`" in capsys.readouterr().err


def test_history_holds_the_time_from_phase_to_phase_where_two_models_overlap() -> None:
    start = attempt(("load_weights", 0, 25), ("pools", 10, 26), ("capture", 12, 30), ("serving", 30, 32))

    found = expected(RUN, [replace(RUN, attempts=(start,))])

    assert found == {"load_weights": 600, "pools": 120, "capture": 1080, "serving": 120}


def test_history_leaves_out_what_is_done_once() -> None:
    start = attempt(("init_dist", 0, 1), ("download", 1, 21), ("load_weights", 21, 25), ("serving", 25, 26))

    assert expected(RUN, [replace(RUN, attempts=(start,))]) == {"init_dist": 60, "load_weights": 240, "serving": 60}


def test_another_playbook_or_host_or_a_failed_start_is_no_history() -> None:
    failed = attempt(("load_weights", 0, 25), outcome="crashed")
    fine = attempt(("load_weights", 0, 25))
    others = [
        replace(RUN, attempts=(failed,)),
        replace(RUN, playbook="other", attempts=(fine,)),
        replace(RUN, hosts=("a", "b"), attempts=(fine,)),
    ]

    assert expected(RUN, others) == {}


def test_a_run_that_goes_on_has_used_the_time_of_its_attempts_but_not_that_of_a_healthy_server() -> None:
    kept = replace(RUN, attempts=(attempt(),), incidents=(Incident(1, at(40), "died", 1800.0),))

    assert used(kept) == 600
