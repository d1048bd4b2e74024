"""A log that grows with the clock."""

from collections.abc import Callable

from relight.testing.clock import ManualClock


class ScriptedLog:
    """Implements `relight.hosts.interface.LogStream` over a function that returns what was written so far."""

    def __init__(self, written: Callable[[], bytes], clock: ManualClock, offset: int) -> None:
        self.offset = offset
        self.closed = False
        self._written = written
        self._clock = clock

    @property
    def down(self) -> float:
        """There is no link to lose."""
        return 0.0

    @property
    def cuts(self) -> int:
        """There is no link to lose."""
        return 0

    @property
    def fault(self) -> str:
        """Nobody touches the file."""
        return ""

    def read(self, timeout: float) -> bytes:
        """Return what is new; where nothing is, `timeout` seconds pass first."""
        if len(self._written()) <= self.offset:
            self._clock.advance(timeout)
        data = self._written()[self.offset :]
        self.offset += len(data)
        return data

    def close(self) -> None:
        """Note the end."""
        self.closed = True
