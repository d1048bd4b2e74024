"""How much plain text a regex demands: the measure of how specific it is."""

import importlib
from functools import lru_cache
from typing import Any

_parser: Any = importlib.import_module("re._parser")
_PLAIN = {"LITERAL": 1.0, "NOT_LITERAL": 1.0, "IN": 0.25}


@lru_cache(maxsize=4096)
def demand(regex: str) -> float:
    """Return the number of characters that every match must hold; a class of characters counts a quarter."""
    return float(_sequence(_parser.parse(regex)))


def _sequence(items: Any) -> float:
    return sum(_item(str(op), value) for op, value in items)


def _item(name: str, value: Any) -> float:
    if name in _PLAIN:
        return _PLAIN[name]
    if name in {"SUBPATTERN", "ATOMIC_GROUP"}:
        return _sequence(value[3] if name == "SUBPATTERN" else value)
    if name == "BRANCH":
        return min(map(_sequence, value[1]), default=0.0)
    if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
        return float(min(value[0], 16) * _sequence(value[2]))
    return 0.0
