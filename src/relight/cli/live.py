"""What the host says of the server of a run now, and stopping it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from relight.attempts.launch import port_of
from relight.cli.choose import last_launch
from relight.cli.options import Common
from relight.cli.places import open_spec, open_specs
from relight.config.hosts import RESERVED
from relight.hosts.interface import Host
from relight.hosts.nodes import FOLLOWER_PATIENCE, members
from relight.hosts.values import HttpRequest, Owner
from relight.journal.files import locked
from relight.journal.journal import stored
from relight.words.attempt import Record
from relight.words.errors import PersonError, UnreachableError

PATIENCE = 20.0
"""Seconds between SIGTERM and SIGKILL."""
DEFAULT_PORT = 30000


@dataclass(frozen=True)
class Server:
    """The server of a run as its host sees it: none, starting, running or ended; `health` is what HTTP says.

    `reason` says what is out of order with it. `nodes` is what each of several hosts says, in the order of rank; only
    the first is asked over HTTP.
    """

    state: str
    attempt: int | None = None
    pid: int | None = None
    port: int | None = None
    health: str = ""
    reason: str = ""
    nodes: tuple["ServerNode", ...] = ()


@dataclass(frozen=True)
class ServerNode:
    """One node of a server."""

    rank: int
    host: str
    state: str
    pid: int | None = None


@contextmanager
def host_of(folder: Path) -> Iterator[Host | None]:
    """Yield the host of a run (all nodes of several), connected; None for a simulated one, gone with its command."""
    specs = stored(folder).specs
    if specs[0].name == RESERVED:
        yield None
    else:
        with open_specs(specs) as host:
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
        named = zip(members(host), seen.nodes, strict=False)
        nodes = tuple(ServerNode(n, one.spec.name, said.state, said.pid) for n, (one, said) in enumerate(named))
        return Server(seen.state, attempt.n, seen.pid, port, health, seen.reason, nodes)


def _health(host: Host, port: int) -> str:
    answer = host.http(HttpRequest(f"http://127.0.0.1:{port}/health"))
    return f"HTTP {answer.status}" if answer.status else f"no answer ({answer.error})"


def stop_servers(shared: Common, folder: Path, record: Record) -> str:  # noqa: ARG001  one shape for all
    """Stop everything of a run on its host and return what was stopped, "" where nothing ran.

    BusyError where another relight works on the run; PersonError where a process does not end.
    """
    with locked(folder / ".lock", wait=False, what=f"run {record.run}"):
        pass
    specs = stored(folder).specs
    if specs[0].name == RESERVED:
        return ""
    stopped: dict[str, list[str]] = {}
    lost: UnreachableError | None = None
    # In the order of rank: the first node ends its requests, the others only follow it.
    for rank, spec in enumerate(specs):
        try:
            with open_spec(spec) as host:
                for number in _stopped_on(host, record, rank):
                    stopped.setdefault(number, []).append(spec.name)
        except UnreachableError as fault:
            lost = lost or fault
    several = len(specs) > 1
    said = ", ".join(f"attempt {n}" + (f" on {', '.join(names)}" if several else "") for n, names in stopped.items())
    if lost:
        done = f"; stopped: {said}" if said else ""
        raise UnreachableError(f"{lost.text}{done}", place=lost.place, next=lost.next)
    return said


def _stopped_on(host: Host, record: Record, rank: int) -> list[str]:
    """Stop what runs of a run on one host; return the numbers of its attempts."""
    alive = [s for s in host.attempts() if s.run == record.run and s.alive]
    patience = FOLLOWER_PATIENCE if rank else PATIENCE
    left = [process for s in alive for process in host.stop(s.attempt_id, patience=patience).left]
    if left:
        names = ", ".join(f"{p.command} (pid {p.pid}, state {p.state})" for p in left)
        raise PersonError(f"does not end: {names}", place=host.spec.name, next="reset the GPU or reboot the host")
    host.clean([status.attempt_id for status in alive])
    host.unlock(Owner(record.run, "", "", 0))
    return [s.attempt_id.removesuffix(f"-node{rank}").rpartition(".")[2] for s in alive]
