"""Conditions in plain words: fields as flags, comparisons as a person says them."""

from collections.abc import Callable

from relight.diagnosis.source.terms import COMPARISONS, Const, Env, Field, Op, Opaque, Term

SAYS = {
    "==": "is", "!=": "is not", "<": "is less than", "<=": "is at most", ">": "is more than", ">=": "is at least",
    "in": "is one of", "not in": "is none of", "is": "is", "is not": "is not",
}  # fmt: skip
LONGEST = 400
INCLUDED = {"<=": "are all among", ">=": "hold all of", "<": "are all among", ">": "hold all of"}
PLAIN = {"items": None, "set": None, "list": None, "tuple": None, "sorted": None, "with": None, "without": 1}
"""Lists are said as what is in them; of what is taken out of them nothing is said."""


def words(term: Term, name: Callable[[str], str], *, holds: bool = True) -> str:
    """Return a condition in plain words, or its opposite where `holds` is False; `name` gives a field its flag."""
    text = _words(term, name, holds, 0)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _words(term: Term, name: Callable[[str], str], holds: bool, depth: int) -> str:
    if depth > 12:
        return "…"
    if isinstance(term, Op):
        return _operation(term, name, holds, depth + 1)
    if isinstance(term, Field | Env):
        return f"{_value(term, name, depth)} is {'on' if holds else 'off'}"
    if isinstance(term, Const):
        return "always" if bool(term.value) is holds else "never"
    return term.text if holds else f"not ({term.text})"


def _operation(term: Op, name: Callable[[str], str], holds: bool, depth: int) -> str:
    if term.name == "not":
        return _words(term.args[0], name, not holds, depth)
    if term.name in {"and", "or"}:
        joint = " and " if (term.name == "and") is holds else " or "
        inner = [_words(a, name, holds, depth) for a in term.args]
        return joint.join(f"({t})" if joint == " and " and " or " in t else t for t in inner)
    if term.name in COMPARISONS:
        return _comparison(term, name, holds, depth)
    if term.name == "bool":
        return _words(term.args[0], name, holds, depth)
    text = _value(term, name, depth)
    return text if holds else f"not ({text})"


def _comparison(term: Op, name: Callable[[str], str], holds: bool, depth: int) -> str:
    left, right = term.args
    sign = term.name if holds else COMPARISONS[term.name]
    if _is(right, None) and sign in {"is", "is not", "==", "!="}:
        return f"{_value(left, name, depth)} is {'not ' if sign in {'is', '=='} else ''}given"
    if isinstance(left, Op) and left.name == "%" and _is(right, 0) and sign in {"==", "!="}:
        a, b = (_value(x, name, depth) for x in left.args)
        return f"{a} is {'' if sign == '==' else 'not '}a multiple of {b}"
    if _many(left) or (_many(right) and sign in INCLUDED):
        return f"{_value(left, name, depth)} {INCLUDED.get(sign, SAYS[sign])} {_value(right, name, depth)}"
    if sign in {"in", "not in"} and not isinstance(right, Op):
        inside = "is in" if sign == "in" else "is not in"
        return f"{_value(left, name, depth)} {inside} {_value(right, name, depth)}"
    return f"{_value(left, name, depth)} {SAYS[sign]} {_value(right, name, depth)}"


def _many(term: Term) -> bool:
    """Say whether a term is a set for sure: then signs compare what is in it."""
    return isinstance(term, Op) and (term.name == "set" or (term.name in {"with", "without"} and _many(term.args[0])))


def _is(term: Term, value: object) -> bool:
    return isinstance(term, Const) and term.value == value and type(term.value) is type(value)


def _value(term: Term, name: Callable[[str], str], depth: int) -> str:
    if depth > 12:
        return "…"
    if isinstance(term, Const):
        return repr(term.value)
    if isinstance(term, Field):
        return name(term.name)
    if isinstance(term, Env):
        return term.name
    if isinstance(term, Opaque):
        return term.text
    return _computed(term, name, depth + 1)


def _computed(term: Op, name: Callable[[str], str], depth: int) -> str:
    args = [_value(a, name, depth) for a in term.args]
    if term.name in PLAIN:
        return ", ".join(args[: PLAIN[term.name]])
    if term.name == "if":
        return f"({args[1]} or {args[2]})"
    if term.name.startswith(".") and args:
        return f"{args[0]}{term.name}({', '.join(args[1:])})"
    if term.name in {"and", "or", "not", *COMPARISONS}:
        return f"({_words(term, name, True, depth)})"
    if len(args) == 2 and not term.name.isalpha():
        return f"({args[0]} {term.name} {args[1]})"
    return f"{term.name}({', '.join(args)})"
