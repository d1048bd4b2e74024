"""A clock for tests: time passes only when somebody sleeps or waits."""

import threading


class ManualClock:
    """Starts at `now` epoch seconds; `monotonic` starts at 0. Safe to use from several threads."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._began = now
        self._passed = 0.0
        self._guard = threading.Lock()
        self.slept: list[float] = []

    def now(self) -> float:
        """Return epoch seconds."""
        return self._began + self._passed

    def monotonic(self) -> float:
        """Return the seconds that passed."""
        return self._passed

    def sleep(self, seconds: float) -> None:
        """Let `seconds` pass at once; they are kept in `slept`."""
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass without a sleep."""
        with self._guard:
            self._passed += max(0.0, seconds)

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward or back; `monotonic` does not notice."""
        self._began += seconds
