"""What the settings held when the engine refused them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from relight.words.settings import FlagValue, Settings


@dataclass(frozen=True)
class Values:
    """What is known about the values a condition read.

    `flags` are the command line as given (names without dashes, text or typed), `env` the environment,
    `resolved` fields the engine printed or answered after its own rewriting, `facts` anything else by name
    (a model's number of heads).
    """

    flags: Mapping[str, FlagValue] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    resolved: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings, *, resolved: Mapping[str, Any] | None = None) -> "Values":
        """Return the values of settings as they are given to a launch."""
        return cls(settings.flags, settings.env, resolved or {})
