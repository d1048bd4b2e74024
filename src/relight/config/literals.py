"""Find the literals that a text must hold for a regex to match it."""

import importlib
from collections.abc import Iterable
from typing import Any, TypeAlias

_parser: Any = importlib.import_module("re._parser")
SHORTEST = 6

Choice: TypeAlias = frozenset[str]
"""One of these must occur. Empty: nothing is known."""


def literals(regex: str) -> Choice:
    """Return literals of six or more characters, one of which occurs in every match; empty when there are none."""
    choices = _sequence(_parser.parse(regex))
    return _best(choices)


def _best(choices: Iterable[Choice]) -> Choice:
    fit = [c for c in choices if c and min(map(len, c)) >= SHORTEST]
    return max(fit, key=lambda c: (min(map(len, c)), -len(c)), default=frozenset())


def _sequence(items: Any) -> list[Choice]:
    choices: list[Choice] = []
    runs: list[str] = [""]
    for op, value in items:
        name = str(op)
        short = _alternatives(name, value)
        if short and len(runs) * len(short) <= 16:
            runs = [run + piece for run in runs for piece in short]
            continue
        choices += [_as_choice(runs), *_inside(name, value)]
        runs = [""]
    return [*choices, _as_choice(runs)]


def _as_choice(runs: list[str]) -> Choice:
    return frozenset(run.lower() for run in runs) if all(runs) else frozenset()


def _alternatives(name: str, value: Any) -> list[str]:
    """Return the texts an item stands for, where they are few and plain."""
    if name == "LITERAL":
        return [chr(value)]
    if name == "IN" and len(value) <= 4 and all(str(op) == "LITERAL" for op, _ in value):
        return sorted({chr(code).lower() for _, code in value})
    if name == "SUBPATTERN":
        return _plain(value[3])
    if name == "BRANCH":
        return _branches(value[1])
    if name == "MAX_REPEAT" and value[:2] == (0, 1):
        inner = _plain(value[2])
        return ["", *inner] if inner else []
    return []


def _branches(branches: Any) -> list[str]:
    found = [_plain(branch) for branch in branches]
    return [text for texts in found for text in texts] if all(found) else []


def _plain(items: Any) -> list[str]:
    runs = [""]
    for op, value in items:
        short = _alternatives(str(op), value)
        if not short or len(runs) * len(short) > 16:
            return []
        runs = [run + piece for run in runs for piece in short]
    return runs


def _inside(name: str, value: Any) -> list[Choice]:
    if name == "SUBPATTERN":
        return _sequence(value[3])
    if name == "ATOMIC_GROUP":
        return _sequence(value)
    if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"} and value[0] > 0:
        return _sequence(value[2])
    if name == "ASSERT" and value[0] == 1:
        return _sequence(value[1])
    if name == "BRANCH":
        best = [_best(_sequence(branch)) for branch in value[1]]
        return [frozenset().union(*best)] if all(best) else []
    return []
