"""What the host's own validation says, read like a log."""

from relight.attempts.refusal import refusal
from relight.words.attempt import Attempt
from relight.words.diagnosis import Frame
from relight.words.knowledge import Knowledge
from relight.words.settings import Settings
from relight.words.step import Answer


def test_a_refusal_of_several_lines_is_named_like_a_crash(knowledge: Knowledge) -> None:
    frames = (Frame("/opt/e/sglang/srt/configs/model_config.py", 15, "get_config"),)
    message = "org/m is not a local folder and is not a valid model identifier listed on 'hub'\nPass a token if it is."
    answer = Answer(passed=False, type="OSError", message=message, frames=frames)
    attempt = Attempt(1, "validate", Settings({"model-path": "org/m"}))

    found = refusal(attempt, answer, knowledge, rung="validate", parser=None, because="", sources={})

    assert found.cause
    assert (found.cause.kind, found.action) == ("model.not_found", "person")
