"""Parse a source file within bounds and find one's way in it. Nothing here executes what it reads."""

import ast
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

LARGEST, LONGEST_FILE = 4 << 20, 30_000
Function = ast.FunctionDef | ast.AsyncFunctionDef


class UnreadableError(Exception):
    """A source text that cannot be read; says why."""


def parse(text: str, line: int | None = None) -> ast.Module:
    """Parse a file; of a very long one only the top-level block around `line`. Raises UnreadableError.

    The last few trees are kept: one failure after another is read from the same files.
    """
    if len(text) > LARGEST:
        raise UnreadableError(f"the file is larger than {LARGEST >> 20} MiB")
    text = text.removeprefix("\ufeff")
    rows = text.split("\n")
    if len(rows) > LONGEST_FILE:
        text = _block(rows, line)
    return _parsed(text)


@lru_cache(maxsize=6)
def _parsed(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            # The parser warns about odd escapes in foreign source; that is not ours to report.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError) as fault:
        raise UnreadableError(f"it is not valid Python: {fault}") from None
    except (RecursionError, MemoryError):
        raise UnreadableError("it is nested too deeply") from None


def _block(rows: list[str], line: int | None) -> str:
    """Return the text with everything but the top-level block around `line` blanked: lines keep their number."""
    if line is None or not 0 < line <= len(rows):
        raise UnreadableError(f"the file has more than {LONGEST_FILE} lines")
    starts = [n for n, row in enumerate(rows) if row[:1] not in {"", " ", "\t", "#", ")", "]", "}", "\r"}]
    first = max((n for n in starts if n < line), default=0)
    after = min((n for n in starts if n >= line), default=len(rows))
    if after - first > LONGEST_FILE:
        raise UnreadableError(f"the block around line {line} has more than {LONGEST_FILE} lines")
    return "\n" * first + "\n".join(rows[first:after])


def spans(node: ast.AST, line: int) -> bool:
    """Say whether `line` lies within a node; decorators count as part of what they decorate."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first: int = min([getattr(node, "lineno", 0), *(d.lineno for d in decorators)])
    last: int = getattr(node, "end_lineno", None) or 0
    return first <= line <= last


def bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the statement lists directly inside a node."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for inner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield inner.body


def chain(tree: ast.Module, line: int) -> tuple[ast.stmt, ...]:
    """Return the statements around `line`, outermost first; () where no statement is there."""
    found: list[ast.stmt] = []
    node: ast.AST = tree
    while True:
        inner = next((s for body in bodies(node) for s in body if spans(s, line)), None)
        if inner is None:
            return tuple(found)
        found.append(inner)
        node = inner


@dataclass(frozen=True)
class Imported:
    """Where an imported name comes from."""

    module: str
    name: str


@dataclass(frozen=True, eq=False)
class Module:
    """A parsed file with an index of what its top level defines."""

    file: str
    tree: ast.Module
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)
    imports: dict[str, Imported] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str, file: str, line: int | None = None) -> "Module":
        """Parse and index a file. Raises UnreadableError."""
        module = cls(file, parse(text, line))
        for stmt in _top_level(module.tree.body):
            module._index(stmt)
        return module

    def _index(self, stmt: ast.stmt) -> None:
        if isinstance(stmt, Function):
            self.functions.setdefault(stmt.name, stmt)
        elif isinstance(stmt, ast.ClassDef):
            self.classes.setdefault(stmt.name, stmt)
        elif isinstance(stmt, ast.Assign | ast.AnnAssign):
            self._constant(stmt)
        elif isinstance(stmt, ast.ImportFrom):
            self.import_from(stmt)

    def _constant(self, stmt: ast.Assign | ast.AnnAssign) -> None:
        target = stmt.targets[0] if isinstance(stmt, ast.Assign) else stmt.target
        if isinstance(target, ast.Name) and stmt.value is not None:
            # Assigned twice (in branches, say) means not constant.
            known = target.id in self.constants
            self.constants[target.id] = ast.Name("unknown", ast.Load()) if known else stmt.value

    def import_from(self, stmt: ast.ImportFrom) -> None:
        """Note what `from X import a` brings in; relative imports are resolved against the file's own folder."""
        for alias in stmt.names:
            self.imports[alias.asname or alias.name] = Imported("." * stmt.level + (stmt.module or ""), alias.name)

    @cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """Every call in the file by the last part of its name."""
        found: dict[str, list[ast.Call]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                found.setdefault(last_name(node.func), []).append(node)
        return found

    def method(self, owner: ast.ClassDef | None, name: str) -> Function | None:
        """Return a method of a class."""
        body = owner.body if owner else ()
        return next((s for s in body if isinstance(s, Function) and s.name == name), None)


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for stmt in body:
        yield stmt
        if isinstance(stmt, ast.If | ast.Try):
            for block in bodies(stmt):
                yield from _top_level(block)


def last_name(node: ast.expr) -> str:
    """Return the last part of a dotted name, "" where there is none."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.expr) -> str:
    """Return a dotted name as written, "" where it is something else."""
    if isinstance(node, ast.Attribute):
        left = dotted(node.value)
        return f"{left}.{node.attr}" if left else ""
    return node.id if isinstance(node, ast.Name) else ""


def path_of(module: str, file: str) -> str:
    """Return the file that `module`, imported in `file`, should be in; "" where that cannot be told."""
    folder, _, _ = file.replace("\\", "/").rpartition("/")
    if module.startswith("."):
        level = len(module) - len(module.lstrip("."))
        parts = folder.split("/")[: len(folder.split("/")) - (level - 1)]
        return "/".join([*parts, *filter(None, module[level:].split("."))]) + ".py"
    top = "/" + module.partition(".")[0] + "/"
    root, found, _ = (folder + "/").rpartition(top)
    return f"{root}/{module.replace('.', '/')}.py" if found else ""


def lookup_file(path: str, others: Mapping[str, str]) -> str | None:
    """Return the key of `others` that is `path`, or ends like it."""
    if path in others:
        return path
    tail = "/".join(path.split("/")[-3:])
    return next((key for key in others if tail and key.endswith("/" + tail)), None)
