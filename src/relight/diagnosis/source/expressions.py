"""Expressions of the source -> terms. What is not understood becomes opaque, with the settings it mentions."""

import ast
from collections.abc import Callable

from relight.diagnosis.source import calls
from relight.diagnosis.source.places import bind, field_of, items_of, opaque
from relight.diagnosis.source.scope import DEPTH, Scope
from relight.diagnosis.source.syntax import dotted
from relight.diagnosis.source.terms import Const, Env, Op, Opaque, Term, both, choose, either, negate

COMPARE = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
ARITHMETIC = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|",
}  # fmt: skip
UNROLLED = 64


def term(node: ast.expr, scope: Scope) -> Term:
    """Return what an expression means in `scope`."""
    scope.budget.spend()
    read = READERS.get(type(node))
    return read(node, scope) if read else opaque(node, scope)


def _constant(node: ast.Constant, _: Scope) -> Term:
    return Const(node.value)


def _name(node: ast.Name, scope: Scope) -> Term:
    if node.id in scope.names:
        return scope.names[node.id]
    found = scope.constant(node.id) if scope.depth <= DEPTH else None
    if found is None:
        return Opaque(node.id)
    return term(found[1], scope.enter(found[0], None))


def _attribute(node: ast.Attribute, scope: Scope) -> Term:
    if scope.is_settings(node.value):
        return calls.property_of(node.attr, scope) or field_of(node.attr, scope)
    known = scope.names.get(dotted(node))
    if known is not None:
        return known
    return calls.member(node, scope) or opaque(node, scope)


def _boolean(node: ast.BoolOp, scope: Scope) -> Term:
    if isinstance(node.op, ast.Or) and _stands_in(node.values[-1]):
        return _picked(node, scope)
    args = [term(v, scope) for v in node.values]
    return Op("and" if isinstance(node.op, ast.And) else "or", tuple(args))


def _stands_in(node: ast.expr) -> bool:
    """Say whether what comes last is a value for one that is missing: as a condition it would decide nothing."""
    return isinstance(node, ast.Constant) and bool(node.value) and not isinstance(node.value, bool)


def _picked(node: ast.BoolOp, scope: Scope) -> Term:
    """Return the operand that `x or y` and `x and y` are the value of."""
    *before, found = [term(v, scope) for v in node.values]
    for arg in reversed(before):
        found = Op("if", (arg, arg, found) if isinstance(node.op, ast.Or) else (arg, found, arg))
    return found


def _operand(node: ast.expr, scope: Scope) -> Term:
    """Return what is reckoned or compared with: a value, where a condition asks for a truth only."""
    return _picked(node, scope) if isinstance(node, ast.BoolOp) else term(node, scope)


def _unary(node: ast.UnaryOp, scope: Scope) -> Term:
    arg = term(node.operand, scope)
    if isinstance(node.op, ast.Not):
        return negate(arg)
    if isinstance(node.op, ast.USub):
        known = isinstance(arg, Const) and isinstance(arg.value, int | float)
        return Const(-arg.value) if known and isinstance(arg, Const) else Op("neg", (arg,))
    return arg if isinstance(node.op, ast.UAdd) else opaque(node, scope)


def _arithmetic(node: ast.BinOp, scope: Scope) -> Term:
    name = ARITHMETIC.get(type(node.op))
    return Op(name, (_operand(node.left, scope), _operand(node.right, scope))) if name else opaque(node, scope)


def _compare(node: ast.Compare, scope: Scope) -> Term:
    sides = [_operand(side, scope) for side in (node.left, *node.comparators)]
    return both([Op(COMPARE[type(op)], (sides[n], sides[n + 1])) for n, op in enumerate(node.ops)])


def _either(node: ast.IfExp, scope: Scope) -> Term:
    return choose(term(node.test, scope), term(node.body, scope), term(node.orelse, scope))


def _items(node: ast.Tuple | ast.List | ast.Set, scope: Scope) -> Term:
    items: list[Term] = []
    for element in node.elts[: UNROLLED * 8]:
        if isinstance(element, ast.Starred):
            inner = items_of(term(element.value, scope))
            if inner is None:
                return opaque(node, scope)
            items += inner
        else:
            items.append(term(element, scope))
    return Op("items", tuple(items))


def _set(node: ast.Set, scope: Scope) -> Term:
    items = _items(node, scope)
    return Op("set", (items,)) if isinstance(items, Op) else items


def _mapping(node: ast.Dict, scope: Scope) -> Term:
    keys = [term(k, scope) if k is not None else None for k in node.keys]
    values = [term(v, scope) for v in node.values]
    if all(isinstance(k, Const) for k in keys) and all(isinstance(v, Const) for v in values):
        pairs = zip(keys, values, strict=True)
        return Const({k.value: v.value for k, v in pairs if isinstance(k, Const) and isinstance(v, Const)})
    return opaque(node, scope)


def _subscript(node: ast.Subscript, scope: Scope) -> Term:
    if dotted(node.value).endswith("environ") and isinstance(node.slice, ast.Constant):
        return Env(str(node.slice.value))
    if isinstance(node.slice, ast.Slice):
        return opaque(node, scope)
    return Op("index", (term(node.value, scope), term(node.slice, scope)))


def _walrus(node: ast.NamedExpr, scope: Scope) -> Term:
    value = term(node.value, scope)
    scope.names[node.target.id] = value
    return value


def _text(node: ast.JoinedStr, scope: Scope) -> Term:
    if all(isinstance(v, ast.Constant) for v in node.values):
        return Const("".join(str(v.value) for v in node.values if isinstance(v, ast.Constant)))
    return opaque(node, scope)


def _comprehension(node: ast.GeneratorExp | ast.ListComp | ast.SetComp, scope: Scope) -> Term:
    unrolled = unroll(node, scope)
    if unrolled is None:
        return opaque(node, scope)
    if all(test is None for test, _ in unrolled):
        return Op("items", tuple(value for _, value in unrolled))
    return opaque(node, scope)


def unroll(node: ast.GeneratorExp | ast.ListComp | ast.SetComp, scope: Scope) -> list[tuple[Term | None, Term]] | None:
    """Return (condition, value) for each item of a comprehension over a list that is known, else None."""
    first = node.generators[0]
    items = items_of(term(first.iter, scope))
    if len(node.generators) > 1 or items is None or len(items) > UNROLLED:
        return None
    found: list[tuple[Term | None, Term]] = []
    for item in items:
        inner = scope.fork()
        bind(first.target, item, inner)
        test = both([term(t, inner) for t in first.ifs]) if first.ifs else None
        found.append((test, term(node.elt, inner)))
    return found


def quantified(name: str, node: ast.expr, scope: Scope) -> Term | None:
    """Return `any(...)` or `all(...)` over a known list as a plain condition, else None."""
    join: Callable[[list[Term]], Term] = either if name == "any" else both
    if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp):
        unrolled = unroll(node, scope)
        if unrolled is None:
            return None
        if name == "any":
            return join([both([t, v]) if t else v for t, v in unrolled])
        return join([either([negate(t), v]) if t else v for t, v in unrolled])
    items = items_of(term(node, scope))
    return join(items) if items is not None else None


def _call(node: ast.Call, scope: Scope) -> Term:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in {"any", "all"} and len(node.args) == 1:
        return quantified(name, node.args[0], scope) or opaque(node, scope)
    return calls.call(node, scope) or opaque(node, scope)


READERS: dict[type[ast.expr], Callable[..., Term]] = {
    ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.BoolOp: _boolean, ast.UnaryOp: _unary,
    ast.BinOp: _arithmetic, ast.Compare: _compare, ast.IfExp: _either, ast.Tuple: _items, ast.List: _items,
    ast.Set: _set, ast.Dict: _mapping, ast.Subscript: _subscript, ast.NamedExpr: _walrus, ast.JoinedStr: _text,
    ast.GeneratorExp: _comprehension, ast.ListComp: _comprehension, ast.SetComp: _comprehension,
    ast.Call: _call,
}  # fmt: skip
