"""A log followed over a channel of its own, across lost links, at the exact byte."""

import threading
import time
from collections.abc import Callable
from typing import Any

import tenacity

from relight.hosts.channel import Channel
from relight.hosts.link import CommandError, LinkError, SilentError
from relight.words.errors import UnreachableError

BUFFER = 1 << 20  # bytes read ahead of the reader; beyond it the host has to wait. As lines they take four times that
TAIL = 64  # bytes by which a file is known again
BACKOFF = tenacity.wait_random_exponential(multiplier=0.1, max=0.6)
REFUSED = tenacity.wait_random_exponential(multiplier=0.1, max=10.0)
LOST = (LinkError, UnreachableError, CommandError)


class FollowedLog:
    """The bytes of one log. A thread reads ahead; `read` hands out."""

    def __init__(self, open_at: Callable[[int, bytes], Channel], offset: int) -> None:
        """Follow from byte `offset`. `open_at` is given a byte and what stood before it, by which the file is known."""
        self.offset = offset
        self._open_at = open_at
        self._position = offset  # in the host's file: differs from `offset` once somebody truncated that
        self._tail = b""
        self._pieces: list[bytes] = []
        self._held = 0
        self._news = threading.Condition()
        self._closed = threading.Event()
        self._lost_at: float | None = time.monotonic()
        self._cuts = 0
        self._fault = ""
        self._thread = threading.Thread(target=self._run, name="relight-log", daemon=True)
        self._thread.start()

    @property
    def down(self) -> float:
        """Return for how many seconds the link has been away."""
        lost_at = self._lost_at
        return 0.0 if lost_at is None else time.monotonic() - lost_at

    @property
    def closed(self) -> bool:
        """Say whether the channel was given back."""
        return self._closed.is_set()

    @property
    def cuts(self) -> int:
        """Return how often the link was lost."""
        return self._cuts

    @property
    def fault(self) -> str:
        """Say what somebody did to the file on the host."""
        return self._fault

    def read(self, timeout: float) -> bytes:
        """Return new bytes, b"" after `timeout` seconds without."""
        with self._news:
            self._news.wait_for(lambda: self._pieces or self._closed.is_set(), timeout)
            data = b"".join(self._pieces)
            self._pieces.clear()
            self._held = 0
            self.offset += len(data)
            self._news.notify_all()
        return data

    def close(self) -> None:
        """Give the channel back."""
        self._closed.set()
        with self._news:
            self._news.notify_all()
        self._thread.join(5.0)

    def _run(self) -> None:
        try:
            self._follow()
        finally:
            # Whatever else ended it: a log that nobody follows is not a quiet one.
            if not self.closed:
                self._lost_at = self._lost_at or time.monotonic()

    def _follow(self) -> None:
        while not self._closed.is_set():
            channel = self._connected()
            if channel is None:
                return
            self._lost_at = None
            try:
                self._pump(channel)
                channel.close()
            except LinkError as error:
                give_up = channel.doubt if isinstance(error, SilentError) else channel.abandon
                give_up()
                self._lost_at = time.monotonic()
                self._cuts += 1

    def _connected(self) -> Channel | None:
        """Open a channel where we are, for as long as it takes; None when we were closed meanwhile."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(LOST),
            wait=pause,
            sleep=tenacity.sleep_using_event(self._closed),
            stop=tenacity.stop_when_event_set(self._closed),
        )
        try:
            channel: Channel = retrying(self._open_at, self._position, self._tail)
        except tenacity.RetryError:
            return None
        return channel

    def _pump(self, channel: Channel) -> None:
        while not self._closed.is_set():
            frame = channel.receive(0.1)
            if frame is None:
                continue
            self._take(*frame)
            if self._held > BUFFER:
                self._wait_for_reader()
                channel.wake()

    def _take(self, head: dict[str, Any], data: bytes) -> None:
        if "fault" in head:
            self._fault = str(head["fault"])
            self._position, self._tail = int(head["at"]), b""
        if data and head["at"] != self._position:
            raise LinkError(f"byte {head['at']} of the log where {self._position} was due")
        if data:
            with self._news:
                self._pieces.append(data)
                self._held += len(data)
                self._position += len(data)
                self._tail = (self._tail + data)[-TAIL:]
                self._news.notify_all()

    def _wait_for_reader(self) -> None:
        with self._news:
            self._news.wait_for(lambda: self._held <= BUFFER or self._closed.is_set())


def pause(state: tenacity.RetryCallState) -> float:
    """Return the pause before the next attempt: short where there was no way, longer where a host said no."""
    error = state.outcome.exception() if state.outcome else None
    no_way = error is None or isinstance(error, LinkError) or isinstance(error.__cause__, OSError)
    return (BACKOFF if no_way else REFUSED)(state)
