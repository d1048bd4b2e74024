"""Follow the code from the start of a function to the line that failed, collecting what must have held on the way."""

import ast
from dataclasses import dataclass, field, replace

from relight.diagnosis.source.blocks import forget, statement
from relight.diagnosis.source.calls import bind_arguments
from relight.diagnosis.source.expressions import UNROLLED, term
from relight.diagnosis.source.facts import Told, facts_of
from relight.diagnosis.source.operands import operand_condition
from relight.diagnosis.source.places import bind, items_of
from relight.diagnosis.source.reading import Guard, Kind
from relight.diagnosis.source.scope import RECEIVERS, Scope
from relight.diagnosis.source.syntax import Function, Module, UnreadableError, last_name, spans
from relight.diagnosis.source.terms import FALSE, TRUE, Field, Op, Opaque, Term, both, either, negate


@dataclass(frozen=True, eq=False)
class Frame:
    """One frame: the line, the function around it, and the statements from the function down to the line."""

    module: Module
    line: int
    function: Function | None
    owner: ast.ClassDef | None
    statements: tuple[ast.stmt, ...]

    def call_to(self, inner: "Frame") -> ast.Call | None:
        """Return the call to the function of another frame in the innermost statement of this one."""
        name = inner.function.name if inner.function else ""
        named = {name, inner.owner.name} if name == "__init__" and inner.owner else {name}
        for stmt in reversed(self.statements):
            calls = [n for n in ast.walk(stmt) if isinstance(n, ast.Call) and last_name(n.func) in named]
            near = [c for c in calls if spans(c, self.line)] or calls
            if near:
                return near[0]
        return None

    def takes_only_settings(self) -> bool:
        """Say whether the function has no parameter besides the settings."""
        return not self.parameters()

    def parameters(self) -> list[str]:
        """Return the function's parameters besides the settings."""
        if self.function is None:
            return []
        spec = self.function.args
        return [p.arg for p in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs) if p.arg not in RECEIVERS]


@dataclass
class Outcome:
    """Where a descent ended."""

    kind: Kind
    condition: Term
    words: str
    guards: list[Guard]
    begin: int
    end: int
    told: Told = field(default_factory=Told)
    checks: list[Term] = field(default_factory=list)
    scope: Scope | None = None

    def plain_scope(self) -> Scope:
        """Return a scope like the function's, in which no field has been rewritten yet."""
        assert self.scope is not None  # noqa: S101  set by every descent
        bare = self.scope.fork()
        bare.fields, bare.checks, bare.returns = {}, [], []
        return bare


class Descent:
    """A way down to a failing line. `kind` and `message` are the exception's own words."""

    def __init__(self, kind: str, message: str) -> None:
        self._kind, self._message = kind.rpartition(".")[2], message
        self._frames: list[Frame] = []

    def start(self, frames: list[Frame], scope: Scope) -> Outcome:
        """Follow `frames` (outermost first) to the failing line of the last one."""
        self._frames = frames
        for name in frames[0].parameters():
            # Nobody says what it was given; a flag of the same name is the best guess, and the message may know more.
            scope.names[name] = Field(name)
        outcome = self._into(0, scope, [])
        outcome.checks = scope.checks
        return outcome

    def _into(self, depth: int, scope: Scope, guards: list[Guard]) -> Outcome:
        frame = self._frames[depth]
        body = frame.function.body if frame.function else frame.module.source.tree.body
        return self._block(body, 0, depth, scope, guards)

    def _block(self, body: list[ast.stmt], level: int, depth: int, scope: Scope, guards: list[Guard]) -> Outcome:
        """Go through a block up to the statement that leads to the line, then into that one."""
        frame = self._frames[depth]
        goal = frame.statements[level]
        path: Term = TRUE
        for stmt in body:
            if stmt is goal:
                break
            past = statement(stmt, scope, path)
            if past is not TRUE and past is not FALSE:
                guards = [*guards, Guard(past, stmt.lineno, _passed(stmt), passed=_is_check(stmt))]
                path = both([path, past])
        if level == len(frame.statements) - 1 or not self._has_inner(goal):
            return self._arrive(goal, depth, scope, guards)
        return self._enter(goal, level, depth, scope, guards)

    @staticmethod
    def _has_inner(stmt: ast.stmt) -> bool:
        return not isinstance(stmt, Function | ast.ClassDef)

    def _enter(self, stmt: ast.stmt, level: int, depth: int, scope: Scope, guards: list[Guard]) -> Outcome:
        inner = self._frames[depth].statements[level + 1]
        if isinstance(stmt, ast.If):
            return self._enter_if(stmt, level, depth, scope, guards)
        if isinstance(stmt, ast.For):
            return self._enter_for(stmt, level, depth, scope, guards)
        if isinstance(stmt, ast.While):
            forget(stmt, scope)
            guards = [*guards, Guard(term(stmt.test, scope), stmt.lineno, ast.unparse(stmt.test))]
        if isinstance(stmt, ast.Try):
            return self._enter_try(stmt, level, depth, scope, guards)
        return self._block(_holding(stmt, inner), level + 1, depth, scope, guards)

    def _enter_if(self, stmt: ast.If, level: int, depth: int, scope: Scope, guards: list[Guard]) -> Outcome:
        """Enter a branch. A plain `else` after several tests means that none of them held: that is one guard."""
        inner = self._frames[depth].statements[level + 1]
        test = term(stmt.test, scope)
        words = ast.unparse(stmt.test)
        if any(inner is s for s in stmt.body):
            guards = [*guards, Guard(test, stmt.lineno, words)]
            return self._block(stmt.body, level + 1, depth, scope, guards)
        before = [g for g in guards if g.line in _chain_lines(self._frames[depth].statements[: level + 1])]
        guard = Guard(negate(test), stmt.lineno, f"not ({words})")
        if isinstance(inner, ast.If) and len(stmt.orelse) == 1:
            return self._block(stmt.orelse, level + 1, depth, scope, [*guards, guard])
        if before:
            guard = Guard(both([*(g.term for g in before), guard.term]), stmt.lineno, "none of the cases before `else`")
        guards = [*(g for g in guards if g not in before), guard]
        return self._block(stmt.orelse, level + 1, depth, scope, guards)

    def _enter_for(self, stmt: ast.For, level: int, depth: int, scope: Scope, guards: list[Guard]) -> Outcome:
        """Enter a loop. Over a list known from the source each item is followed: none of them may fail."""
        source = term(stmt.iter, scope)
        items = items_of(source)
        if not items or len(items) > UNROLLED:
            forget(stmt, scope)
            bind(stmt.target, Opaque(ast.unparse(stmt.target), (source,)), scope)
            guards = [*guards, Guard(Op("bool", (source,)), stmt.lineno, f"{ast.unparse(stmt.iter)} is not empty")]
            return self._block(stmt.body, level + 1, depth, scope, guards)
        outcomes = []
        for item in items:
            inner = scope.fork()
            inner.checks = []
            bind(stmt.target, item, inner)
            outcomes.append(self._block(stmt.body, level + 1, depth, inner, []))
        holds = [either([*(negate(g.term) for g in o.guards), o.condition]) for o in outcomes]
        words = f"{outcomes[0].words}, for every {ast.unparse(stmt.target)} in {ast.unparse(stmt.iter)[:120]}"
        return replace(outcomes[0], condition=both(holds), words=words, guards=guards, scope=scope)

    def _enter_try(self, stmt: ast.Try, level: int, depth: int, scope: Scope, guards: list[Guard]) -> Outcome:
        inner = self._frames[depth].statements[level + 1]
        handler = next((h for h in stmt.handlers if any(inner is s for s in h.body)), None)
        if handler is not None:
            what = ast.unparse(handler.type) if handler.type else "an exception"
            words = f"{what} in lines {stmt.body[0].lineno}-{stmt.body[-1].end_lineno}"
            guards = [*guards, Guard(Opaque(words), stmt.lineno, words)]
            forget(stmt, scope)
        elif not any(inner is s for s in stmt.body):
            for before in stmt.body:
                statement(before, scope)
        return self._block(_holding(stmt, inner), level + 1, depth, scope, guards)

    # --- the failing statement, or the call that leads to it

    def _arrive(self, stmt: ast.stmt, depth: int, scope: Scope, guards: list[Guard]) -> Outcome:
        if depth < len(self._frames) - 1:
            return self._follow_call(depth, scope, guards)
        if isinstance(stmt, ast.Assert) and self._fits("AssertionError"):
            return self._failed_assert(stmt, scope, guards)
        if isinstance(stmt, ast.Raise) and self._fits(_raised(stmt)):
            return self._raised(stmt, scope, guards)
        found = operand_condition(stmt, self._frames[depth].line, self._kind, self._message, scope)
        if found is None:
            raise UnreadableError(
                f"line {self._frames[depth].line} holds no check that gives {self._kind or 'this failure'}"
            )
        condition, words, inner = found
        end = stmt.end_lineno or stmt.lineno
        return Outcome("type", condition, words, [*guards, *inner], stmt.lineno, end, scope=scope)

    def _fits(self, raised: str) -> bool:
        """Say whether the exception of the log can come from here; a file may have changed since."""
        return not raised or not self._kind or raised == self._kind

    def _follow_call(self, depth: int, scope: Scope, guards: list[Guard]) -> Outcome:
        frame, target = self._frames[depth], self._frames[depth + 1]
        call = frame.call_to(target) if target.function else None
        inner = scope.enter(target.module, target.owner)
        if call is not None and target.function is not None:
            bind_arguments(call, target.function, scope, inner)
        return self._into(depth + 1, inner, guards)

    def _failed_assert(self, stmt: ast.Assert, scope: Scope, guards: list[Guard]) -> Outcome:
        told = facts_of(stmt.msg, self._message, scope)
        end = (stmt.msg or stmt).end_lineno or stmt.lineno
        words = ast.unparse(stmt.test)
        return Outcome("assert", term(stmt.test, scope), words, guards, stmt.lineno, end, told, scope=scope)

    def _raised(self, stmt: ast.Raise, scope: Scope, guards: list[Guard]) -> Outcome:
        """Return the innermost guard's opposite as the condition: that is what had to hold."""
        arguments = stmt.exc.args if isinstance(stmt.exc, ast.Call) else []
        told = facts_of(arguments[0] if arguments else None, self._message, scope)
        end = stmt.end_lineno or stmt.lineno
        if not guards:
            return Outcome("raise", FALSE, "this line is never reached", [], stmt.lineno, end, told, scope=scope)
        *outer, last = guards
        words = last.words[5:-1] if last.words.startswith("not (") else f"not ({last.words})"
        begin = last.line if stmt.lineno - last.line < 30 else stmt.lineno
        return Outcome("raise", negate(last.term), words, outer, begin, end, told, scope=scope)


def _raised(stmt: ast.Raise) -> str:
    """Return the name of what is raised, "" where only running the code could tell."""
    if isinstance(stmt.exc, ast.Call):
        name = last_name(stmt.exc.func)
        return name if name[:1].isupper() else ""
    return ""


def _passed(stmt: ast.stmt) -> str:
    """Say that a statement which may leave the function did not."""
    if isinstance(stmt, ast.If) and not stmt.orelse:
        return f"not ({ast.unparse(stmt.test)})"
    return f"the code at line {stmt.lineno} goes on"


def _is_check(stmt: ast.stmt) -> bool:
    """Say whether a statement does nothing but refuse: it raises, and leaves the function in no other way."""
    inside = list(ast.walk(stmt))
    return any(isinstance(n, ast.Raise) for n in inside) and not any(
        isinstance(n, ast.Return | ast.Continue | ast.Break) for n in inside
    )


def _holding(stmt: ast.stmt, inner: ast.stmt) -> list[ast.stmt]:
    blocks: list[list[ast.stmt]] = [getattr(stmt, name, None) or [] for name in ("body", "orelse", "finalbody")]
    blocks += [h.body for h in (*getattr(stmt, "handlers", ()), *getattr(stmt, "cases", ()))]
    return next(b for b in blocks if any(s is inner for s in b))


def _chain_lines(statements: tuple[ast.stmt, ...]) -> set[int]:
    """Return the lines of the `if` and `elif` tests that lead to the last statement as one chain."""
    lines: set[int] = set()
    child: ast.stmt | None = None
    for stmt in reversed(statements):
        if not isinstance(stmt, ast.If) or (child is not None and stmt.orelse != [child]):
            break
        lines.add(stmt.lineno)
        child = stmt
    return lines
