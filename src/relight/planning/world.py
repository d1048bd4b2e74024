"""What planning is told besides the record and the playbook."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from relight.words.attempt import Nogood
from relight.words.knowledge import Knowledge
from relight.words.parser import HostParser
from relight.words.settings import Change, Settings
from relight.words.step import Answer

HOST_ROOM = 0.9
"""The part of a host's memory that ranks may take."""


@dataclass(frozen=True)
class World:
    """What the host, the operator and earlier runs say.

    `parser` is the host's own parser (None where it cannot be asked), `version` its engine's version.
    `answers` is everything the host's argument validation said in this run; `can_ask` says whether it can be asked
    about more, `oracle_trusted` whether its refusals hold for a real launch.
    `overrides` come from --set, --unset and --env, and protect what they name. `host_env` is hosts.toml's.
    `spent_seconds` is the time used so far (unreachable time left out); `max_attempts` and `deadline` (seconds)
    override the playbook's budget.
    `learned` and `known_good` come from earlier runs; what another engine version taught is handed in as not hard
    and with a lowered confidence.
    `settled` is the number of the last attempt after which a Wait or Clean was carried out.
    `load_seconds` is how long the last real load of weights took. `port_holder` names the foreign process that
    listens on the port ("" when nobody does), `memory_holder` those that hold memory of the cards.
    `gpu_count` counts the cards of all hosts, `host_gib` their memory.
    `died` is the number of a healthy attempt whose server died later.
    `gpu_count` and `gpu_names` are of the cards this launch may use.
    """

    parser: HostParser | None = None
    version: str | None = None
    knowledge: Knowledge = field(default_factory=Knowledge)
    answers: tuple[tuple[Settings, Answer], ...] = ()
    can_ask: bool = False
    oracle_trusted: bool = True
    overrides: Change = field(default_factory=Change)
    host_env: Mapping[str, str] = field(default_factory=dict)
    spent_seconds: float = 0.0
    max_attempts: int | None = None
    deadline: float | None = None
    learned: tuple[Nogood, ...] = ()
    known_good: Settings | None = None
    settled: int = 0
    load_seconds: float | None = None
    port_holder: str = ""
    memory_holder: str = ""
    died: int | None = None
    gpu_count: int | None = None
    host_gib: float | None = None

    @property
    def share(self) -> float | None:
        """Return the GiB of host memory that each card's rank may take, None where it is not known."""
        return round(self.host_gib * HOST_ROOM / self.gpu_count, 1) if self.host_gib and self.gpu_count else None

    gpu_names: tuple[str, ...] = ()
