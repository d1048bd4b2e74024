"""Find one's way in a source file: what it defines, what it imports, which statements are around a line."""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from relight.diagnosis.source.sections import LONGEST_FILE, Parsed, Sections, UnreadableError, bodies, parsed, sections

__all__ = ["Function", "Imported", "Module", "UnreadableError"]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def spans(node: ast.AST, line: int) -> bool:
    """Say whether `line` lies within a node; decorators count as part of what they decorate."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first: int = min([getattr(node, "lineno", 0), *(d.lineno for d in decorators)])
    last: int = getattr(node, "end_lineno", None) or 0
    return first <= line <= last


def chain(body: list[ast.stmt], line: int) -> tuple[ast.stmt, ...]:
    """Return the statements around `line`, outermost first; () where no statement is there."""
    found: list[ast.stmt] = []
    blocks: Iterable[list[ast.stmt]] = (body,)
    while True:
        inner = next((s for block in blocks for s in block if spans(s, line)), None)
        if inner is None:
            return tuple(found)
        found.append(inner)
        blocks = bodies(inner)


@dataclass(frozen=True)
class Imported:
    """Where an imported name comes from."""

    module: str
    name: str


@dataclass(frozen=True, eq=False)
class Module:
    """A file and what its top level defines; `imports` grows as functions with imports of their own are followed."""

    file: str
    source: Parsed | Sections
    imports: dict[str, Imported] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str, file: str, line: int) -> "Module":
        """Parse the file of a failing line: all of it must be valid. Raises UnreadableError."""
        return cls._of(parsed(text, line if text.count("\n") > LONGEST_FILE else None), file)

    @classmethod
    def beside(cls, text: str, file: str) -> "Module":
        """Return another file, parsed no further than it is asked about. Raises UnreadableError."""
        return cls._of(sections(text), file)

    @classmethod
    def _of(cls, source: Parsed | Sections, file: str) -> "Module":
        module = cls(file, source)
        for stmt in source.imports:
            module.import_from(stmt)
        return module

    def import_from(self, stmt: ast.ImportFrom) -> None:
        """Note what `from X import a` brings in; relative imports are resolved against the file's own folder."""
        for alias in stmt.names:
            self.imports[alias.asname or alias.name] = Imported("." * stmt.level + (stmt.module or ""), alias.name)

    def function(self, name: str) -> Function | None:
        """Return a function of the top level."""
        return next((s for s in self.source.named(name) if isinstance(s, Function)), None)

    def klass(self, name: str) -> ast.ClassDef | None:
        """Return a class of the top level."""
        return next((s for s in self.source.named(name) if isinstance(s, ast.ClassDef)), None)

    def constant(self, name: str) -> ast.expr | None:
        """Return the value of a constant of the top level; what is assigned twice (in branches, say) is none."""
        found = [s.value for s in self.source.named(name) if isinstance(s, ast.Assign | ast.AnnAssign)]
        return found[0] if len(found) == 1 else ast.Name("unknown", ast.Load()) if found else None

    def around(self, line: int) -> tuple[ast.stmt, ...]:
        """Return the statements around a line, outermost first; () where no statement is there."""
        return chain(self.source.around(line), line)

    @cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """Every call in the file by the last part of its name."""
        found: dict[str, list[ast.Call]] = {}
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Call):
                found.setdefault(last_name(node.func), []).append(node)
        return found

    def method(self, owner: ast.ClassDef | None, name: str) -> Function | None:
        """Return a method of a class."""
        body = owner.body if owner else ()
        return next((s for s in body if isinstance(s, Function) and s.name == name), None)


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
