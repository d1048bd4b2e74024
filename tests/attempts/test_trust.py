"""What the log of a launch shows about the host's validation."""

import pytest

from relight.attempts.trust import known_outcome
from relight.words.attempt import Attempt, Record
from relight.words.diagnosis import Cause, Diagnosis, Frame, Traceback
from relight.words.settings import Settings


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("/e/sglang/srt/server_args.py", True),
        ("/e/sglang/srt/arg_groups/speculative_hook.py", True),
        ("/e/sglang/srt/entrypoints/http_server.py", False),
    ],
)
def test_an_early_failure_outside_validation_shows_nothing_about_it(file: str, shown: bool) -> None:
    raised = Traceback("ImportError", "No module named 'x'", (Frame("/e/launch.py", 1, "main"), Frame(file, 9, "f")))
    cause = Cause("env", "env.import", None, "x", 1, "x", None, "args", 1.0, "x")
    found = Diagnosis("server.log", "failed", cause=cause, traceback=raised)
    attempt = Attempt(1, "real", Settings({"tp-size": 2}), outcome="crashed", diagnosis=found)

    assert bool(known_outcome(Record("r", "/r", "p", "h", ("h",), attempts=(attempt,)))) is shown
