"""relight's own remarks stand behind the log of a server it stopped."""

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis.diagnose import diagnose
from relight.logs.lines import Line
from relight.words.knowledge import Knowledge

LOG = (
    "[2026-11-29 10:00:00] The server is fired up and ready to roll!",
    "[2026-11-29 10:00:04] SIGTERM received. signum=None frame=None. Draining requests and shutting down...",
    "[2026-11-29 10:00:05] Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[].",
)
SICK = 'relight: sick: numerics.garbage: plain "The capital of France is": language salad'


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return load_knowledge()


def test_a_server_stopped_for_its_answers_is_named_by_them(knowledge: Knowledge) -> None:
    log = [Line(i, 100 * i, text) for i, text in enumerate(LOG, start=1)]

    found = diagnose([*log, Line(4, -1, SICK)], knowledge, name="server.log")

    assert found.cause
    assert (found.cause.kind, found.cause.phase) == ("numerics.garbage", "serving")


def test_a_healthy_server_stopped_by_hand_is_healthy(knowledge: Knowledge) -> None:
    log = [Line(i, 100 * i, text) for i, text in enumerate(LOG, start=1)]

    assert diagnose(log, knowledge, name="server.log").verdict == "healthy"
