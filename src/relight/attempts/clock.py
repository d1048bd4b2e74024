"""Time, as an argument."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the loop knows of time. `now` is epoch seconds, `monotonic` never jumps."""

    def now(self) -> float:
        """Return epoch seconds."""

    def monotonic(self) -> float:
        """Return seconds that only grow."""

    def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Return epoch seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds that only grow."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        time.sleep(seconds)


def stamp(epoch: float) -> str:
    """Return `epoch` as RFC 3339 UTC with milliseconds: 2026-11-29T17:12:03.250Z."""
    text = datetime.fromtimestamp(epoch, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def epoch(text: str) -> float:
    """Return the epoch seconds of an RFC 3339 time."""
    return datetime.fromisoformat(text).timestamp()
