"""What is known about the engine, loaded from playbooks/ by config/ and handed to the pure rooms."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from relight.words.area import Areas
from relight.words.parser import HostParser
from relight.words.platform import Card, Platform
from relight.words.settings import FlagValue
from relight.words.signature import Signature

_T = TypeVar("_T")
MarkRole: TypeAlias = Literal["begin", "end", "progress", "point", "ready", "fact", "frame", "through", "routine"]


@dataclass(frozen=True)
class PhasePattern:
    """A line that marks a phase. `regex` is searched in the message after the prefix was taken off.

    With role "frame" it is searched in the frames of a traceback instead ("path/file.py function", one a line).
    Role "through" are the innermost frames that only pass a call on to compiled code.
    Role "routine" are whole lines of everyday serving that show nothing and need not be looked at.
    `patience` is how long (seconds) the phase may stay silent without a sign of life. One of `literal` (lower case)
    occurs in every line that matches; () where that is not known.
    """

    id: str
    phase: str
    role: MarkRole
    regex: str
    patience: float = 0.0
    literal: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rename:
    """What became of a flag (or, with `env`, a variable): `set` is what to give instead, empty when it is just gone.

    `{value}` in `set` stands for the old value; `values` maps old values to new ones; `since` is the first
    sampled version without the old name.
    """

    old: str
    set: Mapping[str, FlagValue] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    since: str = ""
    why: str = ""
    env: bool = False


@dataclass(frozen=True)
class FlagFact:
    """What planning must know about a flag: its neighbours, bounds, and whether changing it can alter answers.

    `purpose` flags say what a server is for; no repair gives them where nobody did. What is `diagnostic` makes the
    engine tell more and mends nothing. `cards` flags count cards, `host_memory` flags GB of host memory for each rank.
    What is `unsuspected` is changed only for failures that speak of it.
    """

    name: str
    alters_answers: bool = False
    always_protected: bool = False
    secret: bool = False
    bounds: tuple[float, float] | None = None
    ladder: tuple[FlagValue, ...] = ()
    cost: float = 1.0
    gives_up: str = ""
    purpose: bool = False
    diagnostic: bool = False
    cards: bool = False
    unsuspected: bool = False
    host_memory: bool = False


@dataclass(frozen=True)
class MemoryFlags:
    """The flags that sums about GPU memory read and move, "" where the engine has none.

    `fraction` is the part of a card that weights and pools may fill, `offload` the GB of weights kept in host memory,
    `draft` what loads a second model, unless it has one of the values `draftless`.
    """

    fraction: str = ""
    offload: str = ""
    draft: str = ""
    draftless: frozenset[FlagValue] = frozenset()


@dataclass(frozen=True)
class Knowledge:
    """Signatures, areas, phases, and the flags of every sampled version.

    `versions` maps a version to the parser it had; `env` maps a version to its variables and defaults, `env_names`
    to every variable of the engine that its source names.
    """

    signatures: tuple[Signature, ...] = ()
    phases: tuple[PhasePattern, ...] = ()
    renames: tuple[Rename, ...] = ()
    facts: Mapping[str, FlagFact] = field(default_factory=dict)
    versions: Mapping[str, HostParser] = field(default_factory=dict)
    env: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    env_names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    areas: Areas = field(default_factory=Areas)
    platforms: tuple[Platform, ...] = ()
    cards: tuple[Card, ...] = ()
    memory: MemoryFlags = field(default_factory=MemoryFlags)

    def parser_for(self, version: str | None) -> HostParser | None:
        """Return the table of the sampled version nearest below `version` (the newest when it is unknown)."""
        return _nearest(self.versions, version)

    def env_names_for(self, version: str | None) -> frozenset[str]:
        """Return the engine's variables of the version nearest below `version`, of any where it is unknown."""
        names: frozenset[str] = frozenset().union(*self.env_names.values())
        return names if version is None else _nearest(self.env_names, version) or names


def _nearest(table: Mapping[str, _T], version: str | None) -> _T | None:
    ordered = sorted(table, key=version_key)
    if not ordered:
        return None
    fit = [v for v in ordered if version is None or version_key(v) <= version_key(version)]
    return table[(fit or ordered[:1])[-1]]


def version_key(version: str) -> tuple[tuple[int, ...], int]:
    """Order versions: "0.5.9" < "0.5.12.post1" < "0.5.16"; anything after the numbers counts as a later build."""
    numbers: list[int] = []
    for part in version.lstrip("v").split("."):
        if not part.isdigit():
            return tuple(numbers), 1
        numbers.append(int(part))
    return tuple(numbers), 0
