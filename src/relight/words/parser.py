"""The host's own argument parser, as the host described it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

Action: TypeAlias = Literal["store", "store_true", "store_false", "boolean_optional", "append", "other"]


@dataclass(frozen=True)
class ParserFlag:
    """One option of the parser; `names` are its long spellings without dashes, in the parser's order.

    `type` is the converter's name ("int", "float", "str", "json" ...); `default` None: it has none.
    """

    names: tuple[str, ...]
    dest: str
    type: str = "str"
    choices: tuple[str, ...] = ()
    default: Any = None
    nargs: str | int | None = None
    action: Action = "store"
    required: bool = False
    deprecated: str = ""

    @property
    def name(self) -> str:
        """Return the first long name: the spelling used when settings are compared."""
        return self.names[0]

    @property
    def takes_value(self) -> bool:
        """Say whether the option is followed by a value."""
        return self.action in {"store", "append", "other"}


@dataclass(frozen=True)
class HostParser:
    """All options of one installed engine version; `cuda` is what it is built for, where its torch says so."""

    flags: tuple[ParserFlag, ...]
    version: str | None = None
    cuda: str | None = None

    @cached_property
    def _by_name(self) -> dict[str, ParserFlag]:
        return {name: flag for flag in self.flags for name in flag.names}

    @cached_property
    def _by_dest(self) -> dict[str, tuple[ParserFlag, ...]]:
        out: dict[str, tuple[ParserFlag, ...]] = {}
        for flag in self.flags:
            out[flag.dest] = (*out.get(flag.dest, ()), flag)
        return out

    @cached_property
    def _matched(self) -> dict[str, tuple[ParserFlag, ...]]:
        return {}

    def __iter__(self) -> Iterator[ParserFlag]:
        return iter(self.flags)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def find(self, name: str) -> ParserFlag | None:
        """Return the option spelled exactly `name` (no dashes), else None."""
        return self._by_name.get(name)

    def by_dest(self, dest: str) -> tuple[ParserFlag, ...]:
        """Return the options that write the field `dest`."""
        return self._by_dest.get(dest, ())

    def matches(self, name: str) -> tuple[ParserFlag, ...]:
        """Return what argparse would take `name` for: one exact option, or every option it abbreviates."""
        exact = self.find(name)
        if exact:
            return (exact,)
        if name not in self._matched:
            found = {f.name: f for n, f in self._by_name.items() if n.startswith(name)}
            self._matched[name] = tuple(found.values())
        return self._matched[name]

    def resolve(self, name: str) -> ParserFlag | None:
        """Return the one option that `name` means, abbreviations included, else None."""
        found = self.matches(name)
        return found[0] if len(found) == 1 else None
