"""Conditions as values: the small language into which the engine's source is read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

COMPARISONS = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "in": "not in", "not in": "in",
    "is": "is not", "is not": "is",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Const:
    """A constant."""

    value: Any


@dataclass(frozen=True, eq=False)
class Field:
    """A field of the engine's settings; `value` is what code before the check made of it, None where untouched."""

    name: str
    value: "Term | None" = None


@dataclass(frozen=True, eq=False)
class Env:
    """An environment variable, read as `kind` (bool, int, float, str); `default` when it is not set."""

    name: str
    kind: str = "str"
    default: Any = None


@dataclass(frozen=True, eq=False)
class Op:
    """An operation: "and", "or", "not", "if", a comparison, an arithmetic sign, a builtin, or a method (".lower")."""

    name: str
    args: "tuple[Term, ...]"


@dataclass(frozen=True, eq=False)
class Opaque:
    """A part that cannot be read: its source, and the terms it reads as far as they are known."""

    text: str
    reads: "tuple[Term, ...]" = ()


Term: TypeAlias = Const | Field | Env | Op | Opaque
TRUE, FALSE, NONE = Const(True), Const(False), Const(None)


def both(terms: Iterator[Term] | tuple[Term, ...] | list[Term]) -> Term:
    """Return the conjunction of `terms`; of none it is true."""
    left = [t for t in terms if t is not TRUE]
    if any(t is FALSE for t in left):
        return FALSE
    return left[0] if len(left) == 1 else Op("and", tuple(left)) if left else TRUE


def either(terms: Iterator[Term] | tuple[Term, ...] | list[Term]) -> Term:
    """Return the disjunction of `terms`; of none it is false."""
    left = [t for t in terms if t is not FALSE]
    if any(t is TRUE for t in left):
        return TRUE
    return left[0] if len(left) == 1 else Op("or", tuple(left)) if left else FALSE


def negate(term: Term) -> Term:
    """Return the opposite of a condition."""
    if isinstance(term, Op) and term.name == "not":
        return term.args[0]
    if term is TRUE or term is FALSE:
        return FALSE if term is TRUE else TRUE
    return Op("not", (term,))


def _untouched(term: Term) -> str:
    """Return the name of a field that no code has changed, "" for anything else."""
    return term.name if isinstance(term, Field) and term.value is None else ""


def choose(test: Term, then: Term, other: Term) -> Term:
    """Return `then` where `test` holds, else `other`."""
    if test is TRUE or then is other or (_untouched(then) and _untouched(then) == _untouched(other)):
        return then
    return other if test is FALSE else Op("if", (test, then, other))


def parts(term: Term) -> tuple[Term, ...]:
    """Return the terms directly inside a term."""
    if isinstance(term, Op):
        return term.args
    if isinstance(term, Opaque):
        return term.reads
    return (term.value,) if isinstance(term, Field) and term.value is not None else ()


def walk(*terms: Term) -> Iterator[Term]:
    """Yield every term inside `terms`, themselves included, each once."""
    seen: set[int] = set()
    left = list(reversed(terms))
    while left:
        term = left.pop()
        if id(term) in seen:
            continue
        seen.add(id(term))
        yield term
        left += reversed(parts(term))


def names(*terms: Term) -> frozenset[str]:
    """Return the fields and variables that `terms` depend on."""
    return frozenset(t.name for t in walk(*terms) if isinstance(t, Field | Env))


def note_names(term: Term, found: dict[int, frozenset[str]]) -> None:
    """Note in `found`, by id, the names that `term` and every part of it depend on."""
    left = [(term, False)]
    while left:
        now, done = left.pop()
        if id(now) in found:
            continue
        if not done:
            left += [(now, True), *((p, False) for p in parts(now))]
            continue
        own = frozenset((now.name,)) if isinstance(now, Field | Env) else frozenset()
        found[id(now)] = own.union(*(found[id(p)] for p in parts(now)))
