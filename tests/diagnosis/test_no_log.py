"""No failure is found in what is no log; a log that ends inside a traceback is no healthy one."""

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.logs.lines import split
from relight.words.diagnosis import NOT_THE_ENGINES, Diagnosis

KNOWLEDGE = load_knowledge()
AT = "[2026-03-01 10:00:00"
SITE = "/opt/venv/lib/python3.11/site-packages"
READY = [f"{AT}] server_args=ServerArgs(model_path='m')", f"{AT}] The server is fired up and ready to roll!"]
CUT = [
    f"{AT} TP2] Scheduler hit an exception: Traceback (most recent call last):",
    f'  File "{SITE}/sglang/srt/managers/scheduler.py", line 1893, in stash_chunked_request',
]


def found(*lines: str, running: bool = False) -> Diagnosis:
    return diagnose(split(["\n".join(lines).encode()]), KNOWLEDGE, name="log", running=running)


def test_settings_that_name_failures_are_no_failure() -> None:
    diagnosis = found("[flags]", "watchdog-timeout = 1200", 'any = ["CUDA out of memory"]', 'engine = "sglang"')

    assert (diagnosis.verdict, diagnosis.form, diagnosis.cause) == ("unknown", "TOML", None)


def test_the_log_of_another_program_is_told_as_such() -> None:
    diagnosis = found(
        *[f"nginx: worker {n} started" for n in range(8)], "Traceback (most recent call last):", "KeyError: 1"
    )

    assert (diagnosis.verdict, diagnosis.form) == ("unknown", NOT_THE_ENGINES)


@pytest.mark.parametrize("before", [READY, READY[:1], []])
def test_a_log_that_ends_inside_a_traceback_failed(before: list[str]) -> None:
    diagnosis = found(*before, *CUT)

    assert diagnosis.verdict == "failed"
    assert diagnosis.cause is not None
    assert (diagnosis.cause.kind, diagnosis.cause.line) == ("unknown", len(before) + 1)


def test_a_traceback_that_is_being_written_is_waited_for() -> None:
    assert found(*READY, *CUT, running=True).verdict == "healthy"


def test_a_traceback_that_was_survived_is_not_the_end() -> None:
    assert found(*READY, *CUT, f"{AT} TP2] Decode batch, #running-req: 1, #token: 9").verdict == "healthy"
