"""A run and its attempts (CONTRACT.md section 5)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from relight.words.condition import Condition
from relight.words.diagnosis import Diagnosis, Engine
from relight.words.settings import Repair, Settings

Rung: TypeAlias = Literal["parse", "validate", "dummy", "real"]
Outcome: TypeAlias = Literal["healthy", "crashed", "hung", "sick", "rejected", "aborted"]
State: TypeAlias = Literal[
    "running",
    "healthy",
    "failed",
    "exhausted",
    "budget",
    "person",
    "busy",
    "unreachable",
    "interrupted",
    "replaced",
]
SHORT_POOL = "the pool holds"
"""How the note of a sound server begins that holds less than one request of full length."""
OptionStatus: TypeAlias = Literal["tried", "excluded", "rejected", "protected", "untried"]


@dataclass(frozen=True)
class Exit:
    """How a process ended; both None where that is not known."""

    code: int | None = None
    signal: int | None = None


@dataclass(frozen=True)
class Phase:
    """A phase of one start, times in RFC 3339 UTC."""

    name: str
    started: str
    ended: str | None = None


@dataclass(frozen=True)
class NodeEnd:
    """One node of an attempt over several hosts: its log here, how it ended, and what its own log shows of that.

    `ended` is RFC 3339 UTC by our clock; `stopped`: it lived until relight ended it. `first`: it failed first, so its
    log is the one that the attempt's diagnosis is about. `kind` and `text` are the cause in its own log.
    """

    rank: int
    host: str
    log: str = ""
    exit: Exit | None = None
    ended: str | None = None
    stopped: bool = False
    first: bool = False
    kind: str = ""
    text: str = ""


@dataclass(frozen=True)
class Attempt:
    """One set of settings and what became of it. Only rungs dummy and real are launches.

    `choice` maps each lever to the position (from 1) of its variant, None for off;
    `effective` is what the engine said it resolved, where it said so; `gpu_memory` holds (seconds since `started`,
    MiB in use on the fullest card); `remarks` are relight's own sentences, read by the diagnosis after the log;
    `measured` are figures the judge took on the way; `because` is why the plan launched it. `nodes` is empty where one
    host carries it; otherwise `argv` and `log` are the first node's.
    """

    n: int
    rung: Rung
    settings: Settings
    argv: tuple[str, ...] = ()
    changes: tuple[Repair, ...] = ()
    alters_answers: bool = False
    phases: tuple[Phase, ...] = ()
    outcome: Outcome | None = None
    diagnosis: Diagnosis | None = None
    exit: Exit | None = None
    started: str = ""
    ended: str | None = None
    log: str = ""
    logs: tuple[str, ...] = ()
    choice: Mapping[str, int | None] = field(default_factory=dict)
    effective: Mapping[str, Any] = field(default_factory=dict)
    judged: tuple[str, ...] = ()
    gpu_memory: tuple[tuple[float, int], ...] = ()
    remarks: tuple[str, ...] = ()
    measured: Mapping[str, float] = field(default_factory=dict)
    because: str = ""
    nodes: tuple[NodeEnd, ...] = ()

    @property
    def launched(self) -> bool:
        """Say whether this attempt cost a launch."""
        return self.rung in {"dummy", "real"}


@dataclass(frozen=True)
class Term:
    """One part of a nogood: a flag (or env variable) and the values under which it holds.

    `op` compares the effective value with `value`: "=" one of the values, "!=" none of them, "<=", ">=" a bound,
    "set" / "unset" given or not.
    """

    name: str
    op: Literal["=", "!=", "<=", ">=", "set", "unset"]
    value: Any = None
    env: bool = False


@dataclass(frozen=True)
class Nogood:
    """A condition under which the settings are known to fail: all `terms` together.

    `hard` is what validation or an exact condition proves; the rest carries its confidence. Where a check of the engine
    was read, `fails` is what it says of any settings, and `terms` only name what it read with the values it failed at.
    `repairs` are what was proposed for it: a later run that begins under it knows the way out.
    """

    when: str
    because: str
    kind: str
    confidence: float = 1.0
    hard: bool = False
    terms: tuple[Term, ...] = ()
    fails: Condition | None = None
    repairs: tuple[Repair, ...] = ()


@dataclass(frozen=True)
class Option:
    """One way the settings could be changed, and what became of it."""

    change: str
    status: OptionStatus
    why: str = ""


@dataclass(frozen=True)
class LeverState:
    """A lever after the run: positions count from 1, None is off.

    `in_effect` says whether the engine resolved it as given, None where it did not say.
    """

    name: str
    requested: int | None
    kept: int | None
    changed: tuple[str, ...] = ()
    in_effect: bool | None = None


@dataclass(frozen=True)
class Final:
    """The settings that are healthy."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    levers: tuple[LeverState, ...] = ()
    effective: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Incident:
    """A healthy server that died or fell ill later. `at` is RFC 3339 UTC, `healthy` the seconds it was kept before."""

    attempt: int
    at: str
    why: str
    healthy: float = 0.0


@dataclass(frozen=True)
class Record:
    """All that is known of a run: the fold of its events. Paths are relative to `folder`.

    `asked` are the settings wanted most: the playbook with the first variant of each lever that the host can have.
    `unreachable_seconds` is the time the host was out of reach or busy, or nobody worked on the run.
    """

    run: str
    folder: str
    playbook: str
    host: str
    hosts: tuple[str, ...]
    engine: Engine = field(default_factory=Engine)
    state: State = "running"
    started: str = ""
    ended: str | None = None
    attempts: tuple[Attempt, ...] = ()
    nogoods: tuple[Nogood, ...] = ()
    options: tuple[Option, ...] = ()
    final: Final | None = None
    reason: str = ""
    next: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    unreachable_seconds: float = 0.0
    incidents: tuple[Incident, ...] = ()
    asked: Settings | None = None
    schema: int = 1
