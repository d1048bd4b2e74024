"""Break a run off at any point: a fuse that counts points, and a host whose every call passes two of them."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from relight.hosts.interface import Host, LogStream


class KilledError(BaseException):
    """The end of the controller: nothing of relight may catch it."""


@dataclass
class Fuse:
    """Names the points that are passed and raises `fault()` at the point `at` ("": never).

    A point is named by how many `steps` came before, by what is done, and by how often that was done since the last
    step: "12 before status 1". Polling repeats itself, so of each only the first `repeats` count. A `lasting` fuse
    raises at every later point too, as a dead process or a lost link does.
    """

    at: str = ""
    fault: Callable[[], BaseException] = KilledError
    lasting: bool = True
    repeats: int = 2
    points: list[str] = field(default_factory=list)
    burnt: bool = False
    steps: int = 0
    _done: Counter[str] = field(default_factory=Counter)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def step(self) -> None:
        """Note that something lasting was done, such as a line of the journal: what follows is counted anew."""
        self.steps += 1
        self._done.clear()

    def point(self, name: str) -> None:
        """Pass the point `name`."""
        with self._guard:
            self._done[name] += 1
            full = f"{self.steps} {name} {self._done[name]}"
            if self._done[name] <= self.repeats:
                self.points.append(full)
            if full == self.at or (self.burnt and self.lasting):
                self.burnt = True
                raise self.fault()


class FaultyHost:
    """Any host, with a point of the fuse before and after each call, reads of a followed log included."""

    def __init__(self, host: Host, fuse: Fuse) -> None:
        self._host = host
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._host, name)
        if not callable(found) or name == "close":
            return found

        def passed(*args: Any, **named: Any) -> Any:
            self._fuse.point(f"before {name}")
            answer = found(*args, **named)
            self._fuse.point(f"after {name}")
            return FaultyLog(answer, self._fuse) if name == "follow" else answer

        return passed


class FaultyLog:
    """A followed log whose every read passes a point of the fuse."""

    def __init__(self, log: LogStream, fuse: Fuse) -> None:
        self._log = log
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def read(self, timeout: float) -> bytes:
        """Return what the log returns; the point comes after that, so that what was read may be lost."""
        data = self._log.read(timeout)
        self._fuse.point("read")
        return data
