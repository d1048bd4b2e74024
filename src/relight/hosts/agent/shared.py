"""Shared memory files, and who maps them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Iterable

SHM = "/dev/shm"  # noqa: S108  not a temporary file of ours: what POSIX shared memory is on Linux


def shm_names() -> set[str]:
    """Return the names in /dev/shm."""
    try:
        return set(os.listdir(SHM))
    except OSError:
        return set()


def shared_files_of(pids: Iterable[int]) -> dict[str, int]:
    """Return name and inode of the files in /dev/shm that these processes map or hold open."""
    return inodes_of(name for pid in pids for name in mapped_names(pid) | opened_names(pid))


def inodes_of(names: Iterable[str]) -> dict[str, int]:
    """Return the inodes of names in /dev/shm, as far as they exist."""
    found: dict[str, int] = {}
    for name in names:
        with suppress(OSError):
            found[name] = os.stat(os.path.join(SHM, name)).st_ino
    return found


def unused_shared(recorded: dict[str, int], pids: Iterable[int]) -> list[str]:
    """Return the recorded files (name and inode) that are still the same ones and that no process holds."""
    found = []
    for name, inode in recorded.items():
        path = os.path.join(SHM, name)
        with suppress(OSError):
            if os.lstat(path).st_ino == inode:
                found.append(path)
    used = holders_of(set(found), pids) if found else {}
    return [path for path in found if path not in used]


def mapped_names(pid: int) -> set[str]:
    """Return the names in /dev/shm that a process maps."""
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            lines = [line for line in file if b" /dev/shm/" in line]
    except OSError:
        return set()
    paths = (line.split(b" /dev/shm/", 1)[1].strip().decode("utf-8", "replace") for line in lines)
    return {p for p in paths if not p.endswith(" (deleted)")}


def opened_names(pid: int) -> set[str]:
    """Return the names in /dev/shm that a process holds open."""
    paths = (p for p in opened_paths(pid) if p.startswith(SHM + "/") and not p.endswith(" (deleted)"))
    return {p[len(SHM) + 1 :] for p in paths}


def opened_paths(pid: int) -> set[str]:
    """Return the paths that a process holds open."""
    folder, found = f"/proc/{pid}/fd", set()
    with suppress(OSError):
        for number in os.listdir(folder):
            with suppress(OSError):
                found.add(os.readlink(os.path.join(folder, number)))
    return found


def holders_of(paths: set[str], pids: Iterable[int]) -> dict[str, int]:
    """Return which of these files some process has open or mapped, with one such process each."""
    found: dict[str, int] = {}
    for pid in pids:
        mapped = {os.path.join(SHM, name) for name in mapped_names(pid)}
        found.update(dict.fromkeys((mapped | opened_paths(pid)) & paths, pid))
    return found
