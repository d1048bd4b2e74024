"""Limits that a failure's own message states: "x must be at most 8192", "y must be divisible by z (64)"."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from relight.diagnosis.given import Given
from relight.words.settings import Repair

Kind: TypeAlias = Literal["most", "below", "least", "above", "times"]
OPPOSITE: Mapping[Kind, Kind] = {"above": "most", "below": "least", "least": "below", "most": "above", "times": "times"}
SIGNS: tuple[tuple[Kind, str], ...] = (
    ("most", r"at most|<=|≤|no (?:more|greater|larger|higher) than|(?:less|smaller|lower) than or equal to|exceed"),
    ("least", r"at least|>=|≥|no (?:less|fewer|smaller|lower) than|(?:greater|larger|more|higher) than or equal to"),
    ("below", r"less than|smaller than|lower than|fewer than|below|<"),
    ("above", r"greater than|larger than|more than|higher than|above|>"),
    ("times", r"(?:evenly )?divisible by|(?:an? )?(?:integer )?multiples? of"),
)
_NAME = r"[`'\"]?(?:--|(?:self|server_args)\.)?(?P<{0}>[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*)[`'\"]?"
_VALUE = r"(?:\s*(?:=|:|\()\s*(?P<{0}>-?\d+(?:\.\d+)?)\)?|\s+(?P<{0}_bare>-?\d+(?:\.\d+)?)(?= ))?"
_MUST = r"(?P<mood>must not|should not|must|should|has to|have to|needs? to|cannot|can not|can't|may not|is not|is)"
_SIGN = "|".join(f"(?P<{kind}{{0}}>{words})" for kind, words in SIGNS)
_BOUND = r"\s*(?:the )?(?:(?:maximum|minimum|limit|value)(?: of)? )?(?:(?P<number{0}>-?\d+(?:\.\d+)?)(?![\w.]*\w)|"
_BOUND += _NAME.format("other{0}") + _VALUE.format("other_value{0}") + ")"
_FIRST = re.compile(
    rf"(?<![\w/.-]){_NAME.format('name')}{_VALUE.format('value')}\s+{_MUST}\s+(?:be\s+)?(?:{_SIGN.format('')})"
    + _BOUND.replace("{0}", "")
)
_MORE = re.compile(rf",?\s+(?:and|but)\s+(?:must\s+)?(?:be\s+)?(?:{_SIGN.format('')})" + _BOUND.replace("{0}", ""))
_SAYS_NOT = frozenset({"must not", "should not", "cannot", "can not", "can't", "may not", "is"})
_EXCEEDS = re.compile(
    rf"(?<![\w/.-]){_NAME.format('name')}{_VALUE.format('value')}\s+exceeds" + _BOUND.replace("{0}", "")
)
TENTH = 0.01  # how far from a bound that may not be reached a fraction stays
LARGEST = 1 << 24


@dataclass(frozen=True)
class Limit:
    """What one flag must keep to: `name` is the flag as the command spells it, `other` the flag that sets the bound."""

    name: str
    kind: Kind
    bound: float
    other: str = ""

    def keeps(self, value: float) -> bool:
        """Say whether a value keeps to it."""
        if self.kind == "times":
            return self.bound > 0 and value % self.bound == 0
        return {
            "most": value <= self.bound, "below": value < self.bound,
            "least": value >= self.bound, "above": value > self.bound,
        }[self.kind]  # fmt: skip


def limits_of(message: str, given: Given) -> list[Limit]:
    """Return the limits that a message states for flags, those that are kept already left out."""
    stated = [limit for limit in _stated(message, given) if limit]
    known = {limit.name: _number(given.value(limit.name)) for limit in stated}
    broken = {n for n, v in known.items() if v is None or any(t.name == n and not t.keeps(v) for t in stated)}
    return [limit for limit in stated if limit.name in broken]


def _stated(message: str, given: Given) -> Iterator[Limit | None]:
    for match in _FIRST.finditer(message):
        opposite = match["mood"] in _SAYS_NOT
        # "x is at least 3" describes what should be; "x is larger than 3" what is wrong.
        yield _limit(match["name"], match, given, opposite=opposite and _wrong(match))
        end = match.end()
        while more := _MORE.match(message, end):
            yield _limit(match["name"], more, given, opposite=False)
            end = more.end()
    for match in _EXCEEDS.finditer(message):
        bound = _bound(match, given)
        name = _flag(match["name"], given)
        yield Limit(name, "most", bound[0], bound[1]) if name and bound else None


def _wrong(match: re.Match[str]) -> bool:
    """Say whether the sign itself says what is wrong."""
    return match["mood"] != "is" or _sign(match) in {"above", "below"}


def _sign(match: re.Match[str]) -> Kind:
    return next(kind for kind, _ in SIGNS if match[kind])


def _limit(name: str, match: re.Match[str], given: Given, *, opposite: bool) -> Limit | None:
    kind, flag, bound = _sign(match), _flag(name, given), _bound(match, given)
    if flag is None or bound is None:
        return None
    # "must not exceed" is said of the bound itself: it may be reached.
    turned = OPPOSITE[kind] if opposite and match[kind] != "exceed" else kind
    return Limit(flag, turned, bound[0], bound[1])


def _flag(name: str, given: Given) -> str | None:
    """Return the numeric flag that a name of a message means, as the command or the parser spells it."""
    if given.parser is None:
        return None
    options = given.parser.by_dest(name.replace("-", "_")) or tuple(
        filter(None, [given.parser.find(name.replace("_", "-"))])
    )
    numeric = [f for f in options if f.type in {"int", "float"} and f.nargs is None]
    return given.written(numeric[0].name) or min(numeric[0].names, key=len) if numeric else None


def _bound(match: re.Match[str], given: Given) -> tuple[float, str] | None:
    if match["number"]:
        return float(match["number"]), ""
    flag = _flag(match["other"], given)
    told = match["other_value"] or match["other_value_bare"]
    value = _number(told) if told else _number(given.value(flag)) if flag else None
    return (value, flag or "") if value is not None else None


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool) or value is None else float(value)
    except (TypeError, ValueError):
        return None


def limit_facts(limits: list[Limit], given: Given) -> dict[str, float]:
    """Return the bounds that numbers alone set, as facts NAME_high and NAME_low: what is beyond them fails."""
    found: dict[str, float] = {}
    for limit in limits:
        if not limit.other and limit.kind != "times":
            high = limit.kind in {"most", "below"}
            edge = _edge(limit, given)
            found[f"{limit.name.replace('-', '_')}_{'high' if high else 'low'}"] = int(edge) if edge % 1 == 0 else edge
    return found


def limit_repairs(limits: list[Limit], given: Given) -> list[Repair]:
    """Return repairs that keep to the limits: each flag the nearest value, then the flag that sets a bound instead."""
    by_name: dict[str, list[Limit]] = {}
    for limit in limits:
        by_name.setdefault(limit.name, []).append(limit)
    nearest = (_set(name, _nearest(name, own, given), own, 0.5, given) for name, own in by_name.items())
    instead = (_set(t.other, _other(t, given), [t], 0.75, given) for t in limits if t.other)
    return [r for r in (*nearest, *instead) if r is not None]


def _set(name: str, value: float | None, limits: list[Limit], cost: float, given: Given) -> Repair | None:
    if value is None or value <= 0:
        return None
    whole = _whole(name, given)
    why = "the message says: " + " and ".join(_said(t) for t in limits)
    return Repair(set={name: int(value) if whole else round(value, 6)}, why=why, origin="message", cost=cost)


def _said(limit: Limit) -> str:
    words = {"most": "at most", "below": "below", "least": "at least", "above": "above", "times": "a multiple of"}
    bound = f"--{limit.other} ({limit.bound:g})" if limit.other else f"{limit.bound:.12g}"
    return f"--{limit.name} must be {words[limit.kind]} {bound}"


def _whole(name: str, given: Given) -> bool:
    flag = given.parser.resolve(name) if given.parser else None
    return flag is not None and flag.type == "int"


def _edge(limit: Limit, given: Given) -> float:
    """Return the last value that keeps to a bound."""
    step = 1.0 if _whole(limit.name, given) else TENTH
    return limit.bound + {"below": -step, "above": step}.get(limit.kind, 0.0)


def _nearest(name: str, limits: list[Limit], given: Given) -> float | None:
    """Return the value nearest to the one in use that keeps to all limits, None where there is none."""
    now = _number(given.value(name))
    edges = [_edge(t, given) for t in limits if t.kind != "times"]
    steps = [t.bound for t in limits if t.kind == "times" and t.bound >= 1]
    starts = [*edges, *([now] if now is not None else [])] or [steps[0] if steps else 0.0]
    step = math.lcm(*(int(s) for s in steps)) if steps else 0
    near = [v for s in starts for v in ([s // step * step, -(-s // step) * step] if step else [s])]
    sound = [v for v in near if v > 0 and all(t.keeps(v) for t in limits)]
    return min(sound, key=lambda v: (abs(v - (now if now is not None else v)), v), default=None)


def _other(limit: Limit, given: Given) -> float | None:
    """Return the value of the flag that sets the bound under which the limit is kept as things are."""
    now = _number(given.value(limit.name))
    if now is None or now <= 0:
        return None
    if limit.kind != "times":
        return now + {"below": 1, "above": -1}.get(limit.kind, 0)
    if not 0 < now < LARGEST:
        return None
    return float(max(d for d in range(1, max(2, int(min(limit.bound, math.sqrt(now) + 1)) + 1)) if now % d == 0))
