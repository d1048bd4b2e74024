from dataclasses import replace

from relight.cli.screen_history import usual
from relight.words.attempt import Attempt, Phase, Record
from relight.words.settings import Settings


def start(n: int, load: int, capture: int) -> Attempt:
    phases = (
        Phase("load_weights", "2026-11-29T08:00:00Z", f"2026-11-29T08:00:{load:02}Z"),
        Phase("capture", "2026-11-29T09:00:00Z", f"2026-11-29T09:00:{capture:02}Z"),
    )
    return Attempt(n, "real", Settings(), phases=phases, outcome="healthy")


def run(*attempts: Attempt) -> Record:
    return Record("r", "f", "qwen", "rtx8", ("rtx8",), attempts=attempts)


def test_each_phase_takes_the_median_of_the_healthy_launches() -> None:
    records = [run(start(1, 10, 5)), run(start(1, 20, 6)), run(start(1, 50, 7))]

    assert usual(records, playbook="qwen", host="rtx8") == (("load_weights", 20.0), ("capture", 6.0))


def test_failed_launches_and_other_runs_are_no_history() -> None:
    failed = replace(start(1, 10, 5), outcome="crashed")

    assert usual([run(failed)], playbook="qwen", host="rtx8") == ()
    assert usual([run(start(1, 10, 5))], playbook="other", host="rtx8") == ()
    assert usual([run(start(1, 10, 5))], playbook="qwen", host="lab") == ()
