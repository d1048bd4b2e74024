"""Which node failed first, from what each shows."""

from datetime import UTC, datetime

import pytest

from relight.attempts.first import PEER, Evidence, failed_first, moment_of
from relight.logs.lines import Line

AT = datetime(2026, 11, 29, 10, 0, tzinfo=UTC).timestamp()
CASES = {
    "the earlier of two causes": (
        [Evidence(0, "oom.gpu.weights", AT + 9), Evidence(1, "assertion.model", AT + 3)], 1,
    ),
    "a peer's death is never the first": ([Evidence(0, PEER, AT), Evidence(1, "kernel.gemm", AT + 60)], 1),
    "a node that died without a word, before the other saw its connection break": (
        [Evidence(0, "comm.nccl", AT, AT + 1), Evidence(1, "", None, AT + 2)], 1,
    ),
    "a broken connection long before another failure": (
        [Evidence(0, "comm.nccl", AT, AT + 1), Evidence(1, "process.killed", None, AT + 60)], 0,
    ),
    "of one second the cause of its own": (
        [Evidence(0, "process.killed", AT), Evidence(1, "assertion.args", AT + 1)], 1,
    ),
    "what relight ended did not fail": ([Evidence(0, "", None, AT, stopped=True), Evidence(1, "", None, AT + 5)], 1),
    "a silence that relight ended did not fail": (
        [Evidence(0, "hang.startup", AT, AT, stopped=True), Evidence(1, "process.killed", None, AT + 5)], 1,
    ),
    "a cause in a log that relight ended counts": (
        [Evidence(0, "oom.gpu.weights", AT, AT + 9, stopped=True), Evidence(1, PEER, AT + 1, AT + 2)], 0,
    ),
    "all ended by relight: the first node speaks": (
        [Evidence(0, "hang.startup", None, AT, stopped=True), Evidence(1, "", None, AT, stopped=True)], 0,
    ),
    "nothing is known": ([Evidence(0), Evidence(1)], 0),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_node_that_failed_first_is_found(case: str) -> None:
    evidence, first = CASES[case]

    assert failed_first(evidence) == first
    assert failed_first(list(reversed(evidence))) == first


def lines(*texts: str) -> tuple[Line, ...]:
    return tuple(Line(n, 0, text) for n, text in enumerate(texts, start=1))


@pytest.mark.parametrize("hours", [-9.5, -1, 0, 5.75, 13])
def test_the_moment_of_a_line_is_known_in_any_time_zone(hours: float) -> None:
    there = datetime.fromtimestamp(AT + hours * 3600, UTC)
    log = lines(
        "loading",
        f"[{there:%Y-%m-%d %H:%M:30} TP0] Load weight begin.",
        f"[{there:%Y-%m-%d %H:%M:45} TP0] Scheduler hit an exception",
        "RuntimeError: no",
        f"[{there:%Y-%m-%d %H:%M:59} TP0] later",
    )

    assert moment_of(log, 4, AT) == pytest.approx(AT + 45)


def test_a_log_without_times_tells_no_moment() -> None:
    assert moment_of(lines("a", "b"), 2, AT) is None
    assert moment_of(lines("[2026-11-29 10:00:00] a"), None, AT) is None
    assert moment_of(lines("[2026-11-29 10:00:00] a"), 1, None) is None
