"""Ending an attempt: the whole tree, nothing else, and verified."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import Any

from relight.hosts.agent.attempts import describe, stage_of, tree_of
from relight.hosts.agent.folders import Site, attempt_folder, read_json, write_private
from relight.hosts.agent.processes import Proc, all_processes, is_alive, process
from relight.hosts.agent.shared import unused_shared

STRAGGLERS = 3.0  # what is left after its main process is gone gets this long after SIGTERM
DEATH = 10.0  # SIGKILL only queues the teardown of a process that holds a GPU


def ask_stop(site: Site, attempt: str, patience: float) -> dict[str, Any]:
    """End an attempt, answer what would not die."""
    folder = attempt_folder(site, attempt)
    began = time.monotonic()
    if living(site, attempt):
        write_private(os.path.join(folder, "stopped"), b"")
    ask_to_end(site, attempt, folder, patience)
    killed = kill_tree(site, attempt)
    left = await_death(site, attempt)
    if not left:
        for path in unused_shared(seen_shared(site, attempt), all_processes()):
            with suppress(OSError):
                os.unlink(path)
    state = read_json(os.path.join(folder, "state.json")) or {}
    exit_record = stage_of(folder, state, read_json(os.path.join(folder, "exit.json")))
    return {
        "attempt_id": attempt,
        "left": [describe(p, attempt) for p in left],
        "killed": killed,
        "code": exit_record.get("code"),
        "signal": exit_record.get("signal"),
        "seconds": time.monotonic() - began,
    }


def ask_to_end(site: Site, attempt: str, folder: str, patience: float) -> None:
    """Send SIGTERM to the main process (to the rest where it is gone) and wait for the tree to empty."""
    server = (read_json(os.path.join(folder, "state.json")) or {}).get("server")
    if server and is_alive(*server):
        send(Proc(server[0], 0, server[1], "", ""), signal.SIGTERM)
        wait_while(lambda: is_alive(*server), patience)
    rest = living(site, attempt)
    if rest:
        for proc in rest:
            send(proc, signal.SIGTERM)
        wait_while(lambda: bool(living(site, attempt)), min(patience, STRAGGLERS))


def seen_shared(site: Site, attempt: str) -> dict[str, int]:
    """Return the files in /dev/shm that the supervisor saw this attempt use, with their inodes."""
    recorded = read_json(os.path.join(attempt_folder(site, attempt), "tree.json")) or {}
    return dict(recorded.get("shm", {}))


def living(site: Site, attempt: str) -> list[Proc]:
    """Return the processes of an attempt that are not zombies."""
    return [p for p in tree_of(site, attempt) if p.state != "Z"]


def kill_tree(site: Site, attempt: str) -> bool:
    """SIGKILL until nothing new appears; say whether anything had to be killed."""
    killed: set[tuple[int, int]] = set()
    for _ in range(20):
        new = [p for p in living(site, attempt) if (p.pid, p.start) not in killed]
        if not new:
            break
        for proc in new:
            send(proc, signal.SIGKILL)
            killed.add((proc.pid, proc.start))
        time.sleep(0.02)
    return bool(killed)


def await_death(site: Site, attempt: str) -> list[Proc]:
    """Wait for what was killed; return what is still there."""
    wait_while(lambda: bool(living(site, attempt)), DEATH)
    folder = attempt_folder(site, attempt)
    wait_while(lambda: not settled(folder), 2.0)
    return living(site, attempt)


def settled(folder: str) -> bool:
    """Say whether the end of the server is recorded, or nobody is left to record it."""
    if os.path.exists(os.path.join(folder, "exit.json")):
        return True
    state = read_json(os.path.join(folder, "state.json"))
    return not state or not is_alive(*state["supervisor"])


def send(proc: Proc, number: int) -> None:
    """Send a signal to this very process; a reused pid gets none."""
    now = process(proc.pid)
    if now is not None and now.start == proc.start:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(proc.pid, number)


def wait_while(condition: Any, patience: float) -> None:
    """Wait until `condition()` is false or patience ends."""
    until = time.monotonic() + patience
    pause = 0.02
    while condition() and time.monotonic() < until:
        time.sleep(pause)
        pause = min(0.25, pause * 1.5)
