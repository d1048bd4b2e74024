"""Which values of a field or variable are worth trying.

They come from the condition itself, from the parser's choices, and from around the present value; nearest first.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from relight.diagnosis.source.evaluate import FAULT, UNKNOWN, Evaluation, apply
from relight.diagnosis.source.known import Known, default
from relight.diagnosis.source.terms import COMPARISONS, Env, Field, Op, Term, names, walk
from relight.words.parser import ParserFlag

MOST, DEEP = 28, 6
HINT, NEAR, CHOICE, ODD = 0.0, 1.0, 3.0, 0.6


@dataclass(frozen=True)
class Value:
    """A value to try: `far` says how far it is from what is asked (0 = the condition names it); unset = not given."""

    value: Any
    far: float
    unset: bool = False

    @property
    def picked(self) -> bool:
        """Say whether nothing speaks for this value but that the parser takes it."""
        return self.far >= CHOICE


def values_for(name: str, failure: Term, related: tuple[Term, ...], known: Known) -> list[Value]:
    """Return the values of the field `name` worth trying, nearest first; its present value is not among them."""
    flag = known.flag(name)
    now = known.value(name)[0]
    found = list(_unset(name, flag, known))
    if flag is not None and not flag.takes_value:
        # To leave a switch out is the same as to turn it off, where it cannot be turned off by a name of its own.
        found += [Value(v, HINT) for v in (True, False) if not found or v is not default(flag)]
    else:
        found += _suggested(name, (failure,), known, HINT)
        found += _suggested(name, related, known, HINT + 0.5)
        found += _neighbours(now, flag)
        found += [Value(c, CHOICE + n / 50) for n, c in enumerate(flag.choices if flag else ())]
        named = {v.value for v in _suggested(name, (failure, *related), known, HINT, exact=True) if _number(v.value)}
        found = [_rounded(v, now) for v in found if v.unset or _sensible(v.value, now, flag, named)]
    exact = [_as_float(v) for v in found] if flag is not None and flag.type == "float" else found
    return _distinct([v for v in exact if _fits(v, flag) and not _same(v, now)])


def _as_float(value: Value) -> Value:
    whole = isinstance(value.value, int) and not isinstance(value.value, bool) and not value.unset
    return Value(float(value.value), value.far) if whole else value


def env_values(env: Env, failure: Term, known: Known) -> list[Value]:
    """Return the values of a variable worth trying, as it is read."""
    found = [Value(env.default, NEAR, unset=True)] if env.name in known.values.env else []
    if env.kind == "bool":
        found += [Value(v, HINT) for v in (True, False)]
    else:
        found += [v for v in _suggested(env.name, (failure,), known, HINT) if v.value is not None]
    now = known.variable(env)[0]
    return _distinct([v for v in found if v.unset or v.value != now])


def _unset(name: str, flag: ParserFlag | None, known: Known) -> Iterator[Value]:
    if known.given(name) is not None:
        yield Value(default(flag) if flag else None, NEAR, unset=True)


def _sensible(value: Any, now: Any, flag: ParserFlag | None, named: set[Any]) -> bool:
    """Say whether a number is worth trying: most counts are positive; others must be named, or be there already."""
    if not _number(value) or value > 0:
        return True
    usual = default(flag) if flag is not None else None
    return value in named or value == usual or (_number(now) and now < value)


def _rounded(value: Value, now: Any) -> Value:
    """Put a number that is not a power of two behind those that are, where the present one is."""
    odd = (
        not value.unset
        and _count(now)
        and now & (now - 1) == 0
        and _count(value.value)
        and value.value & (value.value - 1)
    )
    return Value(value.value, value.far + ODD) if odd else value


def _count(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number > 1


def _same(value: Value, now: Any) -> bool:
    """Say whether a value changes nothing. To leave a flag out is a change even where its default is what was given."""
    return not value.unset and type(value.value) is type(now) and value.value == now


def _fits(value: Value, flag: ParserFlag | None) -> bool:
    """Say whether the parser takes a value."""
    if value.unset or flag is None:
        return value.unset or value.value is not None
    if not flag.takes_value:
        return isinstance(value.value, bool)
    if flag.choices and str(value.value) not in flag.choices:
        return False
    kinds: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "str": (str,)}
    wanted = kinds.get(flag.type, (int, float, str, tuple, dict))
    items = value.value if isinstance(value.value, tuple) else (value.value,)
    many = flag.nargs in {"+", "*"}
    return (many or not isinstance(value.value, tuple)) and all(
        isinstance(i, wanted) and not isinstance(i, bool) for i in items
    )


def _distinct(found: list[Value]) -> list[Value]:
    best: dict[str, Value] = {}
    for value in sorted(found, key=lambda v: v.far):
        best.setdefault(f"{value.unset} {value.value!r}", value)
    return list(best.values())[:MOST]


def _neighbours(now: Any, flag: ParserFlag | None) -> Iterator[Value]:
    """Yield numbers around the present value: one up and down, half and double, powers of two."""
    number = now if isinstance(now, int | float) and not isinstance(now, bool) else None
    if number is None and (flag is None or flag.type not in {"int", "float"}):
        return
    if isinstance(number, float):
        yield from (Value(v, NEAR + n / 10) for n, v in enumerate((number / 2, number * 2, 0.0, 1.0)))
        return
    around = [number - 1, number + 1, number // 2, number * 2] if number is not None else []
    for value in [*around, 0, -1, *(2**n for n in range(15))]:
        yield Value(value, NEAR + _apart(value, number if number is not None else 1))


def _apart(a: float, b: float) -> float:
    """Return how far two numbers are apart, on a scale on which doubling counts as 0.1."""
    return abs(_scale(a) - _scale(b)) / 10


def _scale(number: float) -> float:
    return math.copysign(math.log2(abs(number) + 1), number)


# --- what comparisons say

EXACT = frozenset({"==", "!=", "in", "not in", "is", "is not"})
NAMING = frozenset({*COMPARISONS, ".startswith"})


def _suggested(name: str, terms: tuple[Term, ...], known: Known, far: float, *, exact: bool = False) -> Iterator[Value]:
    """Yield the values that comparisons with the field name; `exact` leaves out those around a bound."""
    evaluation = known.evaluation()
    now = known.lookup(Field(name))
    for term in walk(*terms):
        if isinstance(term, Op) and term.name in (EXACT if exact else NAMING):
            for value in _from_comparison(name, term, evaluation, exact=exact):
                apart = _apart(value, now) if _number(value) and _number(now) else 0.0
                yield Value(value, far + apart)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63


def _from_comparison(name: str, term: Op, evaluation: Evaluation, *, exact: bool) -> Iterator[Any]:
    for side, other in (term.args, term.args[::-1]):
        if name in names(side):
            target = evaluation.value(other)
            for value in _targets("==" if exact else term.name, target):
                yield from _inverted(name, side, value, evaluation, 0)


def _targets(sign: str, target: Any) -> Iterator[Any]:
    if target is UNKNOWN or target is FAULT:
        return
    if isinstance(target, tuple | dict | frozenset):
        yield from sorted(target, key=str) if isinstance(target, frozenset) else target
    elif sign in {"<", "<=", ">", ">=", "!="} and _number(target):
        yield from (target, target - 1, target + 1)
    yield target


def _inverted(name: str, side: Term, wanted: Any, evaluation: Evaluation, depth: int) -> Iterator[Any]:
    """Yield values of the field under which `side` becomes `wanted`, where the way back can be computed."""
    if isinstance(side, Field | Env):
        if side.name == name:
            yield wanted
        elif isinstance(side, Field) and side.value is not None and depth < DEEP:
            yield from _inverted(name, side.value, wanted, evaluation, depth + 1)
        if isinstance(side, Field) and side.name == name and side.value is not None and depth < DEEP:
            yield from _inverted(name, side.value, wanted, evaluation, depth + 1)
    elif isinstance(side, Op) and depth < DEEP:
        yield from _inverted_op(name, side, wanted, evaluation, depth + 1)


def _inverted_op(name: str, side: Op, wanted: Any, evaluation: Evaluation, depth: int) -> Iterator[Any]:
    if side.name == "%":
        yield from _inverted_mod(name, side, evaluation, depth)
    elif side.name in INVERSE and len(side.args) == 2:
        yield from _inverted_pair(name, side, wanted, evaluation, depth)
    elif side.name in {
        "items",
        "if",
        "set",
        "list",
        "tuple",
        "with",
        "without",
        "int",
        "float",
        ".lower",
        ".upper",
        ".strip",
        "abs",
    }:
        for arg in side.args[1:] if side.name == "if" else side.args:
            yield from _inverted(name, arg, wanted, evaluation, depth)


def _inverted_pair(name: str, side: Op, wanted: Any, evaluation: Evaluation, depth: int) -> Iterator[Any]:
    for n, arg in enumerate(side.args):
        if name in names(arg):
            other = evaluation.value(side.args[1 - n])
            for value in _through(side.name, n, other, wanted):
                yield from _inverted(name, arg, value, evaluation, depth)


INVERSE = {"+": ("-", "-"), "-": ("+", None), "*": ("//", "//"), "//": ("*", None), "/": ("*", None)}


def _through(sign: str, place: int, other: Any, wanted: Any) -> Iterator[Any]:
    """Yield x for which `x SIGN other` (place 0) or `other SIGN x` (place 1) is `wanted`."""
    back = INVERSE[sign][place]
    if not (_number(other) and _number(wanted)):
        return
    found = apply(back, [wanted, other]) if back else apply(sign, [other, wanted])
    if _number(found):
        if found != 0 or wanted == 0:
            yield found
        if sign == "*" and isinstance(found, int):
            yield found + 1


def _inverted_mod(name: str, side: Op, evaluation: Evaluation, depth: int) -> Iterator[Any]:
    """Yield multiples of the divisor for the dividend, divisors of the dividend for the divisor."""
    dividend, divisor = side.args
    a, b = evaluation.value(dividend), evaluation.value(divisor)
    if name in names(dividend) and isinstance(b, int) and b > 0:
        start = a // b * b if _number(a) else 0
        for value in (start, start + b, start + 2 * b):
            if value > 0:
                yield from _inverted(name, dividend, value, evaluation, depth)
    if name in names(divisor) and isinstance(a, int) and 0 < a < 1 << 24:
        for value in _divisors(a, b if _number(b) else 1):
            yield from _inverted(name, divisor, value, evaluation, depth)


def _divisors(number: int, near: float) -> list[int]:
    small = [d for d in range(1, min(math.isqrt(number), 4096) + 1) if number % d == 0]
    every = {*small, *(number // d for d in small)}
    # Rather less than was asked: more may need cards or memory that are not there.
    less = sorted((d for d in every if d <= near), reverse=True)
    return less[:10] or sorted(every)[:10]
