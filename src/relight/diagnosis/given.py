"""What the failing command gave, and what is known of the flags of its version."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from relight.logs.marks import as_number
from relight.words.argv import from_argv
from relight.words.knowledge import FlagFact, Knowledge, MemoryFlags, Rename
from relight.words.parser import HostParser
from relight.words.platform import Platform
from relight.words.settings import FlagValue

OWN_VARIABLES = ("SGLANG_",)
_OFF = re.compile(r"['\"]?\b([a-z]\w+)['\"]?\s*[=:]\s*(?:None|null|False|false|\[\]|\{\}|''|\"\")(?=[,)}\s]|$)")
_FIELD = re.compile(r"['\"]?\b([a-z]\w+)['\"]?\s*[=:]\s*('[^']*'|\"[^\"]*\"|-?[\w.+]+)")


@dataclass(frozen=True)
class Given:
    """The flags and variables of a command, the fields the log printed for it, and the parser of its version.

    `env_names` are the engine's variables of that version, empty where they are not known; `facts` are about flags.
    `platform` is what the server runs on, None where the log does not show it; `off` are the fields printed as off,
    `said` the flags that the failing message of a version that is not known names.
    """

    flags: Mapping[str, FlagValue] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    parser: HostParser | None = None
    renames: Sequence[Rename] = ()
    env_names: frozenset[str] = frozenset()
    facts: Mapping[str, FlagFact] = field(default_factory=dict)
    platform: Platform | None = None
    off: frozenset[str] = frozenset()
    said: frozenset[str] = frozenset()
    memory: MemoryFlags = field(default_factory=MemoryFlags)

    @cached_property
    def _by_dest(self) -> dict[str, str]:
        return {self._dest(name): name for name in self.flags}

    def _dest(self, name: str) -> str:
        flag = self.parser.resolve(name) if self.parser else None
        return flag.dest if flag else name.replace("-", "_")

    def written(self, name: str) -> str | None:
        """Return `name` as the command wrote it, None where the command does not give it.

        Where the command is not known at all, every flag of the version may be given.
        """
        if name in self.flags:
            return name
        if not self.flags:
            return self._supposed(name)
        return self._by_dest.get(self._dest(name))

    def _supposed(self, name: str) -> str | None:
        """Return a flag of this version as if it were given: the command is not known, so any may be.

        Not one that the log's own dump of all arguments says to be off.
        """
        flag = self.parser.resolve(name) if self.parser is not None else None
        return None if flag is None or flag.dest in self.off else name

    def name(self, flag: str) -> str | None:
        """Return the name this version has for `flag`: as the command wrote it where it did; None if it has none.

        Of a version that is not known the failing message knows the names.
        """
        written = (self.written(flag) if self.flags else None) or self._as_said(flag)
        if written or self.parser is None or flag in self.parser:
            return written or flag
        for rename in self.renames:
            if rename.old == flag and not rename.env:
                return next((n for n in rename.set if n in self.parser), None)
            if flag in rename.set and rename.old in self.parser:
                return rename.old
        return None

    def _as_said(self, flag: str) -> str | None:
        renames = [r for r in self.renames if not r.env]
        older = (r.old for r in renames if flag in r.set)
        newer = (n for r in renames if r.old == flag for n in r.set)
        return next((n for n in (flag, *older, *newer) if n in self.said), None)

    def has_variable(self, name: str) -> bool:
        """Say whether this version reads the variable; other programs' variables are taken as read."""
        return not (self.env_names and name.startswith(OWN_VARIABLES)) or name in self.env_names

    def value(self, flag: str) -> FlagValue | None:
        """Return the value in use: given, else printed by the log, else None."""
        written = self.written(flag)
        if written is not None and written in self.flags:
            value = self.flags[written]
            return as_number(value) if isinstance(value, str) else value
        found: FlagValue | None = self.fields.get(self._dest(flag))
        return found

    def number(self, name: str) -> int | float | None:
        """Return the number in use of a flag or a variable, None where it is not known, or none."""
        value = as_number(self.env.get(name, "")) if name.isupper() else self.value(name)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def in_effect(self, flag: str) -> FlagValue | None:
        """Return the value in use, that of the parser where the command is known and does not give the flag."""
        value = self.value(flag)
        known = self.parser.resolve(flag) if self.parser and self.flags and value is None else None
        default: FlagValue | None = known.default if known else value
        return default


def read_given(
    argv: Sequence[str], env: Mapping[str, str], printed: str, knowledge: Knowledge, version: str | None
) -> Given:
    """Put together what is known of a command. `printed` is the log's own dump of its arguments, empty without one."""
    parser, names = knowledge.parser_for(version), knowledge.env_names_for(version)
    flags, fields, off = from_argv(argv, parser), _fields(printed), frozenset(_OFF.findall(printed))
    return Given(
        flags, env, fields, parser, knowledge.renames, names, knowledge.facts, off=off, memory=knowledge.memory
    )


def _fields(printed: str) -> dict[str, Any]:
    found = {name: as_number(value.strip("'\"")) for name, value in _FIELD.findall(printed)}
    return {k: v for k, v in found.items() if v not in {"None", "null", ""}}
