"""Which settings are the same (CONTRACT.md section 3, "Equal settings")."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from relight.words.parser import HostParser, ParserFlag
from relight.words.settings import Settings

Plain: TypeAlias = bool | int | float | str | tuple[Any, ...]
TRUE_WORDS = frozenset({"1", "true", "True", "yes"})


@dataclass(frozen=True)
class Key:
    """What two launches must share to be the same launch: flags by their first long name, and environment."""

    flags: frozenset[tuple[str, Plain]]
    env: frozenset[tuple[str, str]]


def key(settings: Settings, parser: HostParser | None = None) -> Key:
    """Return the key of `settings`; settings with equal keys start the engine in the same way."""
    flags = ((canonical(name, parser), name, value) for name, value in settings.flags.items())
    kept = {name: value_of(name, value, parser) for name, _, value in flags if counts(name, value, parser)}
    return Key(frozenset(kept.items()), frozenset((n, env_value(v)) for n, v in settings.env.items()))


def canonical(name: str, parser: HostParser | None) -> str:
    """Return the parser's first long name for `name` (aliases, unique abbreviations), else `name` itself."""
    known = _resolve(name, parser)
    return known.name if known else name


def _resolve(name: str, parser: HostParser | None) -> ParserFlag | None:
    if parser is None:
        return None
    return parser.find(name) or parser.resolve(name)


def env_value(text: str) -> str:
    """Return an environment value as it is compared: 1, true, True and yes are one value."""
    return "1" if text in TRUE_WORDS else text


def counts(name: str, value: object, parser: HostParser | None) -> bool:
    """Say whether giving `value` differs from not giving the flag at all."""
    if value is False and not (parser and f"no-{name}" in parser):
        return False
    known = _resolve(name, parser)
    if known is None or known.default is None or known.action == "store_false":
        # What turns its field off has the field's default, not its own.
        return True
    return value_of(name, value, parser) != plain(known.default, known)


def value_of(name: str, value: object, parser: HostParser | None) -> Plain:
    """Return `value` as the parser would store it: 0.90 is 0.9, "4" is 4, a table is its sorted JSON."""
    return plain(value, _resolve(name, parser))


def plain(value: object, known: ParserFlag | None) -> Plain:
    """Return `value` hashable and typed as `known` types it."""
    if isinstance(value, tuple | list):
        return tuple(plain(v, known) for v in value)
    if isinstance(value, Mapping):
        return json.dumps(value, sort_keys=True)
    if isinstance(value, bool):
        return value
    if known and known.type == "json":
        return _json(str(value))
    return _number(value, known)


def _json(text: str) -> Plain:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


def _number(value: object, known: ParserFlag | None) -> Plain:
    """Read numbers as numbers, unless the parser says that the flag holds text."""
    text = str(value)
    if known and known.type == "str":
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


def equal_resolved(
    one: tuple[Settings, Mapping[str, Any]], other: tuple[Settings, Mapping[str, Any]], parser: HostParser | None = None
) -> bool:
    """Say whether the engine resolved both settings to the same, the environment being the same too.

    Numbers the engine makes up (a seed, a port) are not compared where neither settings give them.
    """
    (a, resolved_a), (b, resolved_b) = one, other
    if not resolved_a or not resolved_b or key(a, parser).env != key(b, parser).env:
        return False
    given = {_field(n, parser) for n in (*a.flags, *b.flags)}
    names = (set(resolved_a) | set(resolved_b)) - _made_up(resolved_a, given, parser)
    return all(plain(resolved_a.get(n), None) == plain(resolved_b.get(n), None) for n in names)


def _field(name: str, parser: HostParser | None) -> str:
    """Return the field of the engine's arguments that a flag sets; it need not be called like the flag."""
    known = _resolve(name, parser)
    return known.dest if known else name.replace("-", "_")


def _made_up(resolved: Mapping[str, Any], given: set[str], parser: HostParser | None) -> set[str]:
    return {n for n, v in resolved.items() if n not in given and _is_number(v) and not _has_default(n, parser)}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _has_default(dest: str, parser: HostParser | None) -> bool:
    return any(flag.default is not None for flag in (parser.by_dest(dest) if parser else ()))
