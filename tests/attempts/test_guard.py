"""Staying with a healthy server: what ends the watch, and what does not."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from relight.hosts.values import HttpAnswer, HttpRequest, LaunchOrder, Ran, Status
from relight.testing import Act
from relight.words.attempt import Exit, Record
from relight.words.errors import UnreachableError
from relight.words.host import HostProcess
from relight.words.playbook import Budget
from tests.attempts.conftest import Bench, book, generated, healthy, sound
from tests.attempts.test_stacks import DUMP

DAY = 86_400.0
ONE = book(budget=Budget(attempts=1))


@pytest.fixture
def kept(bench: Bench) -> Bench:
    """Return a bench whose runs stay with the healthy server."""
    bench.order = {"keep": True}
    return bench


def dying(seconds: float, answers: Callable[[HttpRequest], HttpAnswer] = sound) -> Act:
    return replace(healthy(), exit=Exit(None, 9), ends=seconds, answers=answers)


def with_ranks(host: Any, state: Callable[[float], str | None]) -> None:
    """Give every server two ranks; `state` is that of the second by the clock, None once it is gone."""
    asked = host.status

    def status(attempt_id: str, **_: float) -> Status:
        said: Status = asked(attempt_id)
        if not said.tree:
            return said
        second = state(host.clock.monotonic())
        ranks = [HostProcess(71, said.tree[0].pid, 1, "S", "sglang::scheduler_TP0")]
        ranks += [HostProcess(72, said.tree[0].pid, 1, second, "sglang::scheduler_TP1")] if second else []
        return replace(said, tree=(*said.tree, *ranks))

    host.status = status


@pytest.mark.parametrize(
    ("state", "said", "kind"),
    [
        (None, "a rank died and its parent did not notice: sglang::scheduler_TP1 (pid 72)", "process.killed"),
        ("Z", "a rank died and its parent did not notice: sglang::scheduler_TP1 (pid 72)", "process.killed"),
        ("T", "a process was stopped by a signal and does not go on: sglang::scheduler_TP1 (pid 72)", "hang.health"),
    ],
    ids=["gone", "zombie", "stopped"],
)
def test_a_lost_rank_of_a_kept_server_is_noticed_within_seconds(
    kept: Bench, state: str | None, said: str, kind: str
) -> None:
    host: Any = kept.scripted(lambda _: healthy())
    with_ranks(host, lambda now: state if now > 1000.0 else "S")

    record = kept.run(ONE)

    incident = record.incidents[0]
    assert incident.why == said
    assert 990.0 < incident.healthy < 1030.0
    assert cause(record).kind == kind


def test_a_lost_rank_of_a_start_is_noticed_within_seconds_too(bench: Bench) -> None:
    host: Any = bench.scripted(lambda _: Act("[2026-11-29 10:00:00] Load weight begin. avail mem=94.60 GB\n"))
    with_ranks(host, lambda now: "T" if now > 10.0 else "S")

    record = bench.run(ONE)

    assert record.attempts[0].outcome == "hung"
    assert host.clock.monotonic() < 60.0
    assert cause(record).kind == "hang.startup"


def test_a_rank_that_dies_while_sound_answers_still_come_is_not_healthy(bench: Bench) -> None:
    asked: list[HttpRequest] = []

    def answers(request: HttpRequest) -> HttpAnswer:
        asked.append(request)
        return sound(request)

    host: Any = bench.scripted(lambda _: replace(healthy(), answers=answers))
    with_ranks(host, lambda _: None if len(asked) > 12 else "S")

    record = bench.run(ONE)

    assert record.attempts[0].outcome == "hung"
    assert cause(record).kind == "process.killed"


def test_a_server_that_stops_answering_while_it_is_judged_is_hung_and_its_stacks_are_kept(bench: Bench) -> None:
    ready: list[bool] = []

    def answers(request: HttpRequest) -> HttpAnswer:
        if request.body:
            ready.append(True)
            return HttpAnswer(None, error="timeout", seconds=request.timeout)
        health_path = "/health" in request.url
        return HttpAnswer(503, seconds=20.0) if ready and health_path else sound(request)

    host: Any = bench.scripted(lambda _: replace(healthy(), answers=answers))
    host.commands = lambda argv: Ran(0, DUMP.format(line=7).encode() if argv[0] == "py-spy" else b"", b"")

    record = bench.run(ONE)

    first = record.attempts[0]
    assert (first.outcome, cause(record).kind) == ("hung", "hang.health")
    assert "all_reduce (torch/distributed/distributed_c10d.py:2810)" in first.remarks[0]
    assert first.logs[1:] == ("attempts/001/hung.txt",)
    assert len(ready) == 1


def test_what_was_only_stopped_is_launched_again_unchanged(bench: Bench) -> None:
    host: Any = bench.scripted(lambda _: replace(healthy(), later=((50.0, healthy().later[0][1]),), listens=50.0))
    with_ranks(host, lambda now: "T" if 10.0 < now < 45.0 else "S")

    record = bench.run(book())

    assert [a.outcome for a in record.attempts] == ["hung", "healthy"]
    assert record.attempts[1].changes == ()


def test_a_rank_that_is_stopped_for_a_moment_is_left_alone(kept: Bench) -> None:
    host: Any = kept.scripted(lambda _: dying(4000.0))
    with_ranks(host, lambda now: "T" if 1000.0 < now < 1012.0 else "S")

    assert [i.why for i in kept.run(ONE).incidents] == ["the server died (signal 9)"]


def test_a_server_that_begins_to_answer_nonsense_is_found_ill_and_started_again(kept: Bench) -> None:
    def answers(request: HttpRequest) -> HttpAnswer:
        wrong = len(kept.host.orders) == 1 and kept.host.clock.monotonic() > 3600.0
        return generated(request, "!", float("nan")) if wrong and request.body else sound(request)

    acts = iter([replace(healthy(), answers=answers), dying(50.0)])
    record = kept.run(book(budget=Budget(attempts=2)), lambda _: next(acts))

    assert "a log probability is not a finite number" in record.incidents[0].why
    assert record.incidents[0].healthy < 3600.0 + 700.0
    assert cause(record).kind == "numerics.nan"


@pytest.mark.parametrize("fault", ["timeout", "busy", "reset", "once"])
def test_what_is_not_a_wrong_answer_does_not_end_a_healthy_server(kept: Bench, fault: str) -> None:
    """Our time-outs, a server that is full, a cut connection, and one wrong answer that does not come again."""
    wrong: Iterator[bool] = iter([True] + [False] * 10_000)

    def answers(request: HttpRequest) -> HttpAnswer:
        if not request.body or kept.host.clock.monotonic() < 100.0:
            return sound(request)
        if fault == "once":
            return generated(request, "!", float("nan")) if next(wrong) else sound(request)
        said = {"timeout": (None, "timeout"), "busy": (503, ""), "reset": (None, "Connection reset by peer")}[fault]
        return HttpAnswer(said[0], error=said[1], seconds=1.0)

    record = kept.run(ONE, lambda _: dying(20_000.0, answers))

    assert [i.why for i in record.incidents] == ["the server died (signal 9)"]
    assert record.incidents[0].healthy > 19_000.0


def test_a_host_that_is_out_of_reach_for_hours_does_not_end_the_watch(kept: Bench) -> None:
    host: Any = kept.scripted(lambda _: dying(30_000.0))
    asked = host.status

    def status(attempt_id: str, **_: float) -> Status:
        if 5000.0 < host.clock.monotonic() < 20_000.0:
            raise UnreachableError("no route to host", place="box")
        return asked(attempt_id)  # type: ignore[no-any-return]

    host.status = status
    record = kept.run(ONE)

    assert [i.why for i in record.incidents] == ["the server died (signal 9)"]
    assert record.incidents[0].healthy > 29_000.0
    assert 14_000.0 < record.unreachable_seconds < 16_000.0


def test_a_host_that_is_gone_for_good_is_unreachable_in_the_end(kept: Bench) -> None:
    host: Any = kept.scripted(lambda _: healthy())
    asked = host.status

    def status(attempt_id: str, **_: float) -> Status:
        if host.clock.monotonic() > 5000.0:
            raise UnreachableError("no route to host", place="box")
        return asked(attempt_id)  # type: ignore[no-any-return]

    host.status = status
    with pytest.raises(UnreachableError):
        kept.run(ONE)

    assert json.loads((kept.folder / "record.json").read_text())["state"] == "unreachable"
    assert len(host.played) == 1


def test_a_quiet_day_is_one_line(kept: Bench) -> None:
    kept.scripted(lambda _: dying(3 * DAY + 100.0)).limit = 1_000_000
    kept.run(ONE)

    assert [e.data["text"] for e in kept.events if e.data.get("text") == "still healthy"] == ["still healthy"] * 3


def test_a_server_that_keeps_dying_pauses_longer_each_time_up_to_half_an_hour(kept: Bench) -> None:
    record = kept.run(book(budget=Budget(attempts=12)), lambda _: dying(600.0))

    pauses = [p for p in kept.host.clock.slept if p >= 10.0]
    assert (record.state, len(record.incidents)) == ("budget", 12)
    assert pauses == sorted(pauses)
    assert max(pauses) == 1800.0
    assert all(i.why for i in record.incidents)


def test_what_was_healthy_is_launched_again_before_anything_else_is_tried(kept: Bench) -> None:
    orders: list[Sequence[str]] = []

    def play(order: LaunchOrder) -> Act:
        orders.append(order.argv)
        return dying(900.0)

    record = kept.run(book(budget=Budget(attempts=2)), play)

    assert orders[0] == orders[1]
    assert len(record.incidents) == 2


def cause(record: Record) -> Any:
    found = record.attempts[0].diagnosis
    assert found
    assert found.cause
    return found.cause
