"""Conditions on settings: the terms of a nogood, matched and put into words."""

from collections.abc import Iterable
from typing import Any

from relight.planning.names import Names, View
from relight.words.attempt import Term
from relight.words.settings import Change


def holds(term: Term, view: View, names: Names) -> bool:
    """Say whether a term is true of settings; a flag that is not given has the parser's default."""
    value = current(term, view, names)
    if term.op in {"set", "unset"}:
        given = term.name in (view.env if term.env else view.flags)
        return given == (term.op == "set")
    if term.op in {"=", "!="}:
        return (value in _values(term)) == (term.op == "=")
    return _beyond(term, value)


def current(term: Term, view: View, names: Names) -> Any:
    """Return the value a term compares, None if it is not given and has no default."""
    if term.env:
        return view.env.get(term.name)
    return view.flags[term.name] if term.name in view.flags else names.default(term.name)


def _beyond(term: Term, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return bool(value <= term.value) if term.op == "<=" else bool(value >= term.value)


def _values(term: Term) -> tuple[Any, ...]:
    return term.value if isinstance(term.value, tuple) else (term.value,)


def same(name: str, view: View, names: Names, *, env: bool = False, resolved: Any = None) -> Term:
    """Return the term "`name` has the value it has in `view`"; for a flag that is not given, also what the
    engine resolved it to."""
    term = Term(name, "=", None, env)
    value = current(term, view, names)
    values = (value,) if resolved is None or value is not None else (None, resolved)
    return Term(name, "=", values, env)


def differing(view: View, other: View, names: Names) -> tuple[Term, ...]:
    """Return the terms true of `view` and not of `other`, one for each flag and variable that differs."""
    flags = [n for n in sorted({*view.flags, *other.flags}) if view.flags.get(n) != other.flags.get(n)]
    env = [n for n in sorted({*view.env, *other.env}) if view.env.get(n) != other.env.get(n)]
    return (*(same(n, view, names) for n in flags), *(same(n, view, names, env=True) for n in env))


def not_done(change: Change, view: View, names: Names) -> Term | None:
    """Return a term that says `change` was not made, true of `view`; None if all of it was made there."""
    wanted = [
        *(Term(names.canonical(n), "!=", (names.value(n, v),)) for n, v in change.set.items()),
        *(Term(names.canonical(n), "set") for n in change.unset),
        *(Term(n, "!=", (v,), env=True) for n, v in change.set_env.items()),
        *(Term(n, "set", env=True) for n in change.unset_env),
    ]
    return next((term for term in wanted if holds(term, view, names)), None)


def thawed(term: Term) -> Term:
    """Return a term as planning writes it, whatever its value became on the way through JSON."""
    return Term(term.name, term.op, _frozen(term.value), term.env)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(v) for v in value) if isinstance(value, list | tuple) else value


def in_words(terms: Iterable[Term]) -> str:
    """Return a condition as a person reads it."""
    return " and ".join(_in_words(term) for term in terms) or "any settings"


def _in_words(term: Term) -> str:
    name = term.name if term.env else f"--{term.name}"
    if term.op in {"set", "unset"}:
        return f"{name} {'given' if term.op == 'set' else 'not given'}"
    if term.op in {"<=", ">="}:
        return f"{name} {term.op} {term.value}"
    values = _values(term)
    if len(values) == 1 and (values[0] is None or isinstance(values[0], bool)):
        return f"{name} {_switched(values[0], given=term.op == '=')}"
    said = " or ".join("not given" if v is None else str(v) for v in values)
    op = " not" if term.op == "!=" else "" if None in values else " ="
    return f"{name}{op} {said}"


def _switched(value: bool | None, *, given: bool) -> str:
    """Return how a switch stands, or that a flag is not given."""
    if value is None:
        return "not given" if given else "given"
    return "on" if value is given else "off"
