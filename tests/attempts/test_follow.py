"""The stored copy of a log: what is copied, and what stays on the host."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from relight.attempts import examine
from relight.attempts.follow import Follower, left_on_host
from relight.journal.journal import Journal
from relight.testing import ManualClock
from relight.testing.stream import ScriptedLog
from relight.words.attempt import Exit
from relight.words.knowledge import Knowledge
from relight.words.playbook import Budget
from tests.attempts.conftest import Bench, book, crashed, healthy

LOG = b"".join(b"line %04d of what a server says\n" % n for n in range(1000))


def follower(path: Path, knowledge: Knowledge, *, skip_to: int = 0) -> Follower:
    clock = ManualClock()
    return Follower(path, knowledge, lambda at: ScriptedLog(lambda: LOG, clock, at), skip_to=skip_to)


def test_what_was_left_on_the_host_is_said_and_the_rest_goes_on_at_its_byte(
    tmp_path: Path, knowledge: Knowledge
) -> None:
    path = tmp_path / "a" / "server.log"
    with follower(path, knowledge) as first:
        first.drain(len(LOG) // 4)
    kept = path.read_bytes()
    assert LOG.startswith(kept)
    path.write_bytes(kept[:1000])

    with follower(path, knowledge, skip_to=20_000) as second:
        second.drain(len(LOG))
        assert second.offset == len(LOG)

    stored = path.read_bytes()
    assert stored == kept[:1000] + b"\nrelight: 19000 bytes of this log are on the host only\n" + LOG[20_000:]
    assert left_on_host(path) + len(stored) == len(LOG)
    with follower(path, knowledge) as third:
        assert third.offset == len(LOG)
    assert path.read_bytes() == stored


def test_nothing_is_left_where_nothing_lies_between(tmp_path: Path, knowledge: Knowledge) -> None:
    path = tmp_path / "server.log"
    with follower(path, knowledge, skip_to=-5) as whole:
        whole.drain(len(LOG))

    assert path.read_bytes() == LOG
    assert left_on_host(path) == 0


def test_of_a_long_healthy_life_only_the_end_is_copied(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "WINDOW", 200)
    chatter = tuple((100.0 + n, f"[2026-11-29 10:00:00 TP0] Decode batch {n:05d}\n") for n in range(400))
    life = replace(healthy(), later=(*healthy().later, *chatter), ends=600.0, exit=Exit(None, 9))
    lives = iter([life])
    record = bench.run(book(), lambda _: next(lives, healthy()))
    bench.host.clock.advance(1000.0)

    with Journal(bench.folder) as journal:
        again = bench.go_on(book(), journal)

    stored = (Path(again.folder) / again.attempts[0].log).read_text()
    assert record.state == again.state == "healthy"
    assert "bytes of this log are on the host only" in stored
    assert "Decode batch 00399" in stored
    assert "Decode batch 00100" not in stored
    assert len(stored) < 1000


def test_no_path_of_the_host_says_where_a_file_is_written(bench: Bench, tmp_path: Path) -> None:
    host: Any = bench.scripted(lambda _: crashed("Traceback (most recent call last):\nRuntimeError: lost\n"))
    asked = host.status
    outside = tmp_path / "outside"
    host.status = lambda attempt_id, **more: replace(asked(attempt_id, **more), log=f"../../../{outside.name}")
    before = set(tmp_path.iterdir())

    record = bench.run(book(budget=Budget(attempts=1)))

    assert record.attempts[0].log == "attempts/001/server.log"
    assert {p.name for p in set(tmp_path.iterdir()) - before} <= {"runs", "learned"}
    assert not outside.exists()


def test_everything_a_run_keeps_is_for_its_owner_only(bench: Bench) -> None:
    record = bench.run(book(), lambda _: healthy())

    kept = [Path(record.folder), *Path(record.folder).rglob("*")]
    assert {oct(p.stat().st_mode & 0o777) for p in kept if p.is_dir()} == {"0o700"}
    assert {oct(p.stat().st_mode & 0o777) for p in kept if p.is_file()} == {"0o600"}
    assert any(p.name == "server.log" for p in kept)
