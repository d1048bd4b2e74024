"""The bytes of a log: in pieces, and as a stream on a channel of its own."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from typing import Any, Callable

from relight.hosts.agent.attempts import log_size
from relight.hosts.agent.folders import (
    Refused,
    Site,
    attempt_folder,
    expand,
    make_private,
    plain_name,
    read_json,
    write_private,
)
from relight.hosts.agent.rolling import read_rolled

POLL = 0.05
BEAT = 0.5
KNOWN = 64  # bytes by which the file is known again
STREAM_PIECE = 16 << 10  # a link that is cut again and again brings one on; a narrow one shows one soon


def open_log(folder: str) -> tuple[int, str] | None:
    """Open an attempt's log: the very file the server writes to, also when somebody moved or replaced it."""
    state = read_json(os.path.join(folder, "state.json"))
    path = os.path.join(folder, "server.log")
    if state is None:
        return None
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY)
        if identity(fd) == state["log"]:
            return fd, ""
        os.close(fd)
    for holder in (state["supervisor"], state.get("server")):
        fd = find_open(holder[0], state["log"]) if holder else -1
        if fd >= 0:
            return fd, "somebody moved the log on the host; it is read where the server writes it"
    with suppress(OSError):
        return os.open(path, os.O_RDONLY), "somebody replaced the log on the host"
    return None


def identity(fd: int) -> list[int]:
    """Return device and inode of an open file."""
    stat = os.fstat(fd)
    return [stat.st_dev, stat.st_ino]


def find_open(pid: int, wanted: list[int]) -> int:
    """Open the file with this device and inode through a process that has it open; -1 where that cannot be."""
    folder = f"/proc/{pid}/fd"
    with suppress(OSError):
        for number in os.listdir(folder):
            with suppress(OSError):
                path = os.path.join(folder, number)
                stat = os.stat(path)
                if [stat.st_dev, stat.st_ino] == wanted:
                    return os.open(path, os.O_RDONLY)
    return -1


def ask_read_log(site: Site, attempt: str, offset: int, limit: int) -> tuple[dict[str, Any], bytes]:
    """Answer bytes of a log."""
    folder = attempt_folder(site, attempt)
    opened = open_log(folder)
    if opened is None:
        return {"at": offset, "size": log_size(folder)}, b""
    try:
        at, data = read_rolled(folder, opened[0], offset, limit)
    finally:
        os.close(opened[0])
    return {"at": at, "size": log_size(folder)}, data


def ask_read_file(site: Site, path: str, offset: int, limit: int) -> tuple[dict[str, Any], bytes]:
    """Answer bytes of any file; `there` says whether there is one."""
    try:
        fd = os.open(expand(path), os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return {"there": False}, b""
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}") from error
    try:
        return {"there": True}, os.pread(fd, limit, offset)
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}") from error
    finally:
        os.close(fd)


def ask_keep(site: Site, blob: bytes, folder: str, name: str) -> str:
    """Keep a small file of ours in the work folder; answer its path."""
    path = os.path.join(make_private(os.path.join(site.workdir, plain_name(folder))), plain_name(name))
    write_private(path, blob)
    return path


class LogFeed:
    """Sends a log as it grows; ends when the other side is gone."""

    def __init__(self, site: Site, order: dict[str, Any], send: Callable[[dict[str, Any], bytes], None]) -> None:
        self._folder = attempt_folder(site, order["attempt"])
        self._offset: int = order["offset"]
        self._tail = bytes.fromhex(order["tail"])  # the last bytes that were sent
        self._send = send
        self._fd = -1
        self._beat = 0.0

    def stay(self, stdin: int) -> None:
        """Send until stdin ends or the channel takes no more bytes."""
        while not select.select([stdin], [], [], 0)[0]:
            if not self._step():
                self._idle()
                select.select([stdin], [], [], POLL)

    def _idle(self) -> None:
        if time.monotonic() - self._beat >= BEAT:
            self._put({"beat": 1})

    def _put(self, head: dict[str, Any], blob: bytes = b"") -> None:
        self._send(head, blob)
        self._beat = time.monotonic()

    def _step(self) -> bool:
        """Send what is there; say whether anything was."""
        if self._fd < 0 and not self._open():
            return False
        size = os.fstat(self._fd).st_size
        if size == self._offset:  # rolling keeps the size
            return False
        if size < self._offset or self._is_another():
            self._put({"fault": f"somebody truncated the log on the host at byte {self._offset}", "at": 0})
            self._offset, self._tail = 0, b""
        at, data = read_rolled(self._folder, self._fd, self._offset, STREAM_PIECE)
        if not data:
            return False
        if at != self._offset:
            self._put({"fault": f"bytes {self._offset} to {at} of the log are no longer on the host", "at": at})
            self._tail = b""
        self._put({"at": at}, data)
        self._offset = at + len(data)
        self._tail = (self._tail + data)[-KNOWN:]
        return True

    def _is_another(self) -> bool:
        """Say whether other bytes stand before our place than were sent: it was truncated, and written anew past it."""
        start = self._offset - len(self._tail)
        at, data = read_rolled(self._folder, self._fd, start, len(self._tail))
        return at == start and not self._tail.startswith(data)

    def _open(self) -> bool:
        opened = open_log(self._folder)
        if opened is None:
            return False
        self._fd, fault = opened
        if fault:
            self._put({"fault": fault, "at": self._offset})
        return True
