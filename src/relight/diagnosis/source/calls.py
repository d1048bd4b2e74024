"""Calls of the source -> terms: builtins, string methods, the environment, and functions read one level deep."""

import ast

from relight.diagnosis.source.evaluate import OPERATIONS, TYPES
from relight.diagnosis.source.places import bind, field_of
from relight.diagnosis.source.scope import DEPTH, Scope
from relight.diagnosis.source.syntax import Function, Module, dotted, last_name
from relight.diagnosis.source.terms import FALSE, TRUE, Const, Env, Op, Opaque, Term, choose, names

BUILTINS = {
    "len", "bool", "int", "float", "str", "abs", "min", "max", "sum", "list", "tuple", "set", "sorted", "round",
    "frozenset",
}  # fmt: skip
LONGEST_BODY = 40


def call(node: ast.Call, scope: Scope) -> Term | None:
    """Return what a call means, None where it cannot be read."""
    for reader in (_environment, _builtin, _getattr, _isinstance, _predicate, _inline, _method):
        found = reader(node, scope)
        if found is not None:
            return found
    return None


def _read(node: ast.expr, scope: Scope) -> Term:
    return scope.budget.read(node, scope)


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


# --- the environment


def _environment(node: ast.Call, scope: Scope) -> Term | None:
    name = dotted(node.func)
    head, _, tail = name.rpartition(".")
    first = _text(node.args[0]) if node.args else None
    if head.startswith("envs.") and tail in {"get", "is_set", "value"}:
        return _declared(head.removeprefix("envs."), tail, scope)
    if first is None:
        return None
    if name.endswith(("environ.get", "os.getenv")) or name == "getenv":
        return Env(first, "str", _default(node))
    if "env" in last_name(node.func).lower() and first.isupper():
        kind = next((k for k in ("bool", "int", "float") if k in last_name(node.func)), "str")
        return Env(first, kind, _typed(kind, _default(node)))
    return None


def _default(node: ast.Call) -> str | int | float | bool | None:
    given = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "default")]
    value = given[0].value if given and isinstance(given[0], ast.Constant) else None
    return value if isinstance(value, str | int | float | bool) else None


def _typed(kind: str, default: str | float | bool | None) -> str | int | float | bool | None:
    if kind == "bool":
        return str(default or "").lower() in {"1", "true", "yes", "y"}
    return default


def _declared(name: str, how: str, scope: Scope) -> Term:
    """Return a variable that a class of the engine declares: `NAME = EnvBool(False)`."""
    if how == "is_set":
        return Op("given", (Env(name),))
    source = scope.module.imports.get("envs")
    declared = scope.klass(source.name.capitalize()) if source else scope.klass("Envs")
    value = _class_value(declared[1], name) if declared else None
    if not isinstance(value, ast.Call):
        return Env(name, "bool")
    kind = next((k for k in ("bool", "int", "float") if k in last_name(value.func).lower()), "str")
    default = value.args[0].value if value.args and isinstance(value.args[0], ast.Constant) else None
    return Env(name, kind, default)


def _class_value(owner: ast.ClassDef, name: str) -> ast.expr | None:
    for stmt in owner.body:
        if isinstance(stmt, ast.Assign) and dotted(stmt.targets[0]) == name:
            return stmt.value
        if isinstance(stmt, ast.AnnAssign) and dotted(stmt.target) == name:
            return stmt.value
    return None


# --- builtins and methods of values


def _builtin(node: ast.Call, scope: Scope) -> Term | None:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in BUILTINS or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        return None
    name = "set" if name == "frozenset" else name
    if not node.args:
        return Op("items", ()) if name in {"list", "tuple", "set"} else None
    return Op(name, tuple(_read(a, scope) for a in node.args))


def _getattr(node: ast.Call, scope: Scope) -> Term | None:
    name = dotted(node.func)
    field = _text(node.args[1]) if len(node.args) > 1 else None
    told = field and field.isidentifier() and scope.is_settings(node.args[0])
    # getattr(settings, "field"), or a function of the engine's that gives what it resolved a field to.
    asks = name == "getattr" or any(word in last_name(node.func) for word in ("resol", "field"))
    return field_of(str(field), scope) if told and asks else None


def _isinstance(node: ast.Call, scope: Scope) -> Term | None:
    if dotted(node.func) != "isinstance" or len(node.args) != 2:
        return None
    kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
    named = tuple(dotted(k) for k in kinds)
    return Op("isinstance", (_read(node.args[0], scope), Const(named))) if set(named) <= set(TYPES) else None


def _method(node: ast.Call, scope: Scope) -> Term | None:
    if not isinstance(node.func, ast.Attribute) or node.keywords or f".{node.func.attr}" not in OPERATIONS:
        return None
    if scope.is_settings(node.func.value):
        return None
    owner = _read(node.func.value, scope)
    if isinstance(owner, Opaque):
        return None
    return Op(f".{node.func.attr}", (owner, *(_read(a, scope) for a in node.args)))


# --- enumerations: Kind(field).is_this(), Kind.THIS


def member(node: ast.Attribute, scope: Scope) -> Term | None:
    """Return the constant behind `Kind.THIS`, None where `Kind` is not a class of constants that can be read."""
    found = scope.klass(node.value.id) if isinstance(node.value, ast.Name) else None
    value = _class_value(found[1], node.attr) if found else None
    return Const(value.value) if isinstance(value, ast.Constant) else None


def _predicate(node: ast.Call, scope: Scope) -> Term | None:
    """Read `Kind(value).is_this()`, where Kind is an enumeration whose method compares self with a member."""
    function = node.func
    if node.args or not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Call):
        return None
    made = function.value
    found = scope.klass(made.func.id) if isinstance(made.func, ast.Name) and len(made.args) == 1 else None
    method = found[0].method(found[1], function.attr) if found else None
    if not found or not method or not any("Enum" in dotted(b) for b in found[1].bases):
        return None
    inner = scope.enter(found[0], found[1])
    inner.names["self"] = _read(made.args[0], scope)
    return _returned(method, inner)


# --- functions and methods of the engine


def property_of(name: str, scope: Scope) -> Term | None:
    """Return the value of a property of the function's own class, None where `name` is not one."""
    method = scope.module.method(scope.owner, name)
    if method is None or scope.depth >= DEPTH:
        return None
    if not any(last_name(d) in {"property", "cached_property"} for d in method.decorator_list):
        return None
    return _returned(method, scope.enter(scope.module, scope.owner))


def _inline(node: ast.Call, scope: Scope) -> Term | None:
    found = target_of(node, scope)
    if found is None or scope.depth >= DEPTH:
        return None
    module, owner, function = found
    inner = scope.enter(module, owner)
    inner.checks = []
    if not bind_arguments(node, function, scope, inner):
        return None
    return _returned(function, inner)


def target_of(node: ast.Call, scope: Scope) -> tuple[Module, ast.ClassDef | None, Function] | None:
    """Return the function a call runs, where it is a method of the same class or a function that can be found."""
    if isinstance(node.func, ast.Attribute) and scope.is_settings(node.func.value):
        method = scope.module.method(scope.owner, node.func.attr)
        return (scope.module, scope.owner, method) if method else None
    found = scope.function(node.func.id) if isinstance(node.func, ast.Name) else None
    return (found[0], None, found[1]) if found else None


def bind_arguments(node: ast.Call, function: Function, scope: Scope, inner: Scope) -> bool:
    """Give a function's parameters the values of a call; False where that cannot be told."""
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return False
    spec = function.args
    params = [*spec.posonlyargs, *spec.args]
    static = any(last_name(d) == "staticmethod" for d in function.decorator_list)
    if inner.owner is not None and params and not static:
        own = params.pop(0).arg
        if inner.owns_settings():
            inner.aliases.add(own)
    given = dict(zip((p.arg for p in params), node.args, strict=False))
    given |= {k.arg: k.value for k in node.keywords if k.arg}
    for name, default in _defaults(function).items():
        given.setdefault(name, default)
    for name, value in given.items():
        bind_name(name, value, scope, inner)
    return True


def _defaults(function: Function) -> dict[str, ast.expr]:
    spec = function.args
    params = [*spec.posonlyargs, *spec.args]
    found = {p.arg: d for p, d in zip(reversed(params), reversed(spec.defaults), strict=False)}
    return found | {p.arg: d for p, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None}


def bind_name(name: str, value: ast.expr, scope: Scope, inner: Scope) -> None:
    """Give one name its value; the settings object itself stays the settings object."""
    if scope.is_settings(value):
        inner.aliases.add(name)
    else:
        bind(ast.Name(name, ast.Store()), _read(value, scope), inner)


def _returned(function: Function, inner: Scope) -> Term | None:
    """Return what a function gives back as one term: nested choices over its return statements."""
    body = function.body
    if sum(1 for _ in ast.walk(function)) > LONGEST_BODY * 20 or isinstance(function, ast.AsyncFunctionDef):
        return None
    end = inner.budget.run(body, inner)
    value: Term = Const(None)
    if end is not FALSE and not inner.returns:
        return None
    for condition, given in reversed(inner.returns):
        value = choose(condition, given, value) if condition is not TRUE else given
    opaque = isinstance(value, Opaque) and not names(value)
    return None if opaque else value
