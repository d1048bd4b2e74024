"""What a log shows: one cause, its evidence, and proposed repairs (CONTRACT.md section 6)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from relight.words.condition import Condition
from relight.words.settings import Repair

Verdict: TypeAlias = Literal["failed", "healthy", "starting", "unknown"]
NOT_THE_ENGINES = "a text without a word of the engine"
"""The form of another program's log."""
Advice: TypeAlias = Literal["change", "again", "clean", "person", "none"]


@dataclass(frozen=True)
class Frame:
    """One frame of a Python traceback, outermost first."""

    file: str
    line: int
    function: str
    text: str = ""


@dataclass(frozen=True)
class Traceback:
    """The block of a chained traceback that names the cause."""

    type: str
    message: str
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class Constraint:
    """The condition that failed, read from the engine's source.

    `condition` and `guards` are plain words; `flags` and `env` are what they read; `values` what those held;
    `operand` the part that was false; `opaque` the parts that could not be read; `origins` where each of the values
    comes from ("command line", "default", "environment", ...). `fails` says of any settings whether they break it, None
    where too much of it depends on what was not read.
    """

    file: str
    line: int
    condition: str
    guards: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    operand: str = ""
    opaque: tuple[str, ...] = ()
    excerpt: tuple[tuple[int, str], ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    fails: Condition | None = None


@dataclass(frozen=True)
class LogLine:
    """A numbered line of a log (from 1), decoded, without control sequences."""

    line: int
    text: str


@dataclass(frozen=True)
class Cause:
    """The root cause, with the line that shows it.

    `blames` are the flags that can bring such a failure about, `suspects` those that steer the place it happened at.
    A failure that is `late` was noticed by a call that came after what failed: line and frames are the symptom.
    """

    family: str
    kind: str
    signature: str | None
    fingerprint: str
    line: int | None
    text: str
    rank: str | None
    phase: str | None
    confidence: float
    summary: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    blames: tuple[str, ...] = ()
    blames_env: tuple[str, ...] = ()
    alters_weights: bool = False
    suspects: tuple[str, ...] = ()
    late: bool = False


@dataclass(frozen=True)
class Engine:
    """The engine as the log or the host names it."""

    name: str = "sglang"
    version: str | None = None


@dataclass(frozen=True)
class Want:
    """A piece of a source file the diagnosis would read further with: the whole file around `line`."""

    file: str
    line: int


@dataclass(frozen=True)
class Diagnosis:
    """One log, diagnosed. `next` is what a person can do, where the signature says so.

    `details` are lines apart from the cause that say why. `form` is what the text is, where it looks like no log.
    """

    log: str
    verdict: Verdict
    engine: Engine = field(default_factory=Engine)
    cause: Cause | None = None
    traceback: Traceback | None = None
    constraint: Constraint | None = None
    cascade: tuple[LogLine, ...] = ()
    repairs: tuple[Repair, ...] = ()
    action: Advice = "none"
    evidence: tuple[LogLine, ...] = ()
    memory: tuple[str, ...] = ()
    wants: tuple[Want, ...] = ()
    next: str = ""
    details: tuple[LogLine, ...] = ()
    form: str = ""
