"""This machine as a host: the same agent over a pipe."""

import os
import select
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress

from relight.hosts.link import LinkError, Pipe
from relight.hosts.pace import Pace
from relight.words.errors import UnreachableError

HIDDEN = "RELIGHT_SSH_"  # variables that hold what opens a key
SEND_PATIENCE = 30.0
SILENCE = 12.0  # there is no link to lose, and a new agent is late where the old one was


class LocalPipe:
    """A child process."""

    def __init__(self, argv: list[str]) -> None:
        env = {k: v for k, v in os.environ.items() if not k.startswith(HIDDEN)}
        self._child = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, start_new_session=True
        )
        self._fds = [f.fileno() for f in (self._child.stdin, self._child.stdout, self._child.stderr) if f]
        for fd in self._fds:
            os.set_blocking(fd, False)
        self._said = b""
        self._open = True
        self.heard = time.monotonic()

    def send(self, data: bytes) -> None:
        """Send every byte."""
        view = memoryview(data)
        try:
            while view:
                if not select.select([], [self._fds[0]], [], SEND_PATIENCE)[1]:
                    raise LinkError(f"the agent took no byte for {SEND_PATIENCE:.0f} s")
                view = view[os.write(self._fds[0], view) :]
        except OSError as error:
            raise LinkError(f"the agent is gone: {error.strerror}") from error

    def recv(self, timeout: float) -> bytes | None:
        """Return bytes, b"" at the end, None when none came in time."""
        if not self._open:
            return b""
        if not select.select([self._fds[1]], [], [], timeout)[0]:
            return None
        with suppress(BlockingIOError):
            data = os.read(self._fds[1], 1 << 18)
            self.heard = time.monotonic()
            return data
        return None

    def errors(self) -> str:
        """Return what was written to stderr."""
        if self._open:
            with suppress(BlockingIOError):
                self._said += os.read(self._fds[2], 1 << 16)
        return self._said.decode("utf-8", "replace")

    def exit_code(self) -> int | None:
        """Return how the agent ended."""
        with suppress(subprocess.TimeoutExpired):
            return self._child.wait(timeout=1.0)
        return None

    def end(self) -> None:
        """Close its stdin."""
        if self._child.stdin:
            self._child.stdin.close()

    def abandon(self) -> None:
        """End the agent."""
        self.close()

    def doubt(self) -> None:
        """End the agent."""
        self.close()

    def close(self) -> None:
        """End the agent: closing its stdin is enough, unless it hangs."""
        if not self._open:
            return
        self.errors()
        self._open = False
        for file in (self._child.stdin, self._child.stdout, self._child.stderr):
            if file:
                with suppress(OSError):
                    file.close()
        try:
            self._child.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait(timeout=5.0)


class LocalLink:
    """Starts commands on this machine."""

    def __init__(self) -> None:
        self.pace = Pace(SILENCE)

    def start(self, line: str, *, timeout: float) -> Pipe:  # noqa: ARG002  a local start does not wait
        """Start a command; the line is read like a shell would."""
        argv = shlex.split(line)
        argv[0] = os.path.expanduser(argv[0])  # noqa: PTH111  "~" as the shell would expand it
        try:
            return LocalPipe(argv)
        except FileNotFoundError:
            return LocalPipe([sys.executable, *argv[1:]])
        except OSError as error:
            raise UnreachableError(
                f"the interpreter {argv[0]} cannot be started: {error.strerror}", next="set python in hosts.toml"
            ) from error

    def close(self) -> None:
        """There is no connection."""
