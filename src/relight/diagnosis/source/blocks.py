"""Run statements over terms: what names and fields hold after them, and under which condition one gets past them."""

import ast
from collections.abc import Callable
from typing import Any

from relight.diagnosis.source.expressions import UNROLLED, term
from relight.diagnosis.source.places import bind, field_of, items_of, opaque
from relight.diagnosis.source.scope import Scope
from relight.diagnosis.source.terms import FALSE, TRUE, Const, Field, Op, Opaque, Term, both, choose, either, negate

LARGEST = 400
CHANGES = {
    "append": "with", "add": "with", "remove": "without", "discard": "without", "extend": "", "update": "",
    "insert": "", "pop": "", "popitem": "", "clear": "", "sort": "", "reverse": "", "setdefault": "",
}  # fmt: skip


def run(body: list[ast.stmt], scope: Scope, path: Term = TRUE) -> Term:
    """Run a block; return the condition under which execution falls out of its end.

    `path` is the condition under which it is entered, counted from the start of its function.
    """
    alive: Term = TRUE
    for stmt in body:
        scope.budget.spend()
        now = statement(stmt, scope, both([path, alive]))
        alive = both([alive, now])
        if alive is FALSE:
            break
    return alive


def statement(stmt: ast.stmt, scope: Scope, path: Term = TRUE) -> Term:
    """Run one statement; return the condition under which the next one is reached."""
    for kinds, effect in EFFECTS:
        if isinstance(stmt, kinds):
            return effect(stmt, scope, path)
    assign(stmt, scope)
    return TRUE


def _return(stmt: ast.Return, scope: Scope, path: Term) -> Term:
    scope.returns.append((path, term(stmt.value, scope) if stmt.value else Const(None)))
    return FALSE


def _raise(_: ast.Raise, scope: Scope, path: Term) -> Term:
    scope.checks.append(negate(path))
    return FALSE


def _assert(stmt: ast.Assert, scope: Scope, path: Term) -> Term:
    scope.checks.append(either([negate(path), term(stmt.test, scope)]))
    return TRUE


def assign(stmt: ast.stmt, scope: Scope) -> None:
    """Apply a statement that only changes values."""
    if isinstance(stmt, ast.Assign):
        _assign_value(stmt.targets, stmt.value, scope)
    elif isinstance(stmt, ast.AnnAssign) and stmt.value is not None:
        _assign_value([stmt.target], stmt.value, scope)
    elif isinstance(stmt, ast.AugAssign):
        both_sides = ast.BinOp(_loaded(stmt.target), stmt.op, stmt.value)
        bind(stmt.target, _small(term(ast.copy_location(both_sides, stmt), scope)), scope)
    elif isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
        _written_by_call(stmt.value, scope)
        _changed_by_method(stmt.value, scope)
    elif isinstance(stmt, ast.ImportFrom):
        scope.module.import_from(stmt)


def _loaded(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    return ast.Attribute(target.value, target.attr, ast.Load()) if isinstance(target, ast.Attribute) else target


def _assign_value(targets: list[ast.expr], value: ast.expr, scope: Scope) -> None:
    alias = scope.is_settings(value)
    meaning = None if alias else _small(term(value, scope))
    for target in targets:
        if alias and isinstance(target, ast.Name):
            scope.names.pop(target.id, None)
            scope.aliases.add(target.id)
        elif meaning is not None:
            bind(target, meaning, scope)


def _small(value: Term) -> Term:
    """Return a term, or an opaque one in its place when it has grown beyond use."""
    size = 0
    left = [value]
    while left and size <= LARGEST:
        now = left.pop()
        size += 1
        left += now.args if isinstance(now, Op) else (now.value,) if isinstance(now, Field) and now.value else ()
    return value if size <= LARGEST else Opaque("a value computed at length")


def _written_by_call(node: ast.Call, scope: Scope) -> None:
    """Take `f(settings, ..., field=value)` for a write of these fields: so the engine declares what it resolved."""
    if not node.args or not scope.is_settings(node.args[0]):
        return
    for keyword in node.keywords:
        if keyword.arg:
            scope.fields[keyword.arg] = _small(term(keyword.value, scope))


def _changed_by_method(node: ast.Call, scope: Scope) -> None:
    """Follow `name.append(x)` and its like on a local list or set; after any other change it is not known."""
    function = node.func
    if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
        return
    name, before = function.value.id, scope.names.get(function.value.id)
    if before is None or function.attr not in CHANGES:
        return
    change = CHANGES[function.attr]
    if change and len(node.args) == 1 and not isinstance(before, Opaque):
        scope.names[name] = _small(changed(before, change, term(node.args[0], scope)))
    else:
        scope.names[name] = Opaque(name, (before,))


def changed(before: Term, change: str, item: Term) -> Term:
    """Return a list or set with or without an item; one that is known from the source stays known."""
    if change == "with" and isinstance(before, Op) and before.name == "items":
        return Op("items", (*before.args, item))
    return Op(change, (before, item))


def _branch(stmt: ast.If, scope: Scope, path: Term) -> Term:
    test = term(stmt.test, scope)
    then, other = scope.fork(), scope.fork()
    after_then = run(stmt.body, then, both([path, test]))
    after_other = run(stmt.orelse, other, both([path, negate(test)]))
    if after_then is FALSE or after_other is FALSE:
        left = other if after_then is FALSE else then
        scope.names, scope.fields, scope.aliases = left.names, left.fields, left.aliases
    else:
        merge(test, then, other, scope)
    if after_then is TRUE and after_other is TRUE:
        return TRUE
    return either([both([test, after_then]), both([negate(test), after_other])])


def merge(test: Term, then: Scope, other: Scope, scope: Scope) -> None:
    """Let `scope` hold what either branch left, chosen by `test`."""
    for name in {**then.names, **other.names}:
        a, b = then.names.get(name), other.names.get(name)
        missing = Opaque(name)
        scope.names[name] = _small(choose(test, a or missing, b or missing))
    for name in {**then.fields, **other.fields}:
        a, b = then.fields.get(name), other.fields.get(name)
        if a is not b:
            before = field_of(name, scope)
            scope.fields[name] = _small(choose(test, a or before, b or before))
    scope.aliases |= then.aliases & other.aliases


def _loop(stmt: ast.For | ast.AsyncFor | ast.While, scope: Scope, _: Term) -> Term:
    items = items_of(term(stmt.iter, scope)) if isinstance(stmt, ast.For) else None
    if items is not None and len(items) <= UNROLLED and isinstance(stmt, ast.For):
        for item in items:
            bind(stmt.target, item, scope)
            run(stmt.body, scope)
        return TRUE
    forget(stmt, scope)
    return TRUE


def forget(stmt: ast.stmt, scope: Scope) -> None:
    """Make everything opaque that a statement may assign an unknown number of times."""
    for node in ast.walk(stmt):
        scope.budget.spend()
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            bind(node, opaque(_loaded(node), scope), scope)


def _guarded(stmt: ast.Try, scope: Scope, path: Term) -> Term:
    alive = run(stmt.body, scope, path)
    for handler in stmt.handlers:
        inner = scope.fork()
        inner.returns, inner.checks = [], []
        run(handler.body, inner, path)
        failed = Opaque(f"an exception at line {stmt.lineno}")
        if inner.fields != scope.fields or inner.names != scope.names:
            merge(failed, inner, scope.fork(), scope)
    after = run([*stmt.orelse, *stmt.finalbody], scope, path) if alive is not FALSE else alive
    return both([alive, after])


EFFECTS: tuple[tuple[Any, Callable[..., Term]], ...] = (
    (ast.If, _branch),
    (ast.Return, _return),
    (ast.Raise, _raise),
    ((ast.Continue, ast.Break), lambda *_: FALSE),
    (ast.Assert, _assert),
    ((ast.For, ast.AsyncFor, ast.While), _loop),
    (ast.Try, _guarded),
    (ast.With, lambda stmt, scope, path: run(stmt.body, scope, path)),
)
