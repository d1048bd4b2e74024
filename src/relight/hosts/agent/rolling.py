"""The server's log as one run of bytes, rolled or not.

The server holds the file open, so nobody can give it another. Rolling copies the oldest bytes to a numbered file, named
by the offset of its first byte, and then punches a hole where they were: offsets stay true and no byte is lost.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

from relight.hosts.agent.folders import read_json, write_all, write_json

FALLOC_KEEP_SIZE, FALLOC_PUNCH_HOLE = 1, 2
PIECE = 1 << 20
SEGMENT = "server.log."


def segments(folder: str) -> list[tuple[int, int, str]]:
    """Return first offset, size and path of the rolled files, oldest first."""
    found = []
    for name in os.listdir(folder):
        if name.startswith(SEGMENT) and name[len(SEGMENT) :].isdigit():
            path = os.path.join(folder, name)
            with suppress(OSError):
                found.append((int(name[len(SEGMENT) :]), os.stat(path).st_size, path))
    return sorted(found)


def roll(folder: str, fd: int, limit: int, keep: int) -> None:
    """Move whole pieces of `limit` bytes out of the log while it holds more; keep the newest `keep` of them."""
    note = read_json(os.path.join(folder, "roll.json")) or {"base": 0}
    while "fault" not in note and os.fstat(fd).st_size - note["base"] >= limit:
        base = note["base"]
        path = os.path.join(folder, f"{SEGMENT}{base:016d}")
        copy_range(fd, base, limit, path)
        fault = punch(fd, base, limit)
        if fault:
            os.unlink(path)
            note["fault"] = f"the log cannot be rolled on this filesystem: {fault}"
        else:
            note["base"] = base + limit
        write_json(os.path.join(folder, "roll.json"), note)
        for _, _, old in segments(folder)[:-keep]:
            os.unlink(old)


def copy_range(fd: int, start: int, size: int, path: str) -> None:
    """Copy bytes of an open file to `path`, which appears when it is whole."""
    out = os.open(path + ".part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        at = start
        while at < start + size:
            data = os.pread(fd, min(PIECE, start + size - at), at)
            write_all(out, data)
            at += len(data)
        os.fsync(out)
    except OSError:
        os.unlink(path + ".part")
        raise
    finally:
        os.close(out)
    os.rename(path + ".part", path)


def punch(fd: int, start: int, size: int) -> str:
    """Give the room of these bytes back to the filesystem; "" when that worked, else why not."""
    libc = ctypes.CDLL(None, use_errno=True)
    mode = FALLOC_PUNCH_HOLE | FALLOC_KEEP_SIZE
    try:
        failed = libc.fallocate(fd, mode, ctypes.c_longlong(start), ctypes.c_longlong(size))
    except AttributeError:
        return "no fallocate"
    return os.strerror(ctypes.get_errno()) if failed else ""


def read_rolled(folder: str, fd: int, offset: int, limit: int) -> tuple[int, bytes]:
    """Return bytes of the log and where they begin: later than `offset` only where older bytes are gone for good."""
    data = os.pread(fd, limit, offset)
    rolled = segments(folder)  # after the read: a piece is there before its hole is
    if not rolled:
        return offset, data
    for start, size, path in rolled:
        offset = max(offset, start)
        if offset < start + size:
            with open(path, "rb") as file:
                file.seek(offset - start)
                return offset, file.read(limit)
    return offset, data
