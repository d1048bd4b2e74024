"""Where a run happens: its order, host, journal, knowledge and clock, and what is known of the host."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relight.attempts.clock import Clock, stamp
from relight.attempts.order import RunOrder
from relight.hosts.interface import Host
from relight.hosts.nodes import Nodes, members, node_attempt
from relight.hosts.values import HostFacts, Owner
from relight.journal.journal import Journal
from relight.journal.learned import Learned
from relight.words.attempt import Attempt, Record
from relight.words.events import Event, EventName
from relight.words.host import Gpu
from relight.words.knowledge import Knowledge
from relight.words.parser import HostParser
from relight.words.settings import Settings
from relight.words.step import Answer

NEVER = -1e9
"""When (monotonic seconds) the lock was last renewed of a run that does not hold it yet, or may have lost it."""


@dataclass(frozen=True)
class Known:
    """What the host said when it was reached. `baseline` is the free memory (MiB) per card before our first attempt."""

    facts: HostFacts
    gpus: tuple[Gpu, ...]
    version: str | None
    parser: HostParser | None
    parser_fault: str = ""


@dataclass
class Site:
    """Everything one run works with. `known` is filled when the host is reached; the answers grow as it is asked.

    `meeting` is the address of the first of several nodes at which the others reach it.
    """

    order: RunOrder
    host: Host
    journal: Journal
    knowledge: Knowledge
    clock: Clock
    emit: Callable[[Event], None]
    known: Known | None = None
    learned: Learned | None = None
    answers: tuple[tuple[Settings, Answer], ...] = ()
    can_ask: bool = True
    oracle_trusted: bool = True
    stopped: frozenset[int] = frozenset()
    settled: int = 0
    port_holder: str = ""
    memory_holder: str = ""
    beaten: float = NEVER
    spent_before: float = 0.0
    reached: float | None = None
    away: float = 0.0
    meeting: str = ""

    @property
    def record(self) -> Record:
        """Return what the journal holds now."""
        return self.journal.record

    @property
    def died(self) -> int | None:
        """Return the last healthy attempt whose server died."""
        return self.record.incidents[-1].attempt if self.record.incidents else None

    @property
    def owner(self) -> Owner:
        """Return who holds our locks."""
        order = self.order
        return Owner(self.record.run, order.owner_user, order.owner_host, order.owner_pid)

    @property
    def nodes(self) -> tuple[Host, ...]:
        """Return the hosts of this run in the order of rank: one, unless the server stands on several nodes."""
        return members(self.host)

    @property
    def parser(self) -> HostParser | None:
        """Return the host's parser, None where it could not be asked."""
        return self.known.parser if self.known else None

    @property
    def version(self) -> str | None:
        """Return the engine's version on the host."""
        return self.known.version if self.known else None

    def attempt(self, n: int) -> Attempt:
        """Return attempt `n`."""
        return next(a for a in self.record.attempts if a.n == n)

    def attempt_id(self, n: int, rank: int = 0) -> str:
        """Return the name under which the host (node `rank` of several) knows attempt `n`."""
        return node_attempt(f"{self.record.run}.{n}", rank)

    def clock_offset(self, rank: int = 0) -> float:
        """Return by how many seconds the clock of a node is ahead of ours."""
        facts = self.host.facts if isinstance(self.host, Nodes) else ()
        if rank < len(facts):
            return facts[rank].clock_offset
        return self.known.facts.clock_offset if self.known else 0.0

    def log_path(self, n: int, rank: int = 0) -> Path:
        """Return where the log of attempt `n` (on node `rank` of several) is kept here."""
        return self.journal.folder / log_name(n, rank)

    def stamp(self) -> str:
        """Return the time now."""
        return stamp(self.clock.now())

    def note(
        self,
        event: EventName,
        n: int | None = None,
        /,
        *,
        record: Mapping[str, Any] | None = None,
        attempt: Mapping[str, Any] | None = None,
        **data: Any,
    ) -> None:
        """Journal an event, with what it changes in the record and in attempt `n`, then tell whoever listens."""
        changes = {"set_record": record, "set_attempt": attempt}
        full = Event(self.stamp(), self.record.run, n, event, {**data, **{k: v for k, v in changes.items() if v}})
        self.journal.write(full)
        self.emit(full)

    def tell(self, event: EventName, n: int | None = None, /, **data: Any) -> None:
        """Tell whoever listens; nothing is journaled, because nothing changed."""
        self.emit(Event(self.stamp(), self.record.run, n, event, data))


def log_name(n: int, rank: int = 0) -> str:
    """Return the name of attempt `n`'s log (of node `rank`), relative to the run folder."""
    return f"attempts/{n:03}/server.node{rank}.log" if rank else f"attempts/{n:03}/server.log"
