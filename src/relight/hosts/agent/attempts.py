"""An attempt on the host: its folder, which processes are its own, and what became of it.

order.json   what was asked for, without secrets       state.json   who supervises and serves, since when
exit.json    how the server ended                      tree.json    processes and shared memory that are its own
server.log   stdout and stderr                         cwd/         the server's current folder, empty
settle.json  from now on the log is rolled             gone         nothing of it runs any more
"""

from __future__ import annotations

import os
from typing import Any

from relight.hosts.agent.folders import (
    Site,
    attempt_folder,
    attempts_folder,
    boot_id,
    is_flocked,
    read_json,
    write_json,
)
from relight.hosts.agent.processes import (
    Proc,
    all_processes,
    command_of,
    descendants,
    is_alive,
    mark_of,
    owner_of,
    user_name,
)

MARKS: dict[tuple[int, int], tuple[str, str] | None] = {}  # a process keeps its environment: each is read once


def attempt_ids(site: Site) -> list[str]:
    """Return the attempts this host remembers, oldest first."""
    folder = attempts_folder(site)
    try:
        names = [n for n in os.listdir(folder) if os.path.isdir(os.path.join(folder, n))]
    except OSError:
        return []
    return sorted(names, key=lambda n: (born(os.path.join(folder, n)), n))


def born(folder: str) -> float:
    """Return when an attempt was started; a folder without a start comes last."""
    state = read_json(os.path.join(folder, "state.json")) or {}
    return float(state.get("started") or 1e12)


def ours(site: Site, procs: dict[int, Proc]) -> dict[int, str]:
    """Return which processes belong to which attempt: below its supervisor, recorded by it, or marked."""
    found: dict[int, str] = {}
    known = attempt_ids(site)
    for attempt in known:
        for pid in witnessed(site, attempt, procs):
            found[pid] = attempt
    for pid, attempt in marked(site, procs).items():
        if attempt in known:
            found.setdefault(pid, attempt)
    return found


def witnessed(site: Site, attempt: str, procs: dict[int, Proc]) -> list[int]:
    """Return the processes whose pid and start the supervisor vouches for, itself included."""
    folder = attempt_folder(site, attempt)
    state = read_json(os.path.join(folder, "state.json"))
    if not state or state.get("boot") != boot_id():
        return []
    if os.path.exists(os.path.join(folder, "gone")):
        return []
    pids = []
    supervisor = procs.get(state["supervisor"][0])
    if supervisor and supervisor.start == state["supervisor"][1]:
        pids = [supervisor.pid, *descendants(procs, supervisor.pid)]
    seen = (read_json(os.path.join(folder, "tree.json")) or {}).get("seen", {})
    if state.get("server"):
        seen = dict(seen, **{str(state["server"][0]): state["server"][1]})
    recorded = [int(p) for p, start in seen.items() if int(p) in procs and procs[int(p)].start == start]
    return list(dict.fromkeys(pids + recorded))


def marked(site: Site, procs: dict[int, Proc]) -> dict[int, str]:
    """Return the processes of our own user that carry an attempt of this work folder in their environment."""
    me, found = os.getuid(), {}
    for key in [k for k in MARKS if k[0] not in procs or procs[k[0]].start != k[1]]:
        MARKS.pop(key, None)
    for proc in procs.values():
        key = (proc.pid, proc.start)
        # Before its exec a child still shows its parent's environment, and an unmarked one may get a mark.
        if MARKS.get(key) is None and proc.ppid != 2 and owner_of(proc.pid) == me:
            MARKS[key] = mark_of(proc.pid)
        mark = MARKS.get(key)
        if mark and mark[0] == site.workdir:
            found[proc.pid] = mark[1]
    return found


def tree_of(site: Site, attempt: str, procs: dict[int, Proc] | None = None) -> list[Proc]:
    """Return the processes of an attempt without its supervisor."""
    procs = all_processes() if procs is None else procs
    state = read_json(os.path.join(attempt_folder(site, attempt), "state.json")) or {}
    supervisor = (state.get("supervisor") or [None])[0]
    mine = {pid for pid, owner in marked(site, procs).items() if owner == attempt} | set(
        witnessed(site, attempt, procs)
    )
    return [procs[pid] for pid in sorted(mine) if pid != supervisor]


def describe(proc: Proc, attempt: str | None) -> dict[str, Any]:
    """Return a process as the answer shows it."""
    return {
        "pid": proc.pid,
        "ppid": proc.ppid,
        "start": proc.start,
        "state": proc.state,
        "command": command_of(proc),
        "user": user_name(owner_of(proc.pid)),
        "ours": attempt,
    }


def ask_processes(site: Site) -> list[dict[str, Any]]:
    """Answer all processes, ours marked."""
    procs = all_processes()
    mine = ours(site, procs)
    return [describe(p, mine.get(p.pid)) for p in procs.values()]


def ask_status(site: Site, attempt: str) -> dict[str, Any]:
    """Answer what became of one attempt."""
    return statuses(site, [attempt])[0]


def ask_attempts(site: Site) -> list[dict[str, Any]]:
    """Answer what became of every attempt."""
    return [status for status in statuses(site, attempt_ids(site)) if status["state"] != "none"]


def statuses(site: Site, attempts: list[str]) -> list[dict[str, Any]]:
    """Return attempts as the answer shows them. Records are read before processes: what is over is then gone."""
    found = [recorded(site, attempt) for attempt in attempts]
    procs = all_processes()
    mine = ours(site, procs)
    for status in found:
        supervisor = status.pop("supervisor")
        tree = [procs[pid] for pid, owner in mine.items() if owner == status["attempt_id"] and pid != supervisor]
        status["tree"] = [describe(p, status["attempt_id"]) for p in tree]
    return found


def recorded(site: Site, attempt: str) -> dict[str, Any]:
    """Return what the files of an attempt say."""
    folder = attempt_folder(site, attempt)
    order = read_json(os.path.join(folder, "order.json")) or {}
    state = read_json(os.path.join(folder, "state.json")) or {}
    answer = {
        "attempt_id": attempt,
        "supervisor": (state.get("supervisor") or [None])[0],
        "pid": (state.get("server") or [None])[0],
        "started": state.get("started"),
        "boot_id": state.get("boot", ""),
        "log": os.path.join(folder, "server.log") if state else "",
        "log_size": log_size(folder),
        "stopped": os.path.exists(os.path.join(folder, "stopped")),
    }
    answer.update({k: order.get(k) for k in ("run", "port", "gpus", "title") if k in order})
    answer.update(stage_of(folder, state, read_json(os.path.join(folder, "exit.json"))))
    return answer


def stage_of(folder: str, state: dict[str, Any], exit_record: dict[str, Any] | None) -> dict[str, Any]:
    """Return the state of an attempt, how it ended and why that is not known."""
    if exit_record is not None:
        return dict(exit_record, state="ended", reason=exit_record.get("reason", ""))
    if not state:
        return {"state": "starting" if is_flocked(os.path.join(folder, "launch.lock")) else "none"}
    if state["boot"] != boot_id():
        return {"state": "ended", "reason": "the host was rebooted while it ran"}
    if is_alive(*state["supervisor"]):
        return {"state": "running" if state.get("server") else "starting"}
    late = read_json(os.path.join(folder, "exit.json"))  # written between our two looks
    return stage_of(folder, state, late) if late is not None else orphaned(state)


def orphaned(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of an attempt whose supervisor is gone without a record."""
    if state.get("server") and is_alive(*state["server"]):
        return {"state": "running", "supervised": False, "reason": "the supervisor was killed; the server lives"}
    return {"state": "ended", "supervised": False, "reason": "the supervisor was killed: the exit status is not known"}


def log_size(folder: str) -> int:
    """Return how many bytes the log has ever had: rolling leaves a hole, not a shorter file."""
    try:
        return os.stat(os.path.join(folder, "server.log")).st_size
    except OSError:
        return 0


def ask_settle(site: Site, attempt: str, roll_bytes: int, keep: int) -> None:
    """Let the supervisor roll the log from now on."""
    folder = attempt_folder(site, attempt)
    if os.path.isdir(folder):
        write_json(os.path.join(folder, "settle.json"), {"roll": roll_bytes, "keep": keep})
