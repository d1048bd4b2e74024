"""How long a way to a host may take and may be silent, measured by how long it took before."""

from collections import deque
from dataclasses import dataclass, field

LEAST = 2.0  # seconds that an attempt has at least
FOLD = 4.0  # how much longer than usual it may take
QUIET = 2.0  # how much longer than an agent usually takes to start a log may be silent
PATIENT = 4  # of so many attempts one has all the time there is
SLOW_GREETING = 16  # of so many attempts one waits longer for the first word of the other side


@dataclass
class Pace:
    """What is known of one way. `silence` is for how long a followed log may show no sign of life at least.

    Once a way is known attempts are short, so that one that is back is soon found: what was begun before may never
    come to its end. A way that became slow is found by the attempts that have more time.
    """

    silence: float
    missed: int = 0
    _logins: deque[float] = field(default_factory=lambda: deque(maxlen=8))
    _starts: deque[float] = field(default_factory=lambda: deque(maxlen=8))
    _login: float = 0.0

    @property
    def usual(self) -> float | None:
        """Return how long it takes to get through: the quickest of late, for others waited until there was a link."""
        return min(self._logins, default=0.0) + min(self._starts) if self._starts else None

    def limit(self, timeout: float) -> float:
        """Return how long the next attempt may take."""
        return timeout if self._has_turn(PATIENT) else min(timeout, self._short)

    def greeting(self, timeout: float) -> float:
        """Return how long the other side may take for its first word."""
        if self.usual is None:
            return timeout
        return min(timeout, self._short * (3.0 if self._has_turn(SLOW_GREETING) else 1.0))

    def _has_turn(self, every: int) -> bool:
        return self.usual is None or self.missed % every == every - 1

    @property
    def _short(self) -> float:
        return max(LEAST, FOLD * (self.usual or 0.0))

    @property
    def doubt(self) -> float:
        """Return after how many seconds of silence a connection is doubted."""
        return max(self.silence, QUIET * min(self._starts, default=0.0))

    def logged_in(self, seconds: float) -> None:
        """Note how long the first part of an attempt took, which is left out where there is a connection."""
        self._logins.append(seconds)
        self._login = seconds

    def took(self, seconds: float) -> None:
        """Note an attempt that came to its end."""
        self._starts.append(max(0.0, seconds - self._login))
        self._login, self.missed = 0.0, 0

    def failed(self) -> None:
        """Note an attempt that did not."""
        self._login, self.missed = 0.0, self.missed + 1
