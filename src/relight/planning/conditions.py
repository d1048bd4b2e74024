"""Conditions read from the engine's source, held against settings."""

from relight.planning.equal import env_value
from relight.planning.names import Names, View
from relight.words.condition import Condition, Part, fails, read_as, thawed
from relight.words.operations import UNKNOWN

READ = frozenset({"flag", "env", "given"})


def broken(condition: Condition, view: View, names: Names) -> bool:
    """Say whether settings surely break a condition; where a value cannot be known it says nothing of them."""
    return fails(condition, lambda part: _value(part, view, names)) is True


def read_by(condition: Condition, names: Names) -> tuple[tuple[str, bool], ...]:
    """Return the flags, by first long name, and (True) the variables that a condition reads."""
    read = [part for part in condition.parts if part.op in READ]
    found = [(n, True) if part.op == "env" else (names.canonical(n), False) for part in read for n in part.names]
    return tuple(dict.fromkeys(found))


def _value(part: Part, view: View, names: Names) -> object:
    if part.op == "env":
        return _variable(part, view)
    given = view.flags.get(names.canonical(part.names[0]))
    if part.op == "given":
        return given is not None
    if given is not None:
        return read_as(part.kind, given)
    # Without the parser's word for it nobody knows what the engine uses where nothing is given.
    return thawed(part.value) if part.kind else UNKNOWN


def _variable(part: Part, view: View) -> object:
    text = view.env.get(part.names[0])
    if text is None:
        return thawed(part.value)
    # These are compared as one value, so which of them was written is not known here.
    return UNKNOWN if text == env_value("true") and part.kind == "str" else read_as(part.kind, text)
