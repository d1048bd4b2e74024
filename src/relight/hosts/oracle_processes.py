"""Children of the oracle and what they write: the first part of its script for the host's interpreter.

Stdlib only, grammar of Python 3.8; relight.hosts.oracle_source is the second part and runs in the same namespace.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KILLED_WITH_PARENT, SUBREAPER = 1, 36


def prctl(option: int, value: int) -> None:
    """Set an option of this process; where there is no prctl nothing happens."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def fork(run: Callable[[int], None]) -> tuple[int, int]:
    """Run `run(descriptor)` in a child in its own process group; return its pid and the end to read from."""
    reader, writer = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    try:
        os.close(reader)
        os.setpgid(0, 0)
        prctl(KILLED_WITH_PARENT, signal.SIGKILL)
        if os.getppid() == parent:
            run(writer)
    finally:
        # Whatever happened in there, a child never returns into its parent's code.
        os._exit(0)


def kill(pid: int) -> int:
    """Kill a child with its process group and return its wait status."""
    for target in (-pid, pid):
        with contextlib.suppress(OSError):
            os.kill(target, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def children(pid: int) -> list[int]:
    """Return the direct children of a process."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def reap() -> None:
    """Kill what the candidates left behind: orphans come to us, because we are their subreaper."""
    for _ in range(50):
        left = children(os.getpid())
        for pid in left:
            kill(pid)
        if not left:
            return


def rss(pid: int) -> int:
    """Return the memory of a process in MiB, 0 where it cannot be read."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() >> 20
    except (OSError, IndexError):
        return 0


def lines(reader: int, patience: Callable[[], float], watch: Callable[[], str]) -> Iterator[dict[str, Any]]:
    """Yield the JSON lines a child writes. Ends with {"stopped": WHY} on time-out or when `watch` objects."""
    rest, last = b"", time.monotonic()
    while True:
        ready = select.select([reader], [], [], 0.1)[0]
        data = os.read(reader, 1 << 16) if ready else None
        if data == b"":
            return
        if data:
            last = time.monotonic()
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                yield json.loads(line.decode())
        why = watch() or (f"no answer after {patience():.0f} s" if time.monotonic() - last > patience() else "")
        if why:
            yield {"stopped": why}
            return


def send(writer: int, message: dict[str, Any]) -> None:
    """Write one JSON line, whole."""
    data = (json.dumps(message) + "\n").encode()
    while data:
        data = data[os.write(writer, data) :]


class ImportsTold:
    """Tell which modules are imported, each once it is there: whoever listens can import it at the same time.

    It stands in sys.meta_path and finds nothing itself.
    """

    def __init__(self, writer: int) -> None:
        self.writer = writer
        self.open: list[str] = []

    def find_spec(self, name: str, *_: Any) -> None:
        """Note that a module is looked for, and tell those that have been imported since the last time."""
        ready = [other for other in self.open if is_imported(other)]
        if ready:
            self.open = [other for other in self.open if other not in ready]
            send(self.writer, {"imported": ready})
        self.open.append(name)


def is_imported(name: str) -> bool:
    """Say whether a module is there and complete."""
    module = sys.modules.get(name)
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)
