"""What planning wants next. Values only: attempts/ carries them out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relight.words.attempt import Nogood, Option, Rung
from relight.words.diagnosis import Frame
from relight.words.settings import Repair, Settings


@dataclass(frozen=True)
class Candidate:
    """Settings under consideration: how they came about and what they give up."""

    settings: Settings
    choice: Mapping[str, int | None] = field(default_factory=dict)
    changes: tuple[Repair, ...] = ()
    cost: float = 0.0
    alters_answers: bool = False


@dataclass(frozen=True)
class Launch:
    """Start the engine with these settings."""

    candidate: Candidate
    rung: Rung
    because: str


@dataclass(frozen=True)
class Ask:
    """Ask the host's own argument validation about these candidates before anything is launched."""

    candidates: tuple[Candidate, ...]
    because: str


@dataclass(frozen=True)
class Reject:
    """Record that a candidate is refused before launch, by the rung named."""

    candidate: Candidate
    rung: Rung
    because: str


@dataclass(frozen=True)
class Wait:
    """Wait, then look again: a failure that passes by itself."""

    seconds: float
    because: str


@dataclass(frozen=True)
class Clean:
    """Clear what is left of failed attempts, then go on."""

    because: str


@dataclass(frozen=True)
class Person:
    """Stop: no change of settings can help."""

    because: str
    next: str


@dataclass(frozen=True)
class Exhausted:
    """Stop: every option was tried, excluded, rejected or is protected."""

    options: tuple[Option, ...]
    because: str


@dataclass(frozen=True)
class Spent:
    """Stop: the budget is spent while options are left."""

    options: tuple[Option, ...]
    because: str


Step: TypeAlias = Launch | Ask | Reject | Wait | Clean | Person | Exhausted | Spent


@dataclass(frozen=True)
class Answer:
    """What the host's own argument validation said of one candidate.

    `file` and `line` are where it refused, `frames` the way there through the engine (outermost first); `resolved` is
    what it made of the settings when it passed. Type "NoAnswer": this candidate could not be validated.
    """

    passed: bool
    type: str = ""
    message: str = ""
    file: str = ""
    line: int = 0
    resolved: Mapping[str, Any] = field(default_factory=dict)
    log: str = ""
    frames: tuple[Frame, ...] = ()

    @property
    def refused(self) -> bool:
        """Say whether validation refused; a candidate that could not be validated is not refused."""
        return not self.passed and self.type != "NoAnswer"


@dataclass(frozen=True)
class Plan:
    """A step together with what was learned on the way to it."""

    step: Step
    nogoods: tuple[Nogood, ...] = ()
    options: tuple[Option, ...] = ()
