"""A failure as data (CONTRACT.md section 4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from relight.words.settings import FlagValue

Role: TypeAlias = Literal["root", "cascade", "confirmation", "advice", "noise"]
Way: TypeAlias = Literal["up", "down"]
SignatureAction: TypeAlias = Literal["change", "again", "clean", "person"]


@dataclass(frozen=True)
class Remedy:
    """A template for a repair. Values may hold `{fact}`; `add` and `scale` move a number, `bounds` keeps it legal.

    A number that is moved starts from the value in use; where that is not known, the value in `set` is taken.
    `times` names the fact that says how often `scale` is applied, once where it is not known. `only` says which way
    ("up", "down") a number may move at all, as `add` and `scale` do of themselves: where the value in use is beyond
    that of `set` already, it is left alone. A remedy of `platforms` is one on those alone.
    """

    set: Mapping[str, FlagValue] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    set_env: Mapping[str, str] = field(default_factory=dict)
    unset_env: tuple[str, ...] = ()
    add: Mapping[str, float] = field(default_factory=dict)
    scale: Mapping[str, float] = field(default_factory=dict)
    times: str = ""
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    only: Mapping[str, Way] = field(default_factory=dict)
    wait: float = 0.0
    why: str = ""
    gives_up: str = ""
    cost: float = 1.0
    needs: tuple[str, ...] = ()
    versions: str = ""
    platforms: tuple[str, ...] = ()

    def way(self, name: str) -> Way | None:
        """Return the way in which this moves a number, None where it may be either."""
        by = self.scale.get(name, 1.0) - 1.0 or self.add.get(name, 0.0)
        return self.only.get(name) or (("up" if by > 0 else "down") if by else None)


@dataclass(frozen=True)
class Sample:
    """Lines of a log, and which of them (from 1) the signature claims."""

    log: tuple[str, ...]
    line: int = 1


@dataclass(frozen=True)
class Signature:
    """One failure: how it shows, what it is, what helps.

    `generic` loses to any other match; `fatal` says that the line ends the server by itself, so that it counts like
    an exception even where it is an ordinary log record.
    """

    id: str
    title: str
    kind: str
    role: Role = "root"
    action: SignatureAction = "change"
    generic: bool = False
    fatal: bool = False
    any: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    literal: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    phase: tuple[str, ...] = ()
    versions: str = ""
    blames: tuple[str, ...] = ()
    blames_env: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    samples: tuple[Sample, ...] = ()
    near_misses: tuple[Sample, ...] = ()
    summary: str = ""
    next: str = ""
    path: str = ""
