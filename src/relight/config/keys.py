"""What a file may hold: closed tables of keys that check a document and describe it as JSON Schema."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from relight.config.document import Document, shown
from relight.config.durations import ALLOWED, parse_duration
from relight.config.lines import KeyPath
from relight.words.near import meant
from relight.words.text import names_a_secret

FLAG_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
HIGHEST_PORT = 65535
PORTS = f"1 to {HIGHEST_PORT}"
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Key:
    """One key: what kind of value it takes and what it is for.

    `keys` are the keys of a table (or of each table in a list); `each` is what every free name of a map holds.
    """

    kind: str
    doc: str
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    keys: Mapping[str, "Key"] = field(default_factory=dict)
    each: "Key | None" = None


def check(document: Document, keys: Mapping[str, Key], values: Mapping[str, Any], at: KeyPath = ()) -> dict[str, Any]:
    """Return the values of one table, checked and with defaults. UsageError at the first key that is wrong."""
    for name in values:
        if name not in keys:
            raise unknown_key(document, (*at, name), keys)
    out: dict[str, Any] = {}
    for name, key in keys.items():
        if name in values:
            out[name] = check_value(document, key, values[name], (*at, name))
        elif key.required:
            where = f"[{shown(at)}]" if at else "the file"
            raise document.error(at, f"{where} has no '{name}'", next=f"add {name} = ... ({key.doc})")
        else:
            out[name] = _absent(document, key, (*at, name))
    return out


def unknown_key(document: Document, at: KeyPath, known: Mapping[str, Key]) -> Exception:
    """Return the error for a key that the table does not have."""
    where = f" in [{shown(at[:-1])}]" if at[:-1] else ""
    text = f"unknown key '{at[-1]}'{where}; known: {', '.join(sorted(known))}"
    return document.error(at, text, next=meant(str(at[-1]), known))


def _absent(document: Document, key: Key, at: KeyPath) -> Any:
    if key.kind == "table":
        return check(document, key.keys, {}, at)
    if key.kind in {"map", "flags", "env"}:
        return {}
    if key.kind == "tables":
        return []
    return key.default


def check_value(document: Document, key: Key, value: Any, at: KeyPath) -> Any:
    """Return `value` as the key's kind wants it, or raise UsageError saying what is allowed."""
    checked = _CONTAINERS.get(key.kind)
    if checked:
        return checked(document, key, value, at)
    fits, allowed, _ = _SCALARS[key.kind]
    if not fits(value):
        raise document.error(at, f"{shown(at)} must be {allowed}, not {_seen(value)}")
    if key.choices and value not in key.choices:
        known = ", ".join(key.choices)
        raise document.error(at, f"{shown(at)} is '{value}'; allowed: {known}", next=meant(str(value), key.choices))
    return _converted(document, key, value, at)


def _converted(document: Document, key: Key, value: Any, at: KeyPath) -> Any:
    if key.kind == "duration":
        try:
            return parse_duration(value)
        except ValueError as error:
            raise document.error(at, f"{shown(at)}: {error}") from None
    if key.kind == "number":
        return float(value)
    return tuple(value) if isinstance(value, list) and key.kind != "anything" else value


def _seen(value: Any) -> str:
    """Name what stands there: numbers by their value; of a text only that it is one, for it may be a secret."""
    if isinstance(value, bool | int | float) or (isinstance(value, list) and all(_is(v, int) for v in value)):
        return json.dumps(value)
    names = {str: "a text", list: "a list", dict: "a table"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "a date or time")


def _table(document: Document, key: Key, value: Any, at: KeyPath) -> dict[str, Any]:
    return check(document, key.keys, _mapping(document, value, at), at)


def _mapping(document: Document, value: Any, at: KeyPath) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise document.error(at, f"{shown(at)} must be a table, not {_seen(value)}")
    return value


def _tables(document: Document, key: Key, value: Any, at: KeyPath) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
        raise document.error(at, f"{shown(at)} must be a list of tables: write [[{at[-1]}]]")
    return [check(document, key.keys, v, (*at, i)) for i, v in enumerate(value)]


def _map(document: Document, key: Key, value: Any, at: KeyPath) -> dict[str, Any]:
    assert key.each is not None  # noqa: S101  a map without `each` is a mistake in our own tables
    each = key.each
    return {n: check_value(document, each, v, (*at, n)) for n, v in _mapping(document, value, at).items()}


def _flags(document: Document, key: Key, value: Any, at: KeyPath) -> dict[str, Any]:  # noqa: ARG001  one shape for all
    out = {}
    for name, given in _mapping(document, value, at).items():
        flag_name(document, name, (*at, name))
        out[name] = _flag_value(document, given, (*at, name))
        if name == "port" and not is_port(given):
            raise document.error((*at, name), f"{shown((*at, name))} is no port", next=PORTS)
    return out


def is_port(value: Any) -> bool:
    """Say whether a value can be a TCP port; what is no number is its parser's to refuse."""
    return not _is(value, int) or 1 <= value <= HIGHEST_PORT


def flag_name(document: Document, name: str, at: KeyPath) -> None:
    """Refuse what cannot be a flag's name, dashes in front above all."""
    if not FLAG_NAME.fullmatch(name):
        bare = name.lstrip("-")
        fix = f"write {bare}" if FLAG_NAME.fullmatch(bare) else "letters, digits, '-', '_' and '.'"
        raise document.error(at, f"'{name}' is not a flag's name; names carry no dashes in front", next=fix)


def _flag_value(document: Document, value: Any, at: KeyPath) -> Any:
    if isinstance(value, bool | int | float | str | dict):
        return value
    if isinstance(value, list) and all(isinstance(v, bool | int | float | str) for v in value):
        return tuple(value)
    allowed = "a boolean, number, text, list of those, or an inline table (JSON)"
    raise document.error(at, f"{shown(at)} must be {allowed}")


def _env(document: Document, key: Key, value: Any, at: KeyPath) -> dict[str, str]:  # noqa: ARG001  one shape for all
    out = {}
    for name, given in _mapping(document, value, at).items():
        if not ENV_NAME.fullmatch(name):
            raise document.error((*at, name), f"'{name}' is not a variable's name")
        if isinstance(given, bool) or not isinstance(given, str | int):
            text = f"{shown((*at, name))} must be a text or an integer, not {_seen(given)}"
            raise document.error((*at, name), text, next=f'write {name} = "{_quoted(given)}"')
        if given != "" and names_a_secret(name):
            text = f"{name} is a secret and must not stand here"
            raise document.error((*at, name), text, next=f'write {name} = "env:{name}" under [hosts.NAME.secrets]')
        out[name] = str(given)
    return out


def _quoted(value: Any) -> str:
    return ("1" if value else "0") if isinstance(value, bool) else str(value)


def _all(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(_is(v, kind) for v in value)


def _is(value: Any, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool)


_DURATION = r"^(\d+d)?(\d+h)?(\d+m)?(\d+(\.\d+)?s)?$"
_SCALARS: dict[str, tuple[Callable[[Any], bool], str, dict[str, Any]]] = {
    "text": (lambda v: isinstance(v, str), "a text", {"type": "string"}),
    "duration": (lambda v: isinstance(v, str), ALLOWED, {"type": "string", "pattern": _DURATION}),
    "boolean": (lambda v: _is(v, bool), "true or false", {"type": "boolean"}),
    "integer": (lambda v: _is(v, int), "an integer", {"type": "integer"}),
    "count": (lambda v: _is(v, int) and v >= 0, "an integer, 0 or more", {"type": "integer", "minimum": 0}),
    "port": (
        lambda v: _is(v, int) and is_port(v),
        f"a port, {PORTS}",
        {"type": "integer", "minimum": 1, "maximum": HIGHEST_PORT},
    ),
    "number": (lambda v: _is(v, (int, float)), "a number", {"type": "number"}),
    "texts": (_all(str), "a list of texts", {"type": "array", "items": {"type": "string"}}),
    "indexes": (
        lambda v: _all(int)(v) and all(i >= 0 for i in v) and len(set(v)) == len(v),
        "a list of different integers, 0 or more",
        {"type": "array", "items": {"type": "integer", "minimum": 0}, "uniqueItems": True},
    ),
    "anything": (lambda _: True, "any value", {}),
}  # fmt: skip
_CONTAINERS: dict[str, Callable[[Document, Key, Any, KeyPath], Any]] = {
    "table": _table,
    "tables": _tables,
    "map": _map,
    "flags": _flags,
    "env": _env,
}


def json_schema(keys: Mapping[str, Key]) -> dict[str, Any]:
    """Return the JSON Schema of one table, for editors."""
    required = [name for name, key in keys.items() if key.required]
    out: dict[str, Any] = {
        "type": "object",
        "properties": {name: _schema(key) for name, key in keys.items()},
        "additionalProperties": False,
    }
    return out | ({"required": required} if required else {})


def _schema(key: Key) -> dict[str, Any]:
    out = {"description": key.doc} | _shape(key)
    if key.choices:
        out["enum"] = list(key.choices)
    return out


def _shape(key: Key) -> dict[str, Any]:
    if key.kind == "table":
        return json_schema(key.keys)
    if key.kind == "tables":
        return {"type": "array", "items": json_schema(key.keys)}
    if key.kind == "map" and key.each:
        return {"type": "object", "additionalProperties": _schema(key.each)}
    if key.kind == "flags":
        return {"type": "object", "additionalProperties": {"type": ["boolean", "number", "string", "array", "object"]}}
    if key.kind == "env":
        return {"type": "object", "additionalProperties": {"type": ["string", "integer"]}}
    return dict(_SCALARS[key.kind][2])
