"""Every byte of a log, once, whatever happens to the file meanwhile."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relight.hosts.agent.rolling import read_rolled, roll
from relight.hosts.remote import AgentHost
from relight.hosts.stream import BUFFER, FollowedLog

Start = Callable[..., str]
Until = Callable[..., Any]


def all_of(stream: FollowedLog, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := stream.read(10.0)):
        data += piece
    return data


def test_a_log_is_followed_to_its_end_and_equals_the_file(host: AgentHost, start: Start, until: Until) -> None:
    attempt = start("--lines", "20000")
    stream = host.follow(attempt, 0)
    status = until(lambda: (s := host.status(attempt)).state == "ended" and s)

    data = all_of(stream, status.log_size)

    assert data == Path(status.log).read_bytes()
    assert stream.offset == status.log_size
    assert stream.read(0.1) == b""
    assert (stream.down, stream.cuts, stream.fault) == (0.0, 0, "")
    stream.close()


def test_following_goes_on_at_the_byte_it_is_given(host: AgentHost, start: Start, until: Until) -> None:
    attempt = start("--lines", "500")
    status = until(lambda: (s := host.status(attempt)).state == "ended" and s)
    stream = host.follow(attempt, 1234)

    data = all_of(stream, status.log_size - 1234)

    assert data == Path(status.log).read_bytes()[1234:]
    stream.close()


def test_a_log_may_be_followed_before_its_server_is_launched(host: AgentHost, start: Start) -> None:
    stream = host.follow("run-1", 0)
    assert stream.read(0.3) == b""

    assert start("--lines", "3") == "run-1"

    assert all_of(stream, 30).startswith(b"line 000000")
    stream.close()


def test_a_truncated_log_is_told_and_followed_from_its_new_beginning(
    host: AgentHost, start: Start, until: Until
) -> None:
    attempt = start("--lines", "100", "--stay")
    until(lambda: b"ready" in host.read_log(attempt, 0, 1 << 16))
    path = Path(host.status(attempt).log)
    stream = host.follow(attempt, 0)
    all_of(stream, path.stat().st_size)

    os.truncate(path, 0)
    with path.open("ab") as file:
        file.write(b"after\n")

    assert all_of(stream, 6) == b"after\n"
    assert "truncated" in stream.fault
    stream.close()


def test_a_log_that_was_truncated_and_grew_past_our_place_meanwhile_is_another(
    host: AgentHost, start: Start, until: Until
) -> None:
    attempt = start("--lines", "100", "--stay")
    until(lambda: b"ready" in host.read_log(attempt, 0, 1 << 16))
    path = Path(host.status(attempt).log)
    old, new = path.read_bytes(), b"".join(b"another line %d\n" % n for n in range(1000))
    stream = host.follow(attempt, 0)
    all_of(stream, len(old))
    os.truncate(path, 0)
    with path.open("ab") as file:
        file.write(new)

    assert all_of(stream, len(new)) == new
    assert "truncated" in stream.fault
    stream.close()
    again = host._log(attempt, len(old), old[-64:])
    assert again.receive(5.0) == ({"fault": f"somebody truncated the log on the host at byte {len(old)}", "at": 0}, b"")
    again.close()


def test_a_log_that_somebody_moved_is_read_where_the_server_writes(host: AgentHost, start: Start, until: Until) -> None:
    attempt = start("--lines", "100", "--stay")
    until(lambda: b"ready" in host.read_log(attempt, 0, 1 << 16))
    path = Path(host.status(attempt).log)
    path.rename(path.with_suffix(".old"))
    path.write_bytes(b"somebody else's\n")

    stream = host.follow(attempt, 0)

    assert all_of(stream, 100).startswith(b"line 000000")
    assert "moved" in stream.fault
    stream.close()


def test_a_healthy_servers_log_is_rolled_and_still_read_byte_for_byte(
    host: AgentHost, start: Start, until: Until
) -> None:
    attempt = start("--lines", "50000", "--stay")
    until(lambda: host.read_log(attempt, 0, 8 << 20).endswith(b"ready\n"))
    path = Path(host.status(attempt).log)
    before = path.read_bytes()

    host.settle(attempt, roll_bytes=1 << 20, keep=20)
    until((path.parent / f"server.log.{1 << 20:016d}").exists)

    assert host.status(attempt).log_size == len(before)
    stream = host.follow(attempt, 0)
    assert all_of(stream, len(before)) == before
    stream.close()
    assert host.read_log(attempt, 1000, 2000) == before[1000:3000]
    assert path.stat().st_blocks * 512 < len(before) - (1 << 20)


@pytest.fixture
def log(tmp_path: Path) -> int:
    return os.open(tmp_path / "server.log", os.O_RDWR | os.O_CREAT | os.O_APPEND)


def test_only_the_newest_rolled_pieces_are_kept_and_the_gap_is_known(tmp_path: Path, log: int) -> None:
    data = bytes(range(256)) * 4096
    os.write(log, data)

    roll(str(tmp_path), log, 1 << 16, 3)

    kept = sorted(p.name for p in tmp_path.glob("server.log.*"))
    assert len(kept) == 3
    first = int(kept[0].rpartition(".")[2])
    assert read_rolled(str(tmp_path), log, 0, 100) == (first, data[first : first + 100])
    assert read_rolled(str(tmp_path), log, first + 7, 100) == (first + 7, data[first + 7 : first + 107])


@settings(deadline=None, max_examples=30)  # it writes to the disk
@given(cuts=st.lists(st.integers(1, 300_000), max_size=6), piece=st.sampled_from([4096, 65536]))
def test_rolling_loses_and_doubles_no_byte(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], piece: int
) -> None:
    folder = tmp_path_factory.mktemp("roll")
    fd = os.open(folder / "server.log", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    written = b""
    for n, size in enumerate(cuts):
        text = bytes([n + 1]) * size
        os.write(fd, text)
        written += text
        roll(str(folder), fd, piece, 10_000)

    found, at = b"", 0
    while at < len(written):
        start, data = read_rolled(str(folder), fd, at, 50_000)
        assert start == at
        found += data
        at += len(data)

    os.close(fd)
    assert found == written


def test_a_reader_that_does_not_read_makes_the_host_wait_and_loses_nothing(
    host: AgentHost, start: Start, until: Until
) -> None:
    attempt = start("--lines", "100000")
    stream = host.follow(attempt, 0)
    status = until(lambda: (s := host.status(attempt)).state == "ended" and s)
    until(lambda: stream._held > BUFFER)

    first = stream.read(1.0)

    assert BUFFER < len(first) < BUFFER + (64 << 10) < status.log_size
    assert first + all_of(stream, status.log_size - len(first)) == Path(status.log).read_bytes()
    stream.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_log_that_a_fault_of_ours_ended_is_down_and_not_quiet(until: Until) -> None:
    class Broken:
        def receive(self, _: float) -> None:
            raise KeyError("at")

    stream = FollowedLog(lambda *_: Broken(), 0)  # type: ignore[arg-type]
    until(lambda: not stream._thread.is_alive())

    assert until(lambda: stream.down > 0)
    stream.close()
