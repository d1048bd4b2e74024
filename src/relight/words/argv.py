"""Settings to argv and back (CONTRACT.md section 3, "To argv")."""

import json
from collections.abc import Iterable, Mapping, Sequence

from relight.words.parser import HostParser, ParserFlag
from relight.words.settings import FlagValue


def to_argv(flags: Mapping[str, FlagValue], parser: HostParser | None = None) -> tuple[str, ...]:
    """Return the words of a command line for `flags`, in order, without the interpreter and the module."""
    words: list[str] = []
    for name, value in flags.items():
        words += _words(name, value, parser)
    return tuple(words)


def _words(name: str, value: FlagValue, parser: HostParser | None) -> list[str]:
    if value is True:
        return [f"--{name}"]
    if value is False:
        return [f"--no-{name}"] if parser and f"no-{name}" in parser else []
    if isinstance(value, tuple | list):
        return [f"--{name}", *(_text(v) for v in value)]
    text = _text(value)
    return [f"--{name}={text}"] if text.startswith("-") else [f"--{name}", text]


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return json.dumps(value, separators=(",", ":"))
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def from_argv(words: Sequence[str], parser: HostParser | None = None) -> dict[str, FlagValue]:
    """Return the flags of a command line, keyed by the names as written; values stay text.

    Without a parser a flag followed by no value is taken for a switch. Words before the first flag are skipped.
    """
    flags: dict[str, FlagValue] = {}
    for name, values in _grouped(words):
        known = parser.resolve(name) if parser else None
        flags[name] = _value(values, known)
    return flags


def _grouped(words: Iterable[str]) -> list[tuple[str, list[str]]]:
    groups: list[tuple[str, list[str]]] = []
    for word in words:
        if word.startswith("--") and len(word) > 2:
            name, has_value, value = word[2:].partition("=")
            groups.append((name, [value] if has_value else []))
        elif groups:
            groups[-1][1].append(word)
    return groups


def _value(values: list[str], known: ParserFlag | None) -> FlagValue:
    if not values:
        return True
    if known and known.nargs in {"+", "*"}:
        return tuple(values)
    return values[0] if len(values) == 1 else tuple(values)
