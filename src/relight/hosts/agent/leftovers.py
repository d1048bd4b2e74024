"""What ended attempts of ours left behind, and clearing it."""

from __future__ import annotations

import glob
import os
from contextlib import suppress
from typing import Any, Iterable

from relight.hosts.agent.attempts import attempt_ids, stage_of, tree_of
from relight.hosts.agent.folders import Refused, Site, attempt_folder, attempts_folder, expand, read_json, remove_tree
from relight.hosts.agent.processes import all_processes, command_of, is_alive
from relight.hosts.agent.shared import holders_of, unused_shared
from relight.hosts.agent.stop import kill_tree, living, seen_shared, wait_while

# File locks that exist as long as they are held: one whose owner died blocks every later build. Kernel locks do not.
BATONS = (
    "{TORCH_EXTENSIONS_DIR}/*/lock",
    "{TORCH_EXTENSIONS_DIR}/*/*/lock",
    "~/.cache/torch_extensions/*/lock",
    "~/.cache/torch_extensions/*/*/lock",
    "~/.aiter/build/lock_*",
    "~/.aiter/*/build/lock_*",
)


def ask_leftovers(site: Site) -> list[dict[str, Any]]:
    """Answer what ended attempts left."""
    return leftovers_of(site, ended_attempts(site)) + stale_batons(site)


def ask_clean(site: Site, attempts: list[str]) -> list[dict[str, Any]]:
    """Clear what ended attempts left (these, or all when none is named), answer what is still there."""
    ended = [a for a in ended_attempts(site) if not attempts or a in attempts]
    for attempt in ended:
        kill_tree(site, attempt)
        wait_while(lambda a=attempt: bool(living(site, a)), 10.0)
    for found in leftovers_of(site, ended) + stale_batons(site):
        if found["kind"] != "process":
            with suppress(OSError):
                os.unlink(found["what"])
    return leftovers_of(site, ended) + stale_batons(site)


def ended_attempts(site: Site) -> list[str]:
    """Return the attempts whose server is over."""
    found = []
    for attempt in attempt_ids(site):
        folder = attempt_folder(site, attempt)
        state = read_json(os.path.join(folder, "state.json")) or {}
        if stage_of(folder, state, read_json(os.path.join(folder, "exit.json")))["state"] == "ended":
            found.append(attempt)
    return found


def leftovers_of(site: Site, attempts: Iterable[str]) -> list[dict[str, Any]]:
    """Return live processes and unused shared memory of these attempts."""
    procs, found = all_processes(), []
    for attempt in attempts:
        for proc in tree_of(site, attempt, procs):
            if proc.state != "Z":
                why = "in uninterruptible sleep: only a reboot or a GPU reset ends it" if proc.state == "D" else ""
                found.append(left("process", command_of(proc), attempt, proc.pid, why))
        found += [left("shm", path, attempt, None, "") for path in unused_shared(seen_shared(site, attempt), procs)]
    return found


def left(kind: str, what: str, attempt: str, pid: int | None, why: str) -> dict[str, Any]:
    """Return a leftover as the answer shows it."""
    return {"kind": kind, "what": what, "attempt_id": attempt, "pid": pid, "why": why}


def stale_batons(site: Site) -> list[dict[str, Any]]:
    """Return lock files of our user that no process holds open any more."""
    paths = {path for pattern in BATONS for path in glob.glob(baton_pattern(site, pattern))}
    mine = {path for path in paths if is_own_file(path)}
    if not mine:
        return []
    held = holders_of(mine, all_processes())
    return [left("lock", path, "", None, "its owner is gone") for path in sorted(mine) if path not in held]


def baton_pattern(site: Site, pattern: str) -> str:
    """Return a glob with variables and `~` filled in; one that names an unset variable matches nothing."""
    folder = site.env.get("TORCH_EXTENSIONS_DIR") or os.environ.get("TORCH_EXTENSIONS_DIR") or "/nonexistent"
    return expand(pattern.replace("{TORCH_EXTENSIONS_DIR}", folder))


def is_own_file(path: str) -> bool:
    """Say whether this is an empty plain file of our own user."""
    try:
        stat = os.lstat(path)
    except OSError:
        return False
    return stat.st_uid == os.getuid() and stat.st_size == 0


def ask_forget(site: Site, attempt: str) -> None:
    """Delete an ended attempt's folder."""
    folder = attempt_folder(site, attempt)
    if not os.path.isdir(folder):
        return
    state = read_json(os.path.join(folder, "state.json")) or {}
    if living(site, attempt) or (state and is_alive(*state["supervisor"])):
        raise Refused(f"attempt {attempt} still runs; stop it first")
    remove_tree(folder)


def ask_usage(site: Site) -> dict[str, Any]:
    """Answer what the work folder holds, in bytes on the disk."""
    attempts = []
    for attempt in attempt_ids(site):
        folder = os.path.join(attempts_folder(site), attempt)
        attempts.append([attempt, size_of(folder), os.stat(folder).st_mtime])
    return {"workdir": site.workdir, "bytes": size_of(site.workdir), "attempts": attempts}


def size_of(folder: str) -> int:
    """Return the room that a folder takes; holes count nothing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
    return total
