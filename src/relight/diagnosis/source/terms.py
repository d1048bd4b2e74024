"""Conditions as values: the small language into which the engine's source is read."""

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, eq=False)
class Const:
    """A constant."""

    value: Any


@dataclass(frozen=True, eq=False)
class Field:
    """A field of the engine's settings; `value` is what code before the check made of it, None where untouched."""

    name: str
    value: "Term | None" = None
    sure: bool = True


@dataclass(frozen=True, eq=False)
class Env:
    """An environment variable, read as `kind` (bool, int, float, str); `default` when it is not set."""

    name: str
    kind: str = "str"
    default: Any = None


@dataclass(frozen=True, eq=False)
class Op:
    """An operation on terms: `name` is the operator ("and", "not", "<", "%", "len", ".startswith", "if" ...)."""

    name: str
    args: "tuple[Term, ...]"


@dataclass(frozen=True, eq=False)
class Opaque:
    """A part that cannot be read; `text` is its source."""

    text: str


Term: TypeAlias = Const | Field | Env | Op | Opaque
