"""Several hosts that carry one server. The first is node 0: it answers HTTP, and it speaks for all where one must."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from relight.hosts.interface import Host, LogStream
from relight.hosts.values import (
    AttemptState,
    Disk,
    Entry,
    Holder,
    HostError,
    HostFacts,
    HttpAnswer,
    HttpRequest,
    Interpreter,
    Launched,
    LaunchOrder,
    Leftover,
    NodeOrder,
    Owner,
    Ran,
    Stat,
    Status,
    Stopped,
    Usage,
    Validation,
)
from relight.words.errors import BusyError, RelightError, UnreachableError
from relight.words.host import Gpu, HostProcess, HostSpec, Listener
from relight.words.parser import HostParser
from relight.words.settings import Settings

T = TypeVar("T")
PID_STEP = 10_000_000
"""Added to the pids of each further node, so that all pids of one server differ; the kernel's are smaller."""
UNKNOWN = "a node does not know the attempt any more"
FOLLOWER_PATIENCE = 3.0
"""Seconds between SIGTERM and SIGKILL for a follower: without the first node it has nothing left to do."""


def members(host: Host) -> tuple[Host, ...]:
    """Return the hosts that `host` stands for, in the order of rank: one, unless it is several nodes."""
    return host.hosts if isinstance(host, Nodes) else (host,)


def node_attempt(attempt_id: str, rank: int) -> str:
    """Return the name under which node `rank` knows an attempt: nodes may share a home, and so a work folder."""
    return f"{attempt_id}-node{rank}" if rank else attempt_id


def joined(specs: Sequence[HostSpec]) -> HostSpec:
    """Return the spec of one server over `specs`: the first, with only those variables that all of them share."""
    shared = {k: v for k, v in specs[0].env.items() if all(s.env.get(k) == v for s in specs)}
    return replace(specs[0], env=shared)


def own_env(spec: HostSpec, common: Collection[str]) -> dict[str, str]:
    """Return the variables of a node that are its own: those that are not `common` to all."""
    return {name: value for name, value in spec.env.items() if name not in common}


class Nodes:
    """Implements `relight.hosts.interface.Host` over several hosts, in the order of rank. They are asked at once.

    UnreachableError and HostError name the node in `place`; what the other nodes run is not touched for it.
    """

    def __init__(self, hosts: Sequence[Host]) -> None:
        self.hosts = tuple(hosts)
        self.spec = joined([host.spec for host in hosts])
        self.facts: tuple[HostFacts, ...] = ()
        self._pool = ThreadPoolExecutor(len(self.hosts), thread_name_prefix="node")
        self._cards: dict[int, tuple[int, ...]] = {}

    def _each(self, ask: Callable[[int, Host], T]) -> tuple[T, ...]:
        """Ask every node and return the answers in order; of several faults an unreachable node is told first."""
        return _answers(self._asked(ask))

    def _asked(self, ask: Callable[[int, Host], T]) -> list[Future[T]]:
        futures = [self._pool.submit(ask, rank, host) for rank, host in enumerate(self.hosts)]
        for future in futures:
            future.exception()  # waits: no node is left half asked
        return futures

    @property
    def _first(self) -> Host:
        return self.hosts[0]

    def connect(self, *, timeout: float = 30.0) -> HostFacts:
        """Reach every node and return the first one's facts; `facts` keeps all, with the offset of each clock."""
        self.facts = self._each(lambda _, host: host.connect(timeout=timeout))
        return self.facts[0]

    def close(self) -> None:
        """Give up the links."""
        for host in self.hosts:
            host.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def gpus(self, *, timeout: float = 30.0) -> tuple[Gpu, ...]:
        """Return the cards of all nodes, each with the name of its node."""
        found = self._each(lambda _, host: host.gpus(timeout=timeout))
        self._cards = {rank: tuple(gpu.index for gpu in gpus) for rank, gpus in enumerate(found)}
        named = zip(self.hosts, found, strict=True)
        return tuple(replace(gpu, node=host.spec.name) for host, gpus in named for gpu in gpus)

    def listeners(self, *, timeout: float = 20.0) -> tuple[Listener, ...]:
        """Return who listens on the first node."""
        return self._first.listeners(timeout=timeout)

    def processes(self, *, timeout: float = 20.0) -> tuple[HostProcess, ...]:
        """Return the processes of all nodes."""
        found = self._each(lambda _, host: host.processes(timeout=timeout))
        return tuple(_of_node(p, rank, self.hosts[rank]) for rank, seen in enumerate(found) for p in seen)

    def disk(self, path: str, *, timeout: float = 20.0) -> Disk:
        """Return the room on the first node."""
        return self._first.disk(path, timeout=timeout)

    def engine_version(self, *, timeout: float = 60.0) -> str | None:
        """Return the version on the first node."""
        return self._first.engine_version(timeout=timeout)

    def engine_versions(self, *, timeout: float = 60.0) -> tuple[str | None, ...]:
        """Return the engine's version on each node."""
        return self._each(lambda _, host: host.engine_version(timeout=timeout))

    def interpreters(self, *, timeout: float = 60.0) -> tuple[Interpreter, ...]:
        """Return the interpreters of the first node."""
        return self._first.interpreters(timeout=timeout)

    def images(self, *, timeout: float = 20.0) -> tuple[str, ...]:
        """Return the images of the first node."""
        return self._first.images(timeout=timeout)

    def parser(self, *, timeout: float = 180.0) -> HostParser:
        """Return the options of the engine on the first node."""
        return self._first.parser(timeout=timeout)

    def source(self, file: str, *, timeout: float = 20.0) -> str | None:
        """Return a source file of the first node."""
        return self._first.source(file, timeout=timeout)

    def stat(self, path: str, *, timeout: float = 20.0) -> Stat | None:
        """Return kind and size of a path on the first node."""
        return self._first.stat(path, timeout=timeout)

    def list_dir(self, path: str, *, timeout: float = 20.0) -> tuple[Entry, ...]:
        """Return the names in a folder of the first node."""
        return self._first.list_dir(path, timeout=timeout)

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout: float = 60.0,
        launch_env: bool = False,
    ) -> Ran:
        """Run a command on the first node."""
        return self._first.run(argv, env=env, stdin=stdin, timeout=timeout, launch_env=launch_env)

    def launch(self, order: LaunchOrder, *, timeout: float = 60.0) -> Launched:
        """Start the server on every node, each with its share of the order.

        Where a node answers that it cannot, what was started on the others is ended again.
        """
        given = order.nodes or tuple(map(NodeOrder, range(len(self.hosts))))
        asked = self._asked(lambda rank, host: host.launch(_share(order, given[rank]), timeout=timeout))
        faults = [future.exception() for future in asked]
        if any(faults) and all(fault is None or isinstance(fault, HostError | BusyError) for fault in faults):
            started = [future.result() for future in asked if future.exception() is None]
            self._take_back([(rank, at) for rank, at in enumerate(faults) if at is None], order, started)
        launched = _answers(asked)
        return replace(launched[0], again=any(one.again for one in launched))

    def _take_back(
        self, ranks: Sequence[tuple[int, BaseException | None]], order: LaunchOrder, started: Sequence[Launched]
    ) -> None:
        for (rank, _), launched in zip(ranks, started, strict=True):
            if not launched.again:
                with suppress(RelightError):
                    self.hosts[rank].stop(node_attempt(order.attempt_id, rank), patience=FOLLOWER_PATIENCE)

    def status(self, attempt_id: str, *, timeout: float = 20.0) -> Status:
        """Return what became of an attempt, over all nodes."""
        said = self._each(lambda rank, host: host.status(node_attempt(attempt_id, rank), timeout=timeout))
        return self._merged(attempt_id, said)

    def _merged(self, attempt_id: str, said: Sequence[Status]) -> Status:
        """Return one status: ended as soon as one node is, with the end of the one that ended first."""
        tree = tuple(_of_node(p, rank, self.hosts[rank]) for rank, one in enumerate(said) for p in one.tree)
        if all(one.state == "none" for one in said):
            return replace(said[0], attempt_id=attempt_id, nodes=tuple(said))
        over = [rank for rank, one in enumerate(said) if one.state in {"none", "ended"}]
        first = min(over, key=lambda rank: self.moment(rank, said[rank].ended), default=0)
        return replace(
            said[0],
            attempt_id=attempt_id,
            state=_state([one.state for one in said]),
            ended=self._by_first_clock(first, said[first].ended) if over else None,
            exit=said[first].exit,
            reason=said[first].reason if said[first].state != "none" else UNKNOWN,
            supervised=all(one.supervised for one in said),
            tree=tree,
            nodes=tuple(said),
        )

    def _by_first_clock(self, rank: int, there: float | None) -> float | None:
        ahead = self.facts[0].clock_offset if self.facts else 0.0
        return None if there is None else self.moment(rank, there) + ahead

    def moment(self, rank: int, there: float | None) -> float:
        """Return by our clock when it was `there` by the clock of a node; infinity for None."""
        offset = self.facts[rank].clock_offset if self.facts else 0.0
        return float("inf") if there is None else there - offset

    def attempts(self, *, timeout: float = 20.0) -> tuple[Status, ...]:
        """Return the attempts over these nodes that any of them remembers, oldest first."""
        said = self._each(lambda _, host: host.attempts(timeout=timeout))
        found: dict[str, dict[int, Status]] = {}
        for rank, seen in enumerate(said):
            for one in seen:
                base = one.attempt_id.removesuffix(f"-node{rank}")
                if node_attempt(base, rank) == one.attempt_id:
                    found.setdefault(base, {})[rank] = one
        ranks = range(len(self.hosts))
        return tuple(
            self._merged(base, [seen.get(rank) or Status(node_attempt(base, rank), "none") for rank in ranks])
            for base, seen in found.items()
        )

    def stop(self, attempt_id: str, *, patience: float = 20.0) -> Stopped:
        """End an attempt on every node: the first node first, in order; then the others, which only follow.

        A node that cannot be reached does not save the others: they are ended, then UnreachableError names it.
        """
        first = self._pool.submit(self._stop_one, 0, attempt_id, patience)
        first.exception()
        rest = range(1, len(self.hosts))
        others = [self._pool.submit(self._stop_one, r, attempt_id, min(patience, FOLLOWER_PATIENCE)) for r in rest]
        for future in others:
            future.exception()
        done = _answers([first, *others])
        return replace(
            done[0],
            attempt_id=attempt_id,
            left=tuple(_of_node(p, rank, self.hosts[rank]) for rank, one in enumerate(done) for p in one.left),
            killed=any(one.killed for one in done),
            seconds=sum(one.seconds for one in done),
        )

    def _stop_one(self, rank: int, attempt_id: str, patience: float) -> Stopped:
        return self.hosts[rank].stop(node_attempt(attempt_id, rank), patience=patience)

    def settle(self, attempt_id: str, *, roll_bytes: int = 256 << 20, keep: int = 20, timeout: float = 20.0) -> None:
        """Let every node roll its log."""
        self._each(
            lambda rank, host: host.settle(
                node_attempt(attempt_id, rank), roll_bytes=roll_bytes, keep=keep, timeout=timeout
            )
        )

    def leftovers(self, *, timeout: float = 30.0) -> tuple[Leftover, ...]:
        """Return what ended attempts left on any node."""
        found = self._each(lambda _, host: host.leftovers(timeout=timeout))
        return tuple(self._placed(rank, left) for rank, some in enumerate(found) for left in some)

    def clean(self, attempt_ids: Sequence[str] = (), *, timeout: float = 60.0) -> tuple[Leftover, ...]:
        """Clear what these attempts left on every node; return what is still there."""
        found = self._each(
            lambda rank, host: host.clean([node_attempt(one, rank) for one in attempt_ids], timeout=timeout)
        )
        return tuple(self._placed(rank, left) for rank, some in enumerate(found) for left in some)

    def _placed(self, rank: int, left: Leftover) -> Leftover:
        return replace(left, what=f"{left.what} on {self.hosts[rank].spec.name}")

    def http(self, request: HttpRequest) -> HttpAnswer:
        """Ask the first node's server: the others' health path says yes whatever happens."""
        return self._first.http(request)

    def read_log(self, attempt_id: str, offset: int, limit: int, *, timeout: float = 30.0) -> bytes:
        """Return bytes of the first node's log."""
        return self._first.read_log(attempt_id, offset, limit, timeout=timeout)

    def read_file(self, path: str, offset: int, limit: int, *, timeout: float = 30.0) -> bytes | None:
        """Return bytes of a file of the first node."""
        return self._first.read_file(path, offset, limit, timeout=timeout)

    def follow(self, attempt_id: str, offset: int) -> LogStream:
        """Open a stream of the first node's log."""
        return self._first.follow(attempt_id, offset)

    def kernel_log(self, since: float, *, timeout: float = 20.0) -> tuple[str, ...]:
        """Return the first node's kernel messages."""
        return self._first.kernel_log(since, timeout=timeout)

    def validate(self, candidates: Sequence[Settings], parser: HostParser, *, timeout: float = 300.0) -> Validation:
        """Ask the first node's own argument validation."""
        return self._first.validate(candidates, parser, timeout=timeout)

    def lock(
        self,
        owner: Owner,
        *,
        gpus: Sequence[int],  # noqa: ARG002  each node locks its own
        port: int | None,
        timeout: float = 20.0,
    ) -> tuple[Holder, ...]:
        """Take or renew the lock on every node's own cards and on the port: all of it or, where one is held, nothing.

        Nodes are taken in one order whoever asks, so that of two runs over the same nodes one gets them all.
        """
        taken: list[Host] = []
        for rank in sorted(range(len(self.hosts)), key=lambda r: _address(self.hosts[r].spec)):
            host = self.hosts[rank]
            holders = host.lock(owner, gpus=self._cards_of(rank), port=port, timeout=timeout)
            if holders:
                for other in taken:
                    other.unlock(owner, timeout=timeout)
                return tuple(replace(h, what=f"{h.what} on {host.spec.name}") for h in holders)
            taken.append(host)
        return ()

    def _cards_of(self, rank: int) -> tuple[int, ...]:
        given = self.hosts[rank].spec.gpus
        if given is None and rank not in self._cards:
            self._cards[rank] = tuple(gpu.index for gpu in self.hosts[rank].gpus())
        return self._cards[rank] if given is None else given

    def unlock(self, owner: Owner, *, timeout: float = 20.0) -> None:
        """Give back what `owner` holds on every node."""
        self._each(lambda _, host: host.unlock(owner, timeout=timeout))

    def forget(self, attempt_id: str, *, timeout: float = 60.0) -> None:
        """Delete an ended attempt's folder on every node."""
        self._each(lambda rank, host: host.forget(node_attempt(attempt_id, rank), timeout=timeout))

    def usage(self, *, timeout: float = 60.0) -> Usage:
        """Return how much room the first node's work folder takes."""
        return self._first.usage(timeout=timeout)


def _answers(futures: Sequence[Future[T]]) -> tuple[T, ...]:
    faults = [fault for future in futures if (fault := future.exception()) is not None]
    lost = next((fault for fault in faults if isinstance(fault, UnreachableError)), None)
    if faults:
        raise lost or faults[0]
    return tuple(future.result() for future in futures)


def _state(states: Sequence[AttemptState]) -> AttemptState:
    if "ended" in states or "none" in states:
        return "ended"
    return "starting" if "starting" in states else "running"


def node_argv(argv: Sequence[str], rank: int) -> tuple[str, ...]:
    """Return the words of node `rank` from those of the first node, which end with its number."""
    return (*argv[:-1], str(rank)) if rank else tuple(argv)


def _share(order: LaunchOrder, given: NodeOrder) -> LaunchOrder:
    """Return the order of one node."""
    return replace(
        order,
        attempt_id=node_attempt(order.attempt_id, given.rank),
        argv=node_argv(order.argv, given.rank),
        env={**order.env, **given.env},
        secrets=given.secrets or order.secrets,
        secret_flags=given.secret_flags or order.secret_flags,
        nodes=(),
    )


def on_node(tree: Sequence[HostProcess], rank: int) -> tuple[HostProcess, ...]:
    """Return the processes of one node of a tree over all of them, with the pids that they have there."""
    step = rank * PID_STEP
    return tuple(replace(p, pid=p.pid - step, ppid=p.ppid - step) for p in tree if p.pid // PID_STEP == rank)


def _of_node(process: HostProcess, rank: int, host: Host) -> HostProcess:
    if rank == 0:
        return process
    command = f"{process.command} [{host.spec.name}, pid {process.pid}]"
    step = rank * PID_STEP
    return replace(process, pid=process.pid + step, ppid=process.ppid + step, command=command)


def _address(spec: HostSpec) -> tuple[str, int, str]:
    return spec.address, spec.port or 0, spec.name
