"""Values that a message gives away: the text of an f-string laid over the message that was printed."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from relight.diagnosis.source.places import field_of
from relight.diagnosis.source.scope import Scope
from relight.diagnosis.source.syntax import dotted
from relight.diagnosis.source.terms import Field, Op, Opaque, Term

LONGEST = 4000


@dataclass(frozen=True)
class Told:
    """What a message gives away: values by field name or by the source of the expression, and by the term it meant."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    terms: tuple[tuple[Term, Any], ...] = ()


def facts_of(template: ast.expr | None, message: str, scope: Scope) -> Told:
    """Return what the interpolated expressions of `template` were."""
    pieces = _pieces(template) if template is not None else None
    if pieces is None or len(message) > LONGEST:
        return Told()
    texts = _laid_over(pieces, message)
    values = {node: _value(text) for node, text in texts.items()}
    meant = [(scope.names.get(dotted(node)), value) for node, value in values.items()]
    return Told(
        {_key(node, scope): value for node, value in values.items()},
        tuple((term, value) for term, value in meant if isinstance(term, Op | Opaque)),
    )


def _pieces(node: ast.expr) -> list[str | ast.expr] | None:
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _pieces(node.left), _pieces(node.right)
        return left + right if left is not None and right is not None else None
    if isinstance(node, ast.JoinedStr):
        return [v.value if isinstance(v, ast.FormattedValue) else str(getattr(v, "value", "")) for v in node.values]
    return _formatted(node) if isinstance(node, ast.Call) else None


def _formatted(node: ast.Call) -> list[str | ast.expr] | None:
    """Return the pieces of `"{} ... {}".format(a, b)`; None for any other call or field."""
    function = node.func
    if not (isinstance(function, ast.Attribute) and function.attr == "format" and not node.keywords):
        return None
    texts = str(function.value.value).split("{}") if isinstance(function.value, ast.Constant) else []
    if len(texts) != len(node.args) + 1 or any("{" in t for t in texts):
        return None
    pairs = zip(texts[1:], node.args, strict=True)
    return [texts[0], *(piece for text, arg in pairs for piece in (arg, text))]


def _laid_over(pieces: list[str | ast.expr], message: str) -> dict[ast.expr, str]:
    """Return the text each expression printed; {} where the constant parts do not fit the message."""
    found: dict[ast.expr, str] = {}
    place = 0
    waiting: ast.expr | None = None
    for piece in pieces:
        if isinstance(piece, ast.expr):
            if waiting is not None:
                return {}
            waiting = piece
            continue
        at = message.find(piece, place) if piece else place
        if at < 0 or (waiting is None and at != place):
            return {}
        if waiting is not None and piece:
            found[waiting] = message[place:at]
            waiting = None
        place = at + len(piece)
    if waiting is not None:
        found[waiting] = message[place:]
    return found


def _key(node: ast.expr, scope: Scope) -> str:
    if isinstance(node, ast.Attribute) and scope.is_settings(node.value):
        return field_of(node.attr, scope).name
    known = scope.names.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(known, Field):
        return known.name
    return known.text if isinstance(known, Opaque) else ast.unparse(node)


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip().rstrip("."))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text
