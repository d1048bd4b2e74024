"""A channel tells silence of the host from sleep of its own."""

from collections.abc import Callable

import pytest

from relight.hosts.agent.frames import FrameBuffer
from relight.hosts.channel import SILENCE, Channel
from relight.hosts.link import SilentError
from relight.testing import ManualClock


class Quiet:
    """A pipe that brings nothing; a wait takes as long as `sleeps` says."""

    heard = 0.0

    def __init__(self, clock: ManualClock, sleeps: Callable[[float], float]) -> None:
        self._clock, self._sleeps = clock, sleeps

    def recv(self, timeout: float) -> None:
        self._clock.advance(self._sleeps(timeout))


def quiet(sleeps: Callable[[float], float]) -> Channel:
    clock = ManualClock()
    return Channel(Quiet(clock, sleeps), FrameBuffer(b"m"), [], clock.monotonic)  # type: ignore[arg-type]


def test_a_host_that_is_silent_for_too_long_is_given_up() -> None:
    channel = quiet(lambda timeout: timeout)
    for _ in range(int(SILENCE)):
        assert channel.receive(1.0) is None

    with pytest.raises(SilentError, match="no sign of life"):
        channel.receive(1.0)


def test_who_slept_too_long_himself_does_not_blame_the_host() -> None:
    channel = quiet(lambda timeout: timeout + 3600.0)

    assert channel.receive(0.1) is None
    assert channel.receive(0.1) is None
