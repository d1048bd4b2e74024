"""Type errors: which operand of an expression was of a type it must not be."""

import ast
import re
from collections.abc import Iterator
from typing import TypeAlias

from relight.diagnosis.source.expressions import ARITHMETIC, COMPARE, term
from relight.diagnosis.source.reading import Guard
from relight.diagnosis.source.scope import Scope
from relight.diagnosis.source.syntax import spans
from relight.diagnosis.source.terms import NONE, Const, Op, Term, both, negate

COMPARED = re.compile(r"'(\S+)' not supported between instances of '(\w+)' and '(\w+)'")
COMPUTED = re.compile(r"unsupported operand type\(s\) for (\S+): '(\w+)' and '(\w+)'")
MISSING = re.compile(r"'NoneType' object has no attribute '(\w+)'")
CONTAINED = re.compile(r"argument of type '(\w+)' is not")
Held: TypeAlias = tuple[ast.expr, bool]
HEADS = {ast.If: "test", ast.While: "test", ast.For: "iter", ast.Assert: "test"}


def operand_condition(
    stmt: ast.stmt, line: int, kind: str, message: str, scope: Scope
) -> tuple[Term, str, list[Guard]] | None:
    """Return the condition on the operands of the failing expression, its words, and the guards inside the statement.

    None where the message names no operand that can be found in the statement.
    """
    if kind not in {"TypeError", "AttributeError", "ZeroDivisionError", "KeyError"}:
        return None
    head = HEADS.get(type(stmt))
    root: ast.AST = getattr(stmt, head) if head else stmt
    found = [(n, g) for n, g in _nodes(root, []) if spans(n, line) or not head]
    for node, guards in found:
        own = _divided(node, scope) if kind == "ZeroDivisionError" else _looked_up(node, scope)
        if own and kind in {"ZeroDivisionError", "KeyError"}:
            return *own, [Guard(_held(g, scope), line, _words(g)) for g in guards]
        needed = list(_needed(node, message))
        if needed:
            conditions = [_not_of(operand, was, scope) for operand, was in needed]
            words = " and ".join(f"{ast.unparse(o)} is not {_named(was)}" for o, was in needed)
            return both(conditions), words, [Guard(_held(g, scope), line, _words(g)) for g in guards]
    return None


def _divided(node: ast.expr, scope: Scope) -> tuple[Term, str] | None:
    """Return the condition under which a division can be carried out."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
        return Op("!=", (term(node.right, scope), Const(0))), f"{ast.unparse(node.right)} is not 0"
    return None


def _looked_up(node: ast.expr, scope: Scope) -> tuple[Term, str] | None:
    """Return the condition under which a key is found."""
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        words = f"{ast.unparse(node.slice)} is in {ast.unparse(node.value)}"
        return Op("in", (term(node.slice, scope), term(node.value, scope))), words
    return None


def _nodes(
    node: ast.AST, guards: list[tuple[ast.expr, bool]]
) -> Iterator[tuple[ast.expr, list[tuple[ast.expr, bool]]]]:
    """Yield every expression below `node` with what short-circuiting says about reaching it."""
    if isinstance(node, ast.expr):
        yield node, guards
    if isinstance(node, ast.BoolOp):
        held = isinstance(node.op, ast.And)
        for n, value in enumerate(node.values):
            yield from _nodes(value, [*guards, *((v, held) for v in node.values[:n])])
        return
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt):
            yield from _nodes(child, guards)


def _held(guard: Held, scope: Scope) -> Term:
    found = term(guard[0], scope)
    return found if guard[1] else negate(found)


def _words(guard: Held) -> str:
    return ast.unparse(guard[0]) if guard[1] else f"not ({ast.unparse(guard[0])})"


def _needed(node: ast.expr, message: str) -> Iterator[tuple[ast.expr, str]]:
    """Yield (operand, the type it had) for a node that can have failed with this message."""
    if isinstance(node, ast.Compare):
        yield from _compared(node, message)
    elif isinstance(node, ast.BinOp):
        match = COMPUTED.search(message)
        if match and ARITHMETIC.get(type(node.op)) == match[1]:
            yield from _wrong(((node.left, match[2]), (node.right, match[3])))
    elif isinstance(node, ast.Attribute):
        match = MISSING.search(message)
        if match and node.attr == match[1]:
            yield node.value, "NoneType"


def _compared(node: ast.Compare, message: str) -> Iterator[tuple[ast.expr, str]]:
    match, contained = COMPARED.search(message), CONTAINED.search(message)
    sides = [node.left, *node.comparators]
    for n, op in enumerate(node.ops):
        if match and COMPARE[type(op)] == match[1]:
            yield from _wrong(((sides[n], match[2]), (sides[n + 1], match[3])))
        elif contained and isinstance(op, ast.In | ast.NotIn):
            yield sides[n + 1], contained[1]


def _wrong(operands: tuple[tuple[ast.expr, str], ...]) -> list[tuple[ast.expr, str]]:
    """Return the operands that were None; where none was, those that are no constants."""
    missing = [o for o in operands if o[1] == "NoneType"]
    return missing or [o for o in operands if not isinstance(o[0], ast.Constant)]


def _not_of(operand: ast.expr, was: str, scope: Scope) -> Term:
    found = term(operand, scope)
    if was == "NoneType":
        return Op("is not", (found, NONE))
    return negate(Op("isinstance", (found, Const((was,)))))


def _named(was: str) -> str:
    return "None" if was == "NoneType" else f"a {was}"
