"""What the host says of the server of a run now, and stopping it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from relight.attempts.launch import port_of
from relight.cli.choose import last_launch
from relight.cli.options import Common
from relight.cli.places import open_spec
from relight.config.hosts import RESERVED
from relight.hosts.interface import Host
from relight.hosts.values import HttpRequest
from relight.journal.files import locked
from relight.journal.journal import stored
from relight.words.attempt import Record
from relight.words.errors import PersonError

PATIENCE = 20.0
"""Seconds between SIGTERM and SIGKILL."""
DEFAULT_PORT = 30000


@dataclass(frozen=True)
class Server:
    """The server of a run as its host sees it: none, starting, running or ended; `health` is what HTTP says."""

    state: str
    attempt: int | None = None
    pid: int | None = None
    port: int | None = None
    health: str = ""


@contextmanager
def host_of(folder: Path) -> Iterator[Host | None]:
    """Yield the host of a run, connected; None for a simulated one, which is gone with its command."""
    spec = stored(folder).specs[0]
    if spec.name == RESERVED:
        yield None
    else:
        with open_spec(spec) as host:
            yield host


def ask_server(shared: Common, folder: Path, record: Record) -> Server:  # noqa: ARG001  one shape for all
    """Ask the host of a run what runs of it."""
    attempt = last_launch(record)
    with host_of(folder) as host:
        if host is None or attempt is None:
            return Server("none")
        seen = host.status(f"{record.run}.{attempt.n}")
        port = seen.port or port_of(attempt.settings) or DEFAULT_PORT
        health = _health(host, port) if seen.alive else ""
        return Server(seen.state, attempt.n, seen.pid, port, health)


def _health(host: Host, port: int) -> str:
    answer = host.http(HttpRequest(f"http://127.0.0.1:{port}/health"))
    return f"HTTP {answer.status}" if answer.status else f"no answer ({answer.error})"


def stop_servers(shared: Common, folder: Path, record: Record) -> str:  # noqa: ARG001  one shape for all
    """Stop everything of a run on its host and return what was stopped, "" where nothing ran.

    BusyError where another relight works on the run; PersonError where a process does not end.
    """
    with locked(folder / ".lock", wait=False, what=f"run {record.run}"):
        pass
    with host_of(folder) as host:
        if host is None:
            return ""
        alive = [s for s in host.attempts() if s.run == record.run and s.alive]
        stopped = [host.stop(status.attempt_id, patience=PATIENCE) for status in alive]
        left = [process for one in stopped for process in one.left]
        if left:
            names = ", ".join(f"{p.command} (pid {p.pid}, state {p.state})" for p in left)
            raise PersonError(f"does not end: {names}", place=record.host, next="reset the GPU or reboot the host")
        host.clean([status.attempt_id for status in alive])
    return ", ".join(f"attempt {one.attempt_id.rpartition('.')[2]}" for one in stopped)
