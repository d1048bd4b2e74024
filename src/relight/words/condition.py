"""The condition under which a check of the engine fails, as a value that any settings can be held against."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from relight.words.operations import FAULT, UNKNOWN, apply, truth

SWITCHES = "switch"
TRUE_WORDS = frozenset({"1", "true", "yes", "y", "on"})


@dataclass(frozen=True)
class Part:
    """One part of a condition.

    `op` is "const" (`value`), "held" (a value that is known of one failure only), "flag" or "env" (what is given under
    one of `names`, read as `kind`, else `value`), "given" (whether anything is), "unknown", or an operation on the
    parts at the positions `args`.
    """

    op: str
    args: tuple[int, ...] = ()
    value: Any = None
    names: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True)
class Condition:
    """When a check fails: each part refers to earlier ones, the last one says it, `words` say it to a person.

    `exact` means that settings alone decide it: no value is taken over from the failure it was read at, and no code
    that was not read can have changed one.
    """

    parts: tuple[Part, ...]
    words: str = ""
    exact: bool = False


Look: TypeAlias = Callable[[Part], Any]


def fails(condition: Condition, look: Look, *, held: bool = True) -> Any:
    """Return whether the check fails: True, False, UNKNOWN or FAULT.

    `look` gives the value of a flag or variable; without `held`, values that belong to one failure are not known.
    """
    values: list[Any] = []
    for part in condition.parts:
        values.append(_value(part, values, look, held=held))
    return truth(values[-1]) if values else UNKNOWN


def _value(part: Part, before: list[Any], look: Look, *, held: bool) -> Any:
    if part.op in {"flag", "env", "given"}:
        return look(part)
    if part.op == "const" or (part.op == "held" and held):
        return thawed(part.value)
    if part.op in {"held", "unknown"}:
        return UNKNOWN
    return combined(part.op, [before[n] for n in part.args])


def combined(op: str, args: list[Any]) -> Any:
    """Return what an operation makes of values, some of which may not be known."""
    if op in {"and", "or"}:
        return _joined(op, [truth(a) for a in args])
    if op == "not":
        return args[0] if args[0] is UNKNOWN or args[0] is FAULT else not args[0]
    if op == "if":
        return _chosen(*args)
    if any(a is FAULT for a in args):
        return FAULT
    return UNKNOWN if any(a is UNKNOWN for a in args) else apply(op, args)


def _joined(op: str, truths: list[Any]) -> Any:
    """Return a conjunction or disjunction; a fault behind what is not known may never be reached."""
    ends = op == "or"
    seen: Any = not ends
    for now in truths:
        if now is ends or now is FAULT:
            return now if now is ends or seen is not UNKNOWN else UNKNOWN
        seen = UNKNOWN if now is UNKNOWN else seen
    return seen


def _chosen(test: Any, then: Any, other: Any) -> Any:
    now = truth(test)
    if now is FAULT or now is UNKNOWN:
        same = then is not FAULT and type(then) is type(other) and then == other
        return FAULT if now is FAULT else then if same else UNKNOWN
    return then if now else other


def thawed(value: Any) -> Any:
    """Return a value as it was before it went through JSON: lists are tuples."""
    return tuple(thawed(v) for v in value) if isinstance(value, list | tuple) else value


def read_as(kind: str, value: Any) -> Any:
    """Return a given value as the engine holds it, UNKNOWN where that cannot be told. `kind` is as in a Part."""
    if kind.startswith("many "):
        items = value if isinstance(value, tuple | list) else (value,)
        return tuple(read_as(kind.removeprefix("many "), v) for v in items)
    reader = READERS.get(kind)
    if reader is not None:
        return reader(value)
    if kind.startswith("nullable"):
        return None if value in {"", "None"} else value
    return value if isinstance(value, str) else UNKNOWN


def _switch(value: Any) -> Any:
    return value if isinstance(value, bool) else UNKNOWN


def _off(value: Any) -> Any:
    return not value if isinstance(value, bool) else UNKNOWN


def _bool(value: Any) -> bool:
    return str(value).lower() in TRUE_WORDS


def _int(value: Any) -> Any:
    return _number(value, int)


def _float(value: Any) -> Any:
    return _number(value, float)


def _number(value: Any, kind: type[int] | type[float]) -> Any:
    try:
        return kind(value)
    except (TypeError, ValueError, OverflowError):
        return UNKNOWN


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    try:
        return json.loads(str(value))
    except (ValueError, RecursionError):
        return UNKNOWN


def _untyped(value: Any) -> Any:
    """Return a value of which no parser says what it is: a text that looks like a number is one."""
    if not isinstance(value, str) or not value.lstrip("-").replace(".", "", 1).isdigit():
        return value
    return _number(value, float if "." in value else int)


READERS: Mapping[str, Callable[[Any], Any]] = {
    SWITCHES: _switch, "off": _off, "bool": _bool, "int": _int, "float": _float, "json": _json, "str": str,
    "": _untyped,
}  # fmt: skip
