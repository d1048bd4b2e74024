"""The agent on a pipe: frames both ways, and questions answered in any order."""

import itertools
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relight.hosts.agent.frames import FrameBuffer, FrameError, pack_frame
from relight.hosts.link import CommandError, Link, LinkError, Pipe, SilentError
from relight.hosts.program import opening, start_line
from relight.words.text import plain

Frame = tuple[dict[str, Any], bytes]
SILENCE = 12.0  # seconds without a byte over the connection that are a stalled link: an agent gives two signs a second
OVERSLEPT = 1.0  # seconds by which a wait was too long: it was us who slept, and what came is still to be read
DUMB = 60.0  # seconds without a sign of life of this agent, though its connection lives


class Channel:
    """One agent, started and past its marker. Frames come in order; silence for too long is a lost link."""

    silence = SILENCE

    def __init__(
        self,
        pipe: Pipe,
        buffer: FrameBuffer,
        frames: Sequence[Frame],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._pipe = pipe
        self._buffer = buffer
        self._frames = list(frames)
        self._heard = self._clock()

    def send(self, head: Mapping[str, Any], blob: bytes = b"") -> None:
        """Send one frame. Raises LinkError."""
        self._pipe.send(pack_frame(dict(head), blob))

    def receive(self, timeout: float) -> Frame | None:
        """Return the next frame, None when none came in time. Raises LinkError."""
        if self._frames:
            return self._frames.pop(0)
        asked = self._clock()
        data = self._pipe.recv(timeout)
        now = self._clock()
        if data is None:
            if now - asked > timeout + OVERSLEPT:
                self.wake()
            self._judge_silence(now)
            return None
        if not data:
            raise LinkError("the host closed the channel")
        self._heard = now
        try:
            self._frames += self._buffer.feed(data)
        except FrameError as error:
            raise LinkError(f"the channel is out of step: {error}") from error
        return self._frames.pop(0) if self._frames else None

    def _judge_silence(self, now: float) -> None:
        # Where the link is narrow, what another channel has to say may come first, and for long.
        if now - max(self._heard, self._pipe.heard) > self.silence:
            raise SilentError(f"no sign of life from the host for {self.silence:.0f} s")
        if now - self._heard > DUMB:
            raise LinkError(f"no sign of life from the agent for {DUMB:.0f} s")

    def wake(self) -> None:
        """Forget how long it was silent: nobody listened."""
        self._heard = self._clock()

    def end(self) -> None:
        """Let the agent come to its end."""
        self._pipe.end()

    def abandon(self) -> None:
        """Give up the connection."""
        self._pipe.abandon()

    def doubt(self) -> None:
        """Give the agent up, and its connection unless that is heard again."""
        self._pipe.doubt()

    def close(self) -> None:
        """End the agent."""
        self._pipe.close()


def open_channel(link: Link, pythons: Sequence[str], order: Mapping[str, Any], *, timeout: float) -> Channel:
    """Start the agent under the first of `pythons` that can run it.

    Raises LinkError, UnreachableError, and CommandError with what the host said where no interpreter will do.
    """
    began, limit = time.monotonic(), link.pace.limit(timeout)
    try:
        channel = _first_fit(link, pythons, order, limit)
    except LinkError:
        link.pace.failed()
        raise
    link.pace.took(time.monotonic() - began)
    return channel


def _first_fit(link: Link, pythons: Sequence[str], order: Mapping[str, Any], timeout: float) -> Channel:
    said = []
    for python in dict.fromkeys(pythons):
        pipe = link.start(start_line(python), timeout=timeout)
        marker = secrets.token_bytes(16)
        try:
            return _greeted(pipe, marker, {**order, "marker": marker.hex()}, timeout)
        except CommandError as error:
            said.append(f"{python}: {error}")
    raise CommandError("; ".join(said))


def _greeted(pipe: Pipe, marker: bytes, order: Mapping[str, Any], timeout: float) -> Channel:
    try:
        return _greet(pipe, marker, order, timeout)
    except (LinkError, CommandError):
        pipe.close()
        raise


def _greet(pipe: Pipe, marker: bytes, order: Mapping[str, Any], timeout: float) -> Channel:
    try:
        pipe.send(opening(order))
    except LinkError as error:
        _explain(pipe, b"")
        raise error from error
    buffer = FrameBuffer(marker)
    until = time.monotonic() + timeout
    while not buffer.started:
        data = pipe.recv(max(0.0, until - time.monotonic()))
        if data is None:
            noise = plain(buffer.noise[-200:].decode("utf-8", "replace"))
            pipe.abandon()
            raise LinkError(f"the agent did not start within {timeout:.0f} s{noise and ': ' + noise!r}")
        if not data:
            _explain(pipe, buffer.noise)
            pipe.abandon()
            raise LinkError("the host closed the channel before the agent started")
        frames = buffer.feed(data)
    return Channel(pipe, buffer, frames)


def _explain(pipe: Pipe, noise: bytes) -> None:
    """Raise CommandError where the command itself failed: an exit status is the host's word, a lost link has none."""
    code = pipe.exit_code()
    if code is None:
        return
    said = (pipe.errors() or noise.decode("utf-8", "replace")).strip()
    raise CommandError(plain(said.splitlines()[-1]) if said else f"ended with status {code}")


class Asker:
    """Questions over one channel, from any thread; a thread of its own hands out the answers."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._numbers = itertools.count(1)
        self._sending = threading.Lock()
        self._news = threading.Condition()
        self._answers: dict[int, Frame] = {}
        self._waiting: set[int] = set()
        self._fault: LinkError | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._listen, name="relight-answers", daemon=True)
        self._thread.start()

    @property
    def broken(self) -> bool:
        """Say whether the channel is of no more use."""
        return self._fault is not None or self._closed

    def ask(self, question: str, arguments: Mapping[str, Any], blob: bytes, *, timeout: float) -> Frame:
        """Ask and wait. Raises LinkError when the link is lost meanwhile, TimeoutError when no answer comes in time."""
        number = next(self._numbers)
        with self._news:
            self._waiting.add(number)
        try:
            with self._sending:
                self._channel.send({"id": number, "ask": question, "with": dict(arguments)}, blob)
            return self._await(number, timeout)
        finally:
            with self._news:
                self._waiting.discard(number)
                self._answers.pop(number, None)

    def _await(self, number: int, timeout: float) -> Frame:
        with self._news:
            self._news.wait_for(lambda: number in self._answers or self._fault is not None, timeout)
            if number in self._answers:
                return self._answers[number]
            if self._fault is not None:
                raise LinkError(str(self._fault))
        raise TimeoutError

    def _listen(self) -> None:
        try:
            while not self._closed:
                frame = self._channel.receive(1.0)
                if frame and "id" in frame[0]:
                    self._hand_out(frame)
            self._channel.close()
        except LinkError as error:
            self._channel.abandon()
            self._fail(error)

    def _hand_out(self, frame: Frame) -> None:
        with self._news:
            if frame[0]["id"] in self._waiting:
                self._answers[frame[0]["id"]] = frame
                self._news.notify_all()

    def _fail(self, error: LinkError) -> None:
        with self._news:
            self._fault = error
            self._news.notify_all()

    def close(self) -> None:
        """End the agent and the thread."""
        self._closed = True
        self._channel.end()
        self._thread.join(5.0)
        self._fail(LinkError("closed"))
