"""Bounds on numbers, from sums over what a failure printed: facts NAME_low and NAME_high of a cause."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from relight.planning import terms
from relight.planning.ground import Ground
from relight.planning.names import View
from relight.words.attempt import Term
from relight.words.settings import Repair

GRAIN = 0.001  # fractions are printed and compared with three decimals
# How far inside a bound to stay, in grains: what a failure prints is what it missed first, not all it would have
# missed, so every further failure on the same side asks for more room.
MARGIN = 10
WIDEST = 50
COST = 0.5
CHEAPER = 0.9
INERT = 4
"""A number that fell by this factor and changed nothing about a failure does not matter to it."""
SLACK = 1e-6  # for what floats lose in a division


@dataclass(frozen=True)
class Known:
    """The bounds that hold for some settings, and what the sums behind them proposed.

    `fresh` are proposals for a failure of a kind that came once, and of few on one side: where one came again, its
    sums left something out.
    """

    terms: tuple[Term, ...] = ()
    repairs: tuple[Repair, ...] = ()
    fresh: tuple[Repair, ...] = ()


def terms_of(facts: Mapping[str, Any], effective: Mapping[str, Any], ground: Ground, view: View) -> tuple[Term, ...]:
    """Return the bounds that a cause's facts prove, as conditions that fail.

    NAME_high = 0.827 means that more than 0.827 fails, NAME_low = 0.8 that less fails. An interval that is empty
    proves that no value helps, so it gives no bound.
    """
    high, low = _limits(facts, "_high", ground), _limits(facts, "_low", ground)
    found = []
    for name in dict.fromkeys([*high, *low]):
        if name in high and name in low and low[name] > high[name]:
            continue
        value = _number(name, facts, effective, ground, view)
        found += _above(name, high.get(name), value) + _below(name, low.get(name), value)
    return tuple(found)


def _limits(facts: Mapping[str, Any], ending: str, ground: Ground) -> dict[str, float]:
    numbers = {k: v for k, v in facts.items() if k.endswith(ending) and isinstance(v, int | float)}
    named = {_flag(k.removesuffix(ending), ground): float(v) for k, v in numbers.items()}
    return {name: value for name, value in named.items() if name}


def _flag(stem: str, ground: Ground) -> str:
    """Return the flag a fact is about; the fact may abbreviate it as a command line may."""
    name = stem.replace("_", "-")
    if ground.names.parser is not None:
        known = ground.names.parser.resolve(name)
        return known.name if known else ""
    near = [n for n in ground.guard.facts if n.startswith(name)]
    return near[0] if len(near) == 1 else ""


def _number(
    name: str, facts: Mapping[str, Any], effective: Mapping[str, Any], ground: Ground, view: View
) -> float | None:
    value = terms.current(Term(name, "set"), view, ground.names)
    if value is None:
        value = next((v for k, v in facts.items() if v is not None and _flag(k, ground) == name), None)
    value = effective.get(name.replace("-", "_")) if value is None else value
    return float(value) if isinstance(value, int | float) else None


def _above(name: str, limit: float | None, value: float | None) -> list[Term]:
    if limit is None or (value is not None and value <= limit):
        return []
    return [Term(name, ">=", round(min(limit + GRAIN / 2, value if value is not None else limit + 1), 6))]


def _below(name: str, limit: float | None, value: float | None) -> list[Term]:
    if limit is None or (value is not None and value >= limit):
        return []
    return [Term(name, "<=", round(max(limit - GRAIN / 2, value if value is not None else limit - 1), 6))]


def between(name: str, known: Known, ground: Ground) -> Repair | None:
    """Return a repair that puts the flag inside all bounds, None if they leave no room.

    What the sums of a failure that came once proposed comes first; what has to be made up costs a little less than
    any of the sums said, since those fell short.
    """
    told = [r for r in known.repairs if name in map(ground.names.canonical, r.set)]
    inside = [r for r in told if r in known.fresh and met(r, name, known.terms, ground)]
    cost = max(COST, CHEAPER * min((r.cost for r in told), default=0.0))
    if inside:
        return inside[0]
    made, down = _made_up(name, known.terms, ground, cost), any(t.name == name and t.op == ">=" for t in known.terms)
    further = [r for r in told if met(r, name, known.terms, ground) and down and _goes_further(r, made, name, ground)]
    return further[-1] if further else made


def _goes_further(repair: Repair, made: Repair | None, name: str, ground: Ground) -> bool:
    """Say whether sums that fell short before ask for more room than what was made up."""
    asked, up_to = _value(repair, name, ground), None if made is None else _value(made, name, ground)
    return asked is not None and (up_to is None or asked < up_to)


def _value(repair: Repair, name: str, ground: Ground) -> float | None:
    values = [ground.names.value(n, v) for n, v in repair.set.items() if ground.names.canonical(n) == name]
    return next((float(v) for v in values if isinstance(v, int | float)), None)


def _made_up(name: str, conditions: Iterable[Term], ground: Ground, cost: float) -> Repair | None:
    found = [t for t in conditions if t.name == name]
    lows = {float(t.value) for t in found if t.op == "<="}
    highs = {float(t.value) for t in found if t.op == ">="}
    low, high = max(lows, default=None), min(highs, default=None)
    known = ground.names.parser.find(name) if ground.names.parser else None
    margin = min(MARGIN * (2 * max(len(lows), len(highs)) - 1), WIDEST)
    value = _whole(low, high) if known and known.type == "int" else _inside(low, high, margin)
    if value is None:
        return None
    why = f"the sums of earlier failures leave {_said(low, high)}"
    if margin > MARGIN and value is not None and not (known and known.type == "int"):
        why += ", and fell short: more room is made than they ask for"
    return Repair(set={ground.names.spell(name): value}, why=why, origin="memory", cost=cost)


def met(repair: Repair, name: str, conditions: Iterable[Term], ground: Ground) -> bool:
    """Say whether a repair sets the flag to a number inside all bounds."""
    values = [ground.names.value(n, v) for n, v in repair.set.items() if ground.names.canonical(n) == name]
    limits = [t for t in conditions if t.name == name]
    return any(
        isinstance(v, int | float) and not any(v <= t.value if t.op == "<=" else v >= t.value for t in limits)
        for v in values
    )


def indifferent(values: Iterable[Any], seen: Iterable[Any]) -> bool:
    """Say whether values do not matter to a failure to which those `seen` made no difference.

    Where the lowest number seen is far below the highest, no number below the highest matters.
    """
    known = set(seen)
    numbers = [v for v in known if _is_number(v)]
    top = max(numbers, default=0)
    inert = bool(numbers) and 0 < min(numbers) * INERT <= top
    return all(v in known or (inert and _is_number(v) and v <= top) for v in values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _inside(low: float | None, high: float | None, margin: int) -> float | None:
    if low is None and high is None:
        return None
    if low is None or high is None:
        edge = floor(high / GRAIN + SLACK) - margin if high is not None else ceil((low or 0.0) / GRAIN - SLACK) + margin
        return round(edge * GRAIN, 3)
    middle = round(max((low + high) / 2, high - margin * GRAIN), 3)
    return middle if low < middle < high else None


def _whole(low: float | None, high: float | None) -> int | None:
    if low is None and high is None:
        return None
    value = ceil(high) - 1 if high is not None else floor(low or 0.0) + 1
    return value if low is None or value > low else None


def _said(low: float | None, high: float | None) -> str:
    parts = [f"more than {low:g}" if low is not None else "", f"less than {high:g}" if high is not None else ""]
    return " and ".join(p for p in parts if p)
