"""Where values are kept in a scope: fields of the settings, local names, items of lists."""

import ast

from relight.diagnosis.source.scope import Scope
from relight.diagnosis.source.syntax import dotted
from relight.diagnosis.source.terms import Const, Env, Field, Op, Opaque, Term, walk


def opaque(node: ast.AST, scope: Scope) -> Opaque:
    """Return an expression that cannot be read, with the fields and variables in it."""
    reads: list[Term] = []
    for inner in ast.walk(node):
        scope.budget.spend()
        if isinstance(inner, ast.Attribute) and scope.is_settings(inner.value):
            reads.append(field_of(inner.attr, scope))
        elif isinstance(inner, ast.Name) and inner.id in scope.names:
            reads += [t for t in walk(scope.names[inner.id]) if isinstance(t, Field | Env)][:8]
    return Opaque(ast.unparse(node)[:200], tuple({id(r): r for r in reads}.values())[:16])


def field_of(name: str, scope: Scope) -> Field:
    """Return a field of the settings, as code before this point left it."""
    if name not in scope.fields:
        scope.fields[name] = Field(name)
    now = scope.fields[name]
    return now if isinstance(now, Field) and now.name == name else Field(name, now)


def items_of(value: Term) -> list[Term] | None:
    """Return the items of a term that is a list known from the source, else None."""
    if isinstance(value, Op) and value.name == "items":
        return list(value.args)
    if isinstance(value, Op) and value.name in {"list", "tuple", "set", "sorted"} and len(value.args) == 1:
        return items_of(value.args[0])
    if isinstance(value, Const) and isinstance(value.value, dict):
        return [Const(k) for k in value.value]
    return None


def bind(target: ast.expr, value: Term, scope: Scope) -> None:
    """Give the names of an assignment target their values."""
    if isinstance(target, ast.Name):
        for kept in [name for name in scope.names if name.startswith(f"{target.id}.")]:
            del scope.names[kept]
        scope.names[target.id] = value
        scope.aliases.discard(target.id)
    elif isinstance(target, ast.Attribute) and scope.is_settings(target.value):
        scope.fields[target.attr] = value
    elif isinstance(target, ast.Attribute) and dotted(target):
        scope.names[dotted(target)] = value
    elif isinstance(target, ast.Tuple | ast.List):
        items = items_of(value)
        fits = items is not None and len(items) == len(target.elts)
        for n, inner in enumerate(target.elts):
            part = items[n] if fits and items is not None else Opaque(ast.unparse(inner), (value,))
            bind(inner, part, scope)
