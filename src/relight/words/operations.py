"""What the conditions of an engine's source compute with: plain operations, and values for what cannot be known."""

import operator
from collections.abc import Callable
from typing import Any


class Unknown:
    """The value of what is not known."""

    def __repr__(self) -> str:
        return "unknown"


class Fault:
    """The value of an operation the engine itself could not carry out: None > 1."""

    def __repr__(self) -> str:
        return "fault"


UNKNOWN, FAULT = Unknown(), Fault()
TYPES: dict[str, type | tuple[type, ...]] = {
    "str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict, "tuple": tuple, "set": set,
    "List": list, "Dict": dict, "Sequence": (list, tuple), "Mapping": dict, "NoneType": type(None),
}  # fmt: skip
LONGEST = 10_000


def _isinstance(value: Any, kinds: Any) -> bool | Unknown:
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    if any(kind not in TYPES for kind in wanted):
        return UNKNOWN
    return any(isinstance(value, TYPES[kind]) for kind in wanted)


def _power(base: Any, exponent: Any) -> Any:
    return base**exponent if abs(base) < LONGEST and abs(exponent) < 64 else UNKNOWN


def _times(left: Any, right: Any) -> Any:
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    return left * right if numbers else UNKNOWN


def _same(left: Any, right: Any) -> bool:
    return left is right or (type(left) is type(right) and isinstance(left, bool | int | str) and left == right)


def _with(many: Any, one: Any) -> Any:
    return many | {one} if isinstance(many, frozenset) else (*many, one)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": lambda a, b: a in b, "not in": lambda a, b: a not in b, "is": _same, "is not": lambda a, b: not _same(a, b),
    "+": operator.add, "-": operator.sub, "*": _times, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": _power, "neg": operator.neg, "&": operator.and_, "|": operator.or_,
    "items": lambda *a: tuple(a), "index": lambda a, i: a[i], "given": lambda a: a is not None,
    "len": len, "bool": bool, "int": int, "float": float, "str": str, "abs": abs, "min": min, "max": max, "sum": sum,
    "list": tuple, "tuple": tuple, "set": frozenset, "sorted": lambda a: tuple(sorted(a)), "round": round,
    "isinstance": _isinstance,
    ".get": lambda d, k, default=None: d.get(k, default), ".keys": tuple, ".values": lambda d: tuple(d.values()),
    "with": _with, "without": lambda a, b: type(a)(v for v in a if v != b),
    ".union": lambda a, *b: frozenset(a).union(*b), ".intersection": lambda a, *b: frozenset(a).intersection(*b),
    ".difference": lambda a, *b: frozenset(a).difference(*b), ".issubset": lambda a, b: frozenset(a) <= frozenset(b),
    ".issuperset": lambda a, b: frozenset(a) >= frozenset(b), ".isdisjoint": lambda a, b: frozenset(a).isdisjoint(b),
    ".startswith": str.startswith, ".endswith": str.endswith, ".lower": str.lower, ".upper": str.upper,
    ".strip": str.strip, ".lstrip": str.lstrip, ".rstrip": str.rstrip, ".split": lambda *a: tuple(str.split(*a)),
    ".isdigit": str.isdigit, ".count": str.count, ".find": str.find, ".replace": str.replace,
    ".removeprefix": str.removeprefix, ".removesuffix": str.removesuffix, ".title": str.title,
}  # fmt: skip


def truth(value: Any) -> Any:
    """Return a value as a truth: True, False, UNKNOWN or FAULT."""
    return value if value is UNKNOWN or value is FAULT else bool(value)


def apply(name: str, args: list[Any]) -> Any:
    """Carry out one operation on plain values; FAULT where Python would raise, UNKNOWN where it is not ours to do."""
    operation = OPERATIONS.get(name)
    if operation is None or any(isinstance(a, str | tuple | list) and len(a) > LONGEST for a in args):
        return UNKNOWN
    if any(_holds_unknown(a) for a in args):
        return UNKNOWN
    try:
        return operation(*args)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError):
        return FAULT


def _holds_unknown(value: Any) -> bool:
    return isinstance(value, tuple | frozenset) and any(v is UNKNOWN or v is FAULT for v in value)
