"""Read the condition that failed out of the engine's source. The text is parsed, never executed."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from relight.diagnosis.source.blocks import run
from relight.diagnosis.source.descend import Descent, Frame, Outcome
from relight.diagnosis.source.expressions import term
from relight.diagnosis.source.reading import Guard, Reading
from relight.diagnosis.source.scope import Budget, Scope
from relight.diagnosis.source.syntax import Function, Module, UnreadableError
from relight.diagnosis.source.terms import Field, Term, names, walk

__all__ = ["Guard", "Reading", "read_failure"]
AROUND, ROWS = 3, 40
WANTS, RELATED, CHECKS = 6, 40, 60
INFERRED_CALLERS = 2
ENTRIES = frozenset({"__init__", "__post_init__"})
"""Functions in which the settings begin."""
WRITES = (
    r"\.(?:{0})\b[^\S\n]*(?:,[^=\n]*|:[^=\n]*|[-+*/%|&]+)?=(?!=)"  # self.x = ..., self.x: int = ..., self.x += ...
    r"|setattr\([^\n]*['\"](?:{0})['\"]"
    r"|\((?:self|\w*args|cfg|view)\s*,[^()]*\b(?:{0})\s*=(?!=)"  # declare(self, x=...)
)


def read_failure(
    text: str,
    file: str,
    line: int,
    *,
    message: str = "",
    type: str = "",  # noqa: A002  the word of a traceback
    others: Mapping[str, str] | None = None,
    callers: Sequence[tuple[str, int]] = (),
) -> Reading:
    """Return the condition that failed at `line` of `text`, with what guards it.

    `type` and `message` are the exception's; `others` maps paths of further source files to their text; `callers`
    are the outer frames (file, line), outermost first. Never raises for what the text holds.
    """
    unread = Reading(file, line, message=message, excerpt=_rows(text, line, line))
    try:
        return _read(text, unread, type, others or {}, callers)
    except UnreadableError as fault:
        return replace(unread, why=f"cannot read {file}: {fault}")
    except RecursionError:
        return replace(unread, why=f"cannot read {file}: it is nested too deeply")


def _rows(text: str, first: int, last: int) -> tuple[tuple[int, str], ...]:
    rows = text.split("\n")
    start, end = max(1, first - AROUND), min(len(rows), last + AROUND, first + ROWS)
    return tuple((n, rows[n - 1][:300].rstrip()) for n in range(start, end + 1))


def _read(
    text: str, unread: Reading, kind: str, others: Mapping[str, str], callers: Sequence[tuple[str, int]]
) -> Reading:
    module = Module.read(text, unread.file, unread.line)
    target = _frame(module, unread.line)
    budget = Budget(others, term, run)
    frames = [*_outer(callers, target, module, budget), target]
    outcome = Descent(kind, unread.message).start(frames, Scope(frames[0].module, budget, frames[0].owner))
    found = _reading(text, unread, outcome, target, budget)
    texts = [text, *(others.get(f.module.file, "") for f in frames)]
    return replace(found, whole=_from_the_start(frames[0]) and not any(_writes(t, found) for t in texts))


def _from_the_start(first: Frame) -> bool:
    """Say whether a frame is where the settings are made: what was done to them before it is nothing."""
    return first.function is not None and first.function.name in ENTRIES and first.takes_only_settings()


def _writes(text: str, reading: Reading) -> bool:
    """Say whether a file seems to write a field that the failed check reads, read or unread on the way to it."""
    terms = [t for t in (reading.condition, *(g.term for g in reading.guards)) if t is not None]
    reads = "|".join(sorted(re.escape(t.name) for t in walk(*terms) if isinstance(t, Field)))
    return bool(reads) and re.search(WRITES.format(reads), text) is not None


def _frame(module: Module, line: int) -> Frame:
    """Return the place of a line. Raises UnreadableError where no statement is there."""
    statements = module.around(line)
    if not statements:
        raise UnreadableError(f"no statement at line {line}; the file may have changed since the crash")
    found = [n for n, s in enumerate(statements) if isinstance(s, Function)]
    start = found[-1] if found else -1
    if start == len(statements) - 1:
        raise UnreadableError(f"line {line} is the head of a function; the file may have changed since the crash")
    outer = statements[start - 1] if start > 0 else None
    function = statements[start] if found else None
    return Frame(
        module,
        line,
        function if isinstance(function, Function) else None,
        outer if isinstance(outer, ast.ClassDef) else None,
        statements[start + 1 :],
    )


def _outer(callers: Sequence[tuple[str, int]], target: Frame, module: Module, budget: Budget) -> list[Frame]:
    """Return the frames outside the target that lead to it by calls that can be read, outermost first."""
    given = (_caller(file, line, module, budget) for file, line in reversed(callers))
    frames: list[Frame] = []
    inner = target
    for outer in given if callers else _inferred(target, module):
        if outer is None or inner.function is None or outer.call_to(inner) is None:
            break
        frames.insert(0, outer)
        inner = outer
    return frames


def _caller(file: str, line: int, module: Module, budget: Budget | None = None) -> Frame | None:
    there = module if file == module.file else budget.module(file) if budget else None
    try:
        return _frame(there, line) if there else None
    except UnreadableError:
        return None


def _inferred(target: Frame, module: Module) -> Iterator[Frame]:
    """Yield the only caller in the same file of a function that is given more than the settings, and its caller."""
    inner = target
    for _ in range(INFERRED_CALLERS):
        if inner.function is None or inner.takes_only_settings():
            return
        calls = module.calls.get(inner.function.name, [])
        outer = _caller(module.file, calls[0].lineno, module) if len(calls) == 1 else None
        if outer is None:
            return
        inner = outer
        yield inner


def _reading(text: str, unread: Reading, outcome: Outcome, target: Frame, budget: Budget) -> Reading:
    last = outcome.end
    return replace(
        unread,
        kind=outcome.kind,
        function=target.function.name if target.function else "",
        condition=outcome.condition,
        words=outcome.words,
        guards=tuple(outcome.guards),
        checks=tuple(outcome.checks[-CHECKS:]),
        related=tuple(_related(target, outcome)),
        facts=outcome.told.facts,
        told=outcome.told.terms,
        excerpt=_rows(text, min(outcome.begin, unread.line), max(last, unread.line)),
        wants=tuple(budget.wants)[:WANTS],
    )


def _related(target: Frame, outcome: Outcome) -> Iterator[Term]:
    """Yield comparisons of the function that read a field of the condition: they hint at values that go together."""
    if target.function is None or outcome.scope is None:
        return
    wanted = names(outcome.condition, *(g.term for g in outcome.guards))
    count = 0
    for node in ast.walk(target.function):
        if isinstance(node, ast.Compare) and count < RELATED:
            found = term(node, outcome.plain_scope())
            if names(found) & wanted:
                count += 1
                yield found
