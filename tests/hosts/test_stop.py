"""A stop takes the whole tree, nothing else, and is verified; leftovers are found and cleared."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from relight.hosts.agent.processes import process
from relight.hosts.agent.shared import SHM
from relight.hosts.remote import AgentHost
from relight.hosts.values import HostError
from relight.words.attempt import Exit

Start = Callable[..., str]
Until = Callable[..., Any]


def ready(host: AgentHost, attempt: str) -> bool:
    return b"ready" in host.read_log(attempt, 0, 1000)


def gone(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return text.rpartition(")")[2].split()[0] == "Z"


def test_a_server_that_obeys_is_ended_by_sigterm(host: AgentHost, start: Start, until: Until) -> None:
    attempt = start("--stay")
    until(lambda: ready(host, attempt))

    stopped = host.stop(attempt, patience=10)

    assert (stopped.left, stopped.killed, stopped.exit) == ((), False, Exit(None, 15))
    assert stopped.seconds < 8
    assert host.status(attempt).stopped


def test_a_server_that_ignores_sigterm_is_killed_after_its_patience(
    host: AgentHost, start: Start, until: Until
) -> None:
    attempt = start("--ignore-term", "--stay")
    until(lambda: ready(host, attempt))

    stopped = host.stop(attempt, patience=0.3)

    assert (stopped.left, stopped.killed, stopped.exit) == ((), True, Exit(None, 9))


def test_children_that_left_the_session_and_ignore_sigterm_are_taken_too(
    host: AgentHost, start: Start, until: Until
) -> None:
    attempt = start("--child", "--orphan", "--ignore-term", "--stay")
    until(lambda: ready(host, attempt))
    until(lambda: len(host.status(attempt).tree) >= 3)
    pids = [p.pid for p in host.status(attempt).tree]

    host.stop(attempt, patience=0.2)

    assert all(gone(pid) for pid in pids)
    assert host.leftovers() == ()


def test_orphans_of_a_crashed_server_are_left_overs_and_can_be_cleared(
    host: AgentHost, start: Start, until: Until
) -> None:
    attempt = start("--orphan", "--exit", "1")
    until(lambda: host.status(attempt).state == "ended")
    (orphan,) = (x for x in until(host.leftovers) if x.kind == "process")
    assert orphan.attempt_id == attempt
    assert orphan.pid

    left = host.clean([attempt])

    assert left == ()
    assert gone(orphan.pid)


def test_cleaning_touches_no_living_server(host: AgentHost, start: Start, until: Until) -> None:
    attempt = start("--child", "--stay")
    until(lambda: ready(host, attempt))

    assert host.clean() == ()

    assert len([p for p in host.status(attempt).tree if p.state != "Z"]) == 2


@pytest.fixture
def stranger() -> Iterator[int]:
    """A process of the same user that is not ours."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    yield child.pid
    child.kill()
    child.wait()


def test_a_foreign_process_is_never_touched(host: AgentHost, start: Start, until: Until, stranger: int) -> None:
    attempt = start("--child", "--stay")
    until(lambda: ready(host, attempt))

    host.stop(attempt, patience=1)
    host.clean()

    assert not gone(stranger)


def test_a_pid_that_was_given_to_another_process_is_not_hit(
    host: AgentHost, start: Start, until: Until, stranger: int
) -> None:
    attempt = start("--exit", "1")
    until(lambda: host.status(attempt).state == "ended")
    folder = Path(host.status(attempt).log).parent
    until((folder / "gone").exists)
    # As if the number of the server had been given out again since.
    state, began = json.loads((folder / "state.json").read_text()), process(stranger)
    assert began
    (folder / "state.json").write_text(json.dumps({**state, "server": [stranger, began.start - 1]}))
    (folder / "tree.json").write_text(json.dumps({"seen": {str(stranger): began.start - 1}, "shm": {}}))
    (folder / "gone").unlink()

    assert host.stop(attempt, patience=0.2).left == ()
    assert host.clean([attempt]) == ()

    assert not gone(stranger)
    (folder / "gone").touch()


def test_a_stop_may_be_repeated_and_an_unknown_attempt_stopped(host: AgentHost, start: Start) -> None:
    attempt = start("--stay")
    host.stop(attempt, patience=2)

    assert host.stop(attempt, patience=2).left == ()
    assert host.stop("never-was").left == ()
    assert host.status("never-was").state == "none"


def test_a_crash_is_not_called_a_stop(host: AgentHost, start: Start, until: Until) -> None:
    attempt = start("--exit", "1")
    until(lambda: host.status(attempt).state == "ended")

    host.stop(attempt)

    assert not host.status(attempt).stopped


def test_shared_memory_that_a_crashed_server_left_is_cleared_and_that_of_others_is_not(
    host: AgentHost, start: Start, until: Until
) -> None:
    mine, other = (Path(SHM) / f"{whose}_test_{os.getpid()}" for whose in ("relight", "stranger"))
    other.write_bytes(b"x")
    attempt = start("--shm", mine.name, "--stay")
    until(lambda: ready(host, attempt))
    folder = Path(host.status(attempt).log).parent
    until(lambda: mine.name in (folder / "tree.json").read_text())

    os.kill(host.status(attempt).pid or 0, signal.SIGKILL)
    until(lambda: host.status(attempt).state == "ended")

    assert [(x.kind, x.what) for x in host.leftovers()] == [("shm", str(mine))]
    assert host.clean([attempt]) == ()
    assert not mine.exists()
    assert other.exists()
    other.unlink()


def test_a_stop_leaves_no_shared_memory(host: AgentHost, start: Start, until: Until) -> None:
    mine = Path(SHM) / f"relight_stop_test_{os.getpid()}"
    attempt = start("--shm", mine.name, "--stay")
    folder = Path(host.status(attempt).log).parent
    until(lambda: (folder / "tree.json").exists() and mine.name in (folder / "tree.json").read_text())

    host.stop(attempt, patience=1)

    assert not mine.exists()


def test_a_build_lock_of_a_dead_owner_is_cleared_and_a_held_one_is_not(
    host_at: Callable[..., AgentHost], tmp_path: Path
) -> None:
    host = host_at(env={"TORCH_EXTENSIONS_DIR": str(tmp_path / "ext")})
    stale, held = tmp_path / "ext" / "a" / "lock", tmp_path / "ext" / "b" / "lock"
    for path in (stale, held):
        path.parent.mkdir(parents=True)
        path.touch()

    with held.open("rb"):
        assert [(x.kind, x.what) for x in host.leftovers()] == [("lock", str(stale))]
        host.clean()

    assert not stale.exists()
    assert held.exists()


def test_an_attempt_is_forgotten_only_when_it_is_over(host: AgentHost, start: Start, until: Until) -> None:
    attempt = start("--lines", "1000", "--stay")
    until(lambda: ready(host, attempt) or host.status(attempt).log_size > 1000)

    with pytest.raises(HostError, match="still runs"):
        host.forget(attempt)
    host.stop(attempt, patience=2)
    until((Path(host.status(attempt).log).parent / "gone").exists)
    used = host.usage()
    host.forget(attempt)

    assert used.attempts[0][0] == attempt
    assert used.bytes >= used.attempts[0][1] > 0
    assert host.status(attempt).state == "none"
