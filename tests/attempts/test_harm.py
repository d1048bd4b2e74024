"""Faults of link, disk, clock and host in mid run: what is said, what is kept, what is left alone."""

import errno
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from relight.attempts.clock import epoch
from relight.hosts.values import HostError, LaunchOrder, NoAnswerError, Owner, Ran, Status, Stopped
from relight.journal import journal as journal_file
from relight.journal.files import append_line
from relight.journal.journal import Journal, events
from relight.testing import Act, ScriptedHost
from relight.testing.stream import ScriptedLog
from relight.words.attempt import Exit
from relight.words.errors import BusyError, RelightError, UnreachableError
from relight.words.host import Gpu, HostProcess
from relight.words.playbook import Budget, Health, Variant
from tests.attempts.conftest import PORT, Bench, book, crashed, healthy, lever
from tests.attempts.test_stacks import DUMP

SILENT = Act("[2026-11-29 10:00:00 TP0] Init torch distributed begin.\n")


def live(host: ScriptedHost) -> list[str | None]:
    return [p.ours for p in host.processes() if p.ours]


def test_time_out_of_reach_does_not_count_in_the_budget(bench: Bench) -> None:
    host: Any = bench.scripted(lambda _: healthy())
    reached = host.launch

    def away(*_: LaunchOrder, **__: float) -> Any:
        host.launch = reached
        raise UnreachableError("no route to host", place="box")

    host.launch = away
    with pytest.raises(UnreachableError):
        bench.run(book(budget=Budget(deadline=600.0)))
    host.clock.advance(5000.0)

    with Journal(bench.folder) as journal:
        record = bench.go_on(book(budget=Budget(deadline=600.0)), journal)

    assert record.state == "healthy"
    assert record.unreachable_seconds == pytest.approx(5000.0, abs=60.0)


@pytest.mark.parametrize("seconds", [60.0, 1200.0])
def test_a_host_whose_link_is_lost_in_mid_run_is_waited_for(bench: Bench, seconds: float) -> None:
    host: Any = bench.scripted(lambda _: healthy())
    reached, connected, began = host.status, host.connect, host.clock.monotonic()

    def away(question: Any) -> Any:
        def ask(*words: Any, **more: Any) -> Any:
            if host.played and host.clock.monotonic() - began < seconds:
                raise lost("Error reading SSH protocol banner")
            return question(*words, **more)

        return ask

    host.status, host.connect = away(reached), away(connected)
    record = bench.run(book(budget=Budget(deadline=50.0)))

    assert (record.state, len(record.attempts), len(host.orders)) == ("healthy", 1, 1)
    assert record.unreachable_seconds == pytest.approx(seconds, abs=60.0)
    assert [e for e in bench.events if "out of reach" in str(e.data.get("busy"))]


def test_cards_that_another_run_took_while_the_host_was_away_get_no_second_server(bench: Bench) -> None:
    host: Any = bench.scripted(lambda _: healthy())
    launch = host.launch
    failed: list[LaunchOrder] = []

    def away_once(order: LaunchOrder, **more: Any) -> Any:
        if not failed:
            failed.append(order)
            host.locks = dict.fromkeys(host.locks, Owner("another", "bob", "desk", 2))
            raise lost("no answer in time")
        return launch(order, **more)

    host.launch = away_once
    with pytest.raises(BusyError, match="another"):
        bench.run(book())

    assert host.orders == ()


@pytest.mark.parametrize(("mode", "state"), [("retry", "exhausted"), ("deploy", "failed")])
def test_a_verdict_stands_where_the_host_holds_memory_after_the_last_launch(
    bench: Bench, mode: str, state: str
) -> None:
    host: Any = bench.scripted(lambda _: healthy())

    def play(_: LaunchOrder) -> Act:
        host.cards = (Gpu(0, "card", 96_000, 30_000),)
        return crashed("ValueError: nothing anybody knows\n")

    host.play, host.cards, bench.order = play, (Gpu(0, "card", 96_000, 500),), {"mode": mode}
    record = bench.run(book())

    assert (record.state, len(record.attempts)) == (state, 1)
    assert record.options
    said = [str(e.data.get("why")) for e in bench.events if e.event == "stopped"]
    assert any("29500 MiB held by" in why for why in said)


def test_a_healthy_server_is_kept_where_the_link_is_lost_as_the_watch_begins(bench: Bench) -> None:
    host: Any = bench.scripted(lambda _: replace(healthy(), exit=Exit(None, 9), ends=600.0))
    lock, unlock, away = host.lock, host.unlock, []

    def lost_once(ask: Any) -> Any:
        def asked(owner: Owner, **more: Any) -> Any:
            if ask not in away and any(played.settled for played in host.played.values()):
                away.append(ask)
                raise lost("no answer in time")
            return ask(owner, **more)

        return asked

    host.lock, host.unlock, bench.order = lost_once(lock), lost_once(unlock), {"keep": True}
    record = bench.run(book(budget=Budget(attempts=2)))

    assert (record.state, len(record.incidents), len(away)) == ("budget", 2, 2)


@pytest.mark.parametrize("question", ["status", "list_dir", "listeners"])
def test_a_host_that_answers_too_late_once_costs_no_run(bench: Bench, question: str) -> None:
    """A disk that hangs for half a minute, a host at its limit: the server knows nothing of it."""
    host: Any = bench.scripted(lambda _: healthy())
    ask = getattr(host, question)
    late: list[str] = []

    def too_late(*words: Any, **more: Any) -> Any:
        if host.played and not late:
            late.append(question)
            host.clock.advance(20.0)
            raise NoAnswerError(f"no answer to '{question}' within 20 s", place="box")
        return ask(*words, **more)

    setattr(host, question, too_late)
    record = bench.run(book(flags={"model-path": "owner/model", "port": PORT}))

    assert (record.state, len(host.orders), late) == ("healthy", 1, [question])


def test_a_host_that_is_reached_and_never_answers_ends_the_run_after_half_an_hour(bench: Bench) -> None:
    host: Any = bench.scripted(lambda _: healthy())
    began = host.clock.monotonic()

    def too_late(*_: Any, **__: Any) -> Any:
        host.clock.advance(20.0)
        raise NoAnswerError("no answer to 'status' within 20 s", place="box")

    host.status = too_late
    with pytest.raises(NoAnswerError):
        bench.run(book())

    assert 1800.0 <= host.clock.monotonic() - began < 2000.0


def lost(text: str) -> UnreachableError:
    fault = UnreachableError(text, place="box")
    fault.passing = True
    return fault


def test_time_waited_for_others_does_not_count_in_the_budget(bench: Bench) -> None:
    host: Any = bench.scripted(lambda _: healthy() if host.played else crashed("ValueError: nothing anybody knows\n"))
    lock, began = host.lock, host.clock.monotonic()
    host.locks = {f"port {PORT}": Owner("another", "bob", "desk", 2)}

    def waited(owner: Owner, **more: Any) -> Any:
        host.locks = {} if host.clock.monotonic() - began > 36_000.0 else host.locks
        return lock(owner, **more)

    host.lock, bench.order = waited, {"wait": True}
    either = lever("either", Variant({"attention-backend": "triton"}), Variant({"attention-backend": "fa3"}))
    record = bench.run(book(levers=(either,), budget=Budget(deadline=28_800.0)))

    assert (record.state, len(record.attempts)) == ("healthy", 2)


def test_a_host_that_stays_away_is_unreachable_after_half_an_hour(bench: Bench) -> None:
    host: Any = bench.scripted(lambda _: healthy())

    def away(*_: Any, **__: Any) -> Any:
        raise lost("no answer in time")

    host.launch = away
    began, host.connect_once = host.clock.monotonic(), host.connect
    host.connect = lambda **more: away() if "launch" in host.asked or host.locks else host.connect_once(**more)

    with pytest.raises(UnreachableError):
        bench.run(book())

    assert 1800.0 <= host.clock.monotonic() - began < 2000.0


def test_a_link_that_is_away_in_mid_start_is_no_hang(bench: Bench) -> None:
    host: Any = bench.scripted(lambda _: replace(healthy(), later=((2000.0, healthy().later[0][1]),), listens=1999.0))

    class Broken(ScriptedLog):
        @property
        def down(self) -> float:
            return host.clock.monotonic() if host.clock.monotonic() < 1990.0 else 0.0

    host.follow = lambda name, offset: Broken(lambda: host.log_of(name), host.clock, offset)
    record = bench.run(book())

    assert [a.outcome for a in record.attempts] == ["healthy"]
    assert record.unreachable_seconds > 1900.0


@pytest.mark.parametrize("seconds", [-7200.0, 7200.0, 400_000.0])
def test_a_clock_that_jumps_in_mid_run_changes_nothing(bench: Bench, seconds: float) -> None:
    host: Any = bench.scripted(lambda _: healthy())
    launched = host.launch

    def jump(order: LaunchOrder, **_: float) -> Any:
        host.clock.jump(seconds)
        return launched(order)

    host.launch = jump
    record = bench.run(book())

    assert (record.state, len(record.attempts)) == ("healthy", 1)


def test_a_full_disk_here_is_said_and_the_server_is_left_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.scripted(lambda _: healthy())
    append = append_line

    def full(file: Any, text: str) -> None:
        if '"phase"' in text:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(file, text)

    monkeypatch.setattr(journal_file, "append_line", full)
    with pytest.raises(RelightError, match="journal cannot be written: No space left"):
        bench.run(book())
    monkeypatch.undo()

    assert len(live(bench.host)) == 1
    with Journal(bench.folder) as journal:
        assert bench.go_on(book(), journal).state == "healthy"
    assert len(bench.host.orders) == 1


def test_a_full_device_takes_no_half_a_line(tmp_path: Path) -> None:
    path = tmp_path / "full"
    path.symlink_to("/dev/full")

    with path.open("a") as file, pytest.raises(OSError, match="No space left"):
        append_line(file, "{}")


def test_a_log_that_somebody_truncated_is_named_in_the_record(bench: Bench) -> None:
    host: Any = bench.scripted(lambda _: healthy())

    class Cut(ScriptedLog):
        @property
        def fault(self) -> str:
            return "truncated to 0 bytes"

    host.follow = lambda name, offset: Cut(lambda: host.log_of(name), host.clock, offset)
    record = bench.run(book())

    assert "relight: log touched: truncated to 0 bytes" in record.attempts[0].judged


def test_a_reboot_in_mid_attempt_is_the_cause_that_is_named(bench: Bench) -> None:
    host: Any = bench.scripted(lambda _: SILENT)
    asked = host.status

    def rebooted(attempt_id: str, **_: float) -> Status:
        status: Status = asked(attempt_id)
        first = attempt_id.endswith(".1") and status.state == "running" and host.clock.monotonic() > 20
        return replace(status, state="ended", tree=(), reason="the host was rebooted") if first else status

    host.status = rebooted
    record = bench.run(book(budget=Budget(attempts=1)))

    found = record.attempts[0].diagnosis
    assert found
    assert found.cause
    assert found.cause.facts["event"] == "the host was rebooted"


def test_processes_that_nothing_can_end_need_a_person(bench: Bench) -> None:
    host: Any = bench.scripted(lambda _: crashed("Traceback (most recent call last):\nRuntimeError: lost\n"))
    stuck = HostProcess(9, 1, 9, "D", "sglang::scheduler_TP0", "tester", "x")
    host.stop = lambda attempt_id, **_: Stopped(attempt_id, (stuck,), killed=True, exit=Exit(None, 9))

    record = bench.run(book())

    assert record.state == "person"
    assert "sglang::scheduler_TP0 (pid 9, state D)" in record.reason
    assert [e.event for e in events(bench.folder)][-1] == "run_ended"


def test_the_stacks_of_a_hung_server_are_kept_and_named(bench: Bench) -> None:
    host: Any = bench.scripted(lambda _: SILENT)

    def command(argv: Sequence[str]) -> Ran:
        if argv[0] == "py-spy":
            return Ran(0, DUMP.format(line=7).encode(), b"")
        if argv[0] == "grep":
            return Ran(2, b"", b"")
        raise HostError("no such program", place="box")

    host.commands = command
    record = bench.run(book(budget=Budget(attempts=1)))

    first = record.attempts[0]
    assert first.outcome == "hung"
    assert "all_reduce (torch/distributed/distributed_c10d.py:2810)" in first.remarks[0]
    assert first.logs[1:] == ("attempts/001/hung.txt",)
    assert "run_scheduler_process" in (bench.folder / first.logs[1]).read_text()


def test_a_healthy_server_that_dies_while_nobody_watches_is_started_again(bench: Bench) -> None:
    dying = replace(healthy(), exit=Exit(None, 9), ends=900.0)
    launches: list[str] = []

    def play(order: LaunchOrder) -> Act:
        launches.append(order.attempt_id)
        return dying if len(launches) == 1 else healthy()

    record = bench.run(book(), play)
    assert record.state == "healthy"
    bench.host.clock.advance(1000.0)

    with Journal(bench.folder) as journal:
        again = bench.go_on(book(), journal)

    assert (again.state, len(again.attempts)) == ("healthy", 2)
    assert [i.attempt for i in again.incidents] == [1]
    assert again.attempts[0].diagnosis


def test_a_kept_server_that_dies_all_the_time_ends_the_run_within_the_budget_of_a_day(bench: Bench) -> None:
    bench.order = {"keep": True}
    dying = replace(healthy(), exit=Exit(None, 9), ends=600.0)

    record = bench.run(book(budget=Budget(attempts=4)), lambda _: dying)

    assert record.state == "budget"
    assert len(record.incidents) == 4
    pauses = [p for p in bench.host.clock.slept if p >= 10.0]
    assert pauses == sorted(pauses)


def test_a_kept_server_may_die_once_a_day_for_ever(bench: Bench) -> None:
    bench.order = {"keep": True}
    lives: list[float] = [90_000.0] * 3 + [60.0] * 50

    host: Any = bench.scripted(lambda _: replace(healthy(), exit=Exit(None, 9), ends=lives.pop(0)))
    host.limit = 1_000_000

    record = bench.run(book(budget=Budget(attempts=2, deadline=7200.0), health=Health(judge="off", soak=0.0)))

    assert record.state == "budget"
    assert len(record.incidents) > 3
    assert epoch(record.ended or "") - epoch(record.started) > 3 * 86_400
