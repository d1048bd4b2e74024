"""A deployment as its operator wrote it (CONTRACT.md section 3)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from relight.words.settings import FlagValue, Settings

Judge: TypeAlias = Literal["strict", "shape", "off"]


@dataclass(frozen=True)
class Variant:
    """One way to have a lever; `off` sets nothing and lets a base value of the same name come back."""

    flags: Mapping[str, FlagValue] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    versions: str = ""
    off: bool = False

    @property
    def first_flag(self) -> str | None:
        """Return the flag whose value decides whether the lever is still this variant."""
        return next(iter(self.flags), None)


@dataclass(frozen=True)
class Lever:
    """Something the operator wants, with its variants, best first."""

    name: str
    variants: tuple[Variant, ...]
    keep: float = 1.0


@dataclass(frozen=True)
class Probe:
    """A question to the server and the pattern its answer must match."""

    prompt: str
    expect: str = ""


@dataclass(frozen=True)
class Health:
    """What healthy means. Durations are seconds."""

    deadline: float = 2700.0
    download: float = 21600.0
    soak: float = 60.0
    judge: Judge = "strict"
    builtin: bool = True
    probes: tuple[Probe, ...] = ()


@dataclass(frozen=True)
class Budget:
    """How much may be spent. `deadline` is seconds; time the host was unreachable or waited for does not count."""

    attempts: int = 20
    deadline: float = 28800.0
    dummy: bool = False
    win_back: int = 0


@dataclass(frozen=True)
class Playbook:
    """Base settings, levers, what is protected, health and budget.

    `fallback` is settings its author knows to work, without what is protected. `text` is the file as read.
    """

    name: str
    engine: str = "sglang"
    flags: Mapping[str, FlagValue] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    protect_flags: frozenset[str] = frozenset()
    protect_env: frozenset[str] = frozenset()
    protect_others: bool = False
    allow_flags: frozenset[str] = frozenset()
    levers: tuple[Lever, ...] = ()
    health: Health = field(default_factory=Health)
    budget: Budget = field(default_factory=Budget)
    fallback: Settings | None = None
    path: str = ""
    text: str = ""
