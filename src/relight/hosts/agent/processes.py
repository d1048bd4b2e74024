"""Processes, read from /proc."""

from __future__ import annotations

import os
import pwd
from typing import NamedTuple

COMMAND_LIMIT = 2000


class Proc(NamedTuple):
    """A process: `start` is in clock ticks since boot and tells a reused pid apart."""

    pid: int
    ppid: int
    start: int
    state: str
    name: str


def parse_stat(text: str) -> Proc:
    """Read /proc/PID/stat; the name in it may hold blanks and parentheses."""
    left, right = text.index("("), text.rindex(")")
    fields = text[right + 2 :].split()
    return Proc(int(text[:left]), int(fields[1]), int(fields[19]), fields[0], text[left + 1 : right])


def process(pid: int) -> Proc | None:
    """Return a process, None where there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return parse_stat(file.read().decode("utf-8", "replace"))
    except (OSError, ValueError):
        return None


def all_processes() -> dict[int, Proc]:
    """Return every process of this pid space."""
    found = (process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {p.pid: p for p in found if p is not None}


def is_alive(pid: int, start: int) -> bool:
    """Say whether this very process still runs; a zombie does not."""
    proc = process(pid)
    return proc is not None and proc.start == start and proc.state != "Z"


def command_of(proc: Proc) -> str:
    """Return the command line; "[name]" where there is none (kernel threads, zombies)."""
    try:
        with open(f"/proc/{proc.pid}/cmdline", "rb") as file:
            words = file.read(COMMAND_LIMIT)
    except OSError:
        words = b""
    text = words.rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace").strip()
    return text or f"[{proc.name}]"


def owner_of(pid: int) -> int | None:
    """Return the user id that a process runs as."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def user_name(uid: int | None) -> str:
    """Return the name of a user id, the number where it has none."""
    if uid is None:
        return ""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def mark_of(pid: int) -> tuple[str, str] | None:
    """Return work folder and attempt that a process carries in its environment; None also where we may not read it."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            data = b"\0" + file.read(1 << 20)
    except OSError:
        return None
    found = [variable_in(data, name) for name in (b"RELIGHT_WORKDIR", b"RELIGHT_ATTEMPT")]
    return (found[0], found[1]) if all(found) else None


def variable_in(environ: bytes, name: bytes) -> str:
    """Return a variable of an environment as the kernel shows it, a NUL in front; "" where it is not set."""
    _, found, rest = environ.partition(b"\0" + name + b"=")
    return rest.split(b"\0", 1)[0].decode("utf-8", "replace") if found else ""


def descendants(procs: dict[int, Proc], root: int) -> list[int]:
    """Return the pids below `root`, parents before children."""
    children: dict[int, list[int]] = {}
    for proc in procs.values():
        children.setdefault(proc.ppid, []).append(proc.pid)
    found, todo = [], [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found
