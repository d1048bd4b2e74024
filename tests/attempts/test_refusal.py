"""What the host's own validation says, read like a log."""

from collections.abc import Sequence

from relight.attempts.refusal import refusal
from relight.hosts.values import Validation
from relight.words.attempt import Attempt
from relight.words.diagnosis import Frame
from relight.words.knowledge import Knowledge
from relight.words.settings import Settings
from relight.words.step import Answer
from tests.attempts.conftest import PORT, Bench, book, healthy


def test_a_refusal_of_several_lines_is_named_like_a_crash(knowledge: Knowledge) -> None:
    frames = (Frame("/opt/e/sglang/srt/configs/model_config.py", 15, "get_config"),)
    message = "org/m is not a local folder and is not a valid model identifier listed on 'hub'\nPass a token if it is."
    answer = Answer(passed=False, type="OSError", message=message, frames=frames)
    attempt = Attempt(1, "validate", Settings({"model-path": "org/m"}))

    found = refusal(attempt, answer, knowledge, rung="validate", parser=None, because="", sources={})

    assert found.cause
    assert (found.cause.kind, found.action) == ("model.not_found", "person")


def test_a_model_that_is_not_there_is_what_is_missing_whatever_validation_makes_of_it(bench: Bench) -> None:
    """Without the folder the engine's validation speaks of a broken config.json."""

    def refusing(candidates: Sequence[Settings]) -> Validation:
        return Validation(
            tuple(Answer(passed=False, type="OSError", message="config.json is broken") for _ in candidates)
        )

    bench.scripted(lambda _: healthy()).validator = refusing
    record = bench.run(book(flags={"model-path": "/srv/models/absent", "port": PORT}))

    cause = record.attempts[0].diagnosis.cause if record.attempts[0].diagnosis else None
    assert (record.state, [a.launched for a in record.attempts]) == ("person", [False])
    assert cause is not None
    assert (cause.kind, cause.text) == ("model.not_found", "there is no /srv/models/absent on box")
