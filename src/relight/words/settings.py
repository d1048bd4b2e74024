"""Settings (flags and environment), changes to them, and proposed changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Scalar: TypeAlias = bool | int | float | str
FlagValue: TypeAlias = Scalar | tuple[Scalar, ...] | Mapping[str, Any]
Origin: TypeAlias = Literal["message", "source", "memory", "signature", "lever", "isolation", "operator"]


class WrittenFloat(float):
    """A float that prints as it was written in the file: 0.90 stays 0.90."""

    text: str

    def __new__(cls, text: str) -> "WrittenFloat":  # noqa: PYI034  typing.Self breaks mypy on float.__new__
        value = super().__new__(cls, text)
        value.text = text
        return value

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Change:
    """Edits to settings. Flag names carry no dashes; a name is in `set` or in `unset`, never in both."""

    set: Mapping[str, FlagValue] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    set_env: Mapping[str, str] = field(default_factory=dict)
    unset_env: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """Flags this change touches."""
        return frozenset(self.set) | frozenset(self.unset)

    @property
    def variables(self) -> frozenset[str]:
        """Environment variables this change touches."""
        return frozenset(self.set_env) | frozenset(self.unset_env)

    def __bool__(self) -> bool:
        return bool(self.set or self.unset or self.set_env or self.unset_env)


@dataclass(frozen=True)
class Repair(Change):
    """A proposed change: why it should help and how far that is known.

    `cost` is what is given up (0 = nothing); `doubt` is the part of it that stands for being less likely to help.
    `confirmed` says that the host's own validation passed it. What is `telling` mends nothing: it makes the engine
    tell more of the failure.
    """

    why: str = ""
    origin: Origin = "signature"
    cost: float = 1.0
    confirmed: bool = False
    gives_up: str = ""
    alters_answers: bool = False
    telling: bool = False
    doubt: float = 0.0


@dataclass(frozen=True)
class Settings:
    """What one launch is given: flags without dashes, in order, and environment."""

    flags: Mapping[str, FlagValue] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)

    def changed(self, change: Change) -> "Settings":
        """Return these settings with `change` applied; a name set to its old value keeps its place."""
        flags = {k: v for k, v in self.flags.items() if k not in change.unset} | dict(change.set)
        env = {k: v for k, v in self.env.items() if k not in change.unset_env} | dict(change.set_env)
        return Settings(flags, env)
