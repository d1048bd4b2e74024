"""Evaluate a condition in three values: true, false, unknown. What cannot be computed is a fault."""

import itertools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from relight.diagnosis.source.terms import Const, Env, Field, Op, Opaque, Term, note_names


class Unknown:
    """The value of what is not known."""

    def __repr__(self) -> str:
        return "unknown"


class Fault:
    """The value of an operation the engine itself could not carry out: None > 1."""

    def __repr__(self) -> str:
        return "fault"


UNKNOWN, FAULT = Unknown(), Fault()
Lookup: TypeAlias = Callable[[Field | Env | Opaque], Any]
TYPES: dict[str, type | tuple[type, ...]] = {
    "str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict, "tuple": tuple, "set": set,
    "List": list, "Dict": dict, "Sequence": (list, tuple), "Mapping": dict, "NoneType": type(None),
}  # fmt: skip
LONGEST = 10_000
WAYS = 16


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


class Evaluation:
    """One evaluation: `lookup` gives the value of a field or variable, `held` conditions known from the failure itself.

    `held` maps the id of a term to its truth when the engine failed, `told` to its value. `differs` builds further
    evaluations on this one: what reads none of their changed names is taken from here.
    """

    def __init__(
        self, lookup: Lookup, held: Mapping[int, bool] | None = None, told: Mapping[int, Any] | None = None
    ) -> None:
        self._lookup, self._held = lookup, held or {}
        self._before: Evaluation | None = None
        self._changed: frozenset[str] = frozenset()
        self._reads: dict[int, frozenset[str]] = {}
        self._memo: dict[int, Any] = dict(told or {})

    def differs(self, changed: Mapping[str, Any]) -> "Evaluation":
        """Return the evaluation in which some fields and variables have other values, all else as here."""

        def lookup(term: Field | Env | Opaque) -> Any:
            # An opaque part that reads what is changed is not asked for twice: nobody knows what it is now.
            return UNKNOWN if isinstance(term, Opaque) else changed.get(term.name, UNKNOWN)

        other = Evaluation(lookup)
        other._before, other._changed, other._reads = self, frozenset(changed), self._reads
        return other

    def truth(self, term: Term) -> Any:
        """Return whether `term` holds: True, False, UNKNOWN or FAULT; what the failure proves of it counts."""
        if self._before is not None and self._untouched(term):
            return self._before.truth(term)
        if id(term) in self._held:
            return self._held[id(term)]
        return truth(self.value(term))

    def value(self, term: Term) -> Any:
        """Return the value of `term`, UNKNOWN or FAULT."""
        if isinstance(term, Const):
            return term.value
        key = id(term)
        if key not in self._memo:
            before = self._before
            self._memo[key] = before.value(term) if before and self._untouched(term) else self._compute(term)
        return self._memo[key]

    def _untouched(self, term: Term) -> bool:
        found = self._reads.get(id(term))
        if found is None:
            note_names(term, self._reads)
            found = self._reads[id(term)]
        return found.isdisjoint(self._changed)

    def _compute(self, term: Term) -> Any:
        if isinstance(term, Opaque | Env):
            return self._lookup(term)
        if isinstance(term, Field):
            return self._field(term)
        assert isinstance(term, Op)  # noqa: S101  the fifth of five kinds
        special = {"and": self._and, "or": self._or, "not": self._not, "if": self._if}.get(term.name)
        return special(term) if special else self._apply(term)

    def _field(self, term: Field) -> Any:
        if term.value is None:
            return self._lookup(term)
        return self.value(term.value)

    def _and(self, term: Op) -> Any:
        seen: Any = True
        for arg in term.args:
            now = self.truth(arg)
            if now is False or now is FAULT:
                # Behind an operand that is not known, a fault may never be reached.
                return now if now is False or seen is True else UNKNOWN
            seen = seen if now is True else UNKNOWN
        return seen

    def _or(self, term: Op) -> Any:
        seen: Any = False
        for arg in term.args:
            now = self.truth(arg)
            if now is True or now is FAULT:
                return now if now is True or seen is False else UNKNOWN
            seen = seen if now is False else UNKNOWN
        return seen

    def _not(self, term: Op) -> Any:
        now = self.truth(term.args[0])
        return now if now is UNKNOWN or now is FAULT else not now

    def _if(self, term: Op) -> Any:
        test, then, other = term.args
        now = self.truth(test)
        if now is FAULT:
            return FAULT
        if now is not UNKNOWN:
            return self.value(then if now else other)
        a, b = self.value(then), self.value(other)
        return a if a is not FAULT and type(a) is type(b) and a == b else UNKNOWN

    def _apply(self, term: Op) -> Any:
        args = [self.value(arg) for arg in term.args]
        if any(a is FAULT for a in args):
            return FAULT
        if any(a is UNKNOWN for a in args):
            return self._whichever(term, args)
        return apply(term.name, args)

    def _whichever(self, term: Op, args: list[Any]) -> Any:
        """Return what an operation gives whichever way the choices fall that are not known; else UNKNOWN."""
        options = [self._possible(t) if a is UNKNOWN else [a] for t, a in zip(term.args, args, strict=True)]
        open_ = any(v is UNKNOWN or v is FAULT for values in options for v in values)
        if open_ or math.prod(map(len, options)) > WAYS:
            return UNKNOWN
        found = [apply(term.name, list(chosen)) for chosen in itertools.product(*options)]
        same = all(type(f) is type(found[0]) and f == found[0] for f in found)
        return found[0] if same else UNKNOWN

    def _possible(self, term: Term) -> list[Any]:
        """Return every value a term can have, as far as that depends on choices which are not known."""
        if isinstance(term, Op) and term.name == "if" and self.truth(term.args[0]) is UNKNOWN:
            return [v for arg in term.args[1:] for v in self._possible(arg)][: WAYS + 1]
        inner = term.value if isinstance(term, Field) else None
        return self._possible(inner) if inner is not None else [self.value(term)]


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
