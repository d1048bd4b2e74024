"""A source file parsed in parts: of a large file only what is asked for, each part once. Nothing here is executed."""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

LARGEST, LONGEST_FILE = 4 << 20, 15_000
KEPT_TREES, KEPT_FILES = 4, 32
INSIDE = frozenset({"", " ", "\t", "#", ")", "]", "}", "\r"})
HEAD = re.compile(r"(?:async +)?def +(\w+)|class +(\w+)|(\w+) *(?::[^=]*)?=(?!=)")
GOES_ON = re.compile(r"(?:elif|else|except|finally)\b")
QUOTES = re.compile(r"\"\"\"|'''")


class UnreadableError(Exception):
    """A source text that cannot be read; says why."""


class Parsed:
    """A file that was parsed as a whole."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree

    @cached_property
    def _by_name(self) -> dict[str, list[ast.stmt]]:
        found: dict[str, list[ast.stmt]] = {}
        for stmt in top_level(self.tree.body):
            for name in filter(None, [defined(stmt)]):
                found.setdefault(name, []).append(stmt)
        return found

    @cached_property
    def imports(self) -> tuple[ast.ImportFrom, ...]:
        """Return the imports of names at the top level."""
        return tuple(s for s in top_level(self.tree.body) if isinstance(s, ast.ImportFrom))

    def named(self, name: str) -> Sequence[ast.stmt]:
        """Return the statements of the top level that define a name."""
        return self._by_name.get(name, ())

    def around(self, _: int) -> list[ast.stmt]:
        """Return statements among which those around a line are."""
        return self.tree.body


class Sections:
    """A file cut where statements of its top level begin; a section is parsed when it is asked for.

    Where the cuts were wrong (the text of a string can look like code) a section does not parse: then the whole is.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._rows = bounded(text).split("\n")
        self._cuts = list(_cuts(self._rows))
        self._parts: dict[int, list[ast.stmt]] = {}

    @cached_property
    def _whole(self) -> Parsed:
        return parsed(self._text)

    @property
    def tree(self) -> ast.Module:
        """Return the whole file."""
        return self._whole.tree

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for n, (_, _, name) in enumerate(self._cuts):
            if name:
                found.setdefault(name, []).append(n)
        return found

    @cached_property
    def _nameless(self) -> Parsed:
        """Imports and branches: everything that does not define one name."""
        rows = [""] * len(self._rows)
        for first, after, name in self._cuts:
            if not name:
                rows[first:after] = self._rows[first:after]
        return Parsed(_tree("\n".join(rows)))

    @property
    def imports(self) -> tuple[ast.ImportFrom, ...]:
        """Return the imports of names at the top level. Raises UnreadableError."""
        try:
            return self._nameless.imports
        except UnreadableError:
            return self._whole.imports

    def named(self, name: str) -> Sequence[ast.stmt]:
        """Return the statements of the top level that define a name. Raises UnreadableError."""
        try:
            own = [s for n in self._by_name.get(name, ()) for s in self._part(n)]
            return [*own, *self._nameless.named(name)]
        except UnreadableError:
            return self._whole.named(name)

    def around(self, line: int) -> list[ast.stmt]:
        """Return statements among which those around a line are. Raises UnreadableError."""
        part = next((n for n, (first, after, _) in enumerate(self._cuts) if first < line <= after), None)
        try:
            return self._part(part) if part is not None else []
        except UnreadableError:
            return self._whole.around(line)

    def _part(self, n: int) -> list[ast.stmt]:
        if n not in self._parts:
            first, after, _ = self._cuts[n]
            self._parts[n] = _tree("\n" * first + "\n".join(self._rows[first:after])).body
        return self._parts[n]


def bounded(text: str) -> str:
    """Return the text without a mark of its order of bytes. Raises UnreadableError where it is too large."""
    if len(text) > LARGEST:
        raise UnreadableError(f"the file is larger than {LARGEST >> 20} MiB")
    return text.removeprefix("\ufeff")


@lru_cache(maxsize=KEPT_TREES)
def parsed(text: str, line: int | None = None) -> Parsed:
    """Parse a file; of a very long one only the top-level block around `line`. Raises UnreadableError.

    The last few are kept: one failure after another is read from the same files.
    """
    text = bounded(text)
    rows = text.split("\n")
    return Parsed(_tree(_block(rows, line) if len(rows) > LONGEST_FILE else text))


@lru_cache(maxsize=KEPT_FILES)
def sections(text: str) -> Sections:
    """Cut a file into its sections. Raises UnreadableError."""
    return Sections(text)


def _tree(text: str) -> ast.Module:
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
    first, after = next(((a, b) for a, b, _ in _cuts(rows) if a < line <= b), (0, len(rows)))
    if after - first > LONGEST_FILE:
        raise UnreadableError(f"the block around line {line} has more than {LONGEST_FILE} lines")
    return "\n" * first + "\n".join(rows[first:after])


def _cuts(rows: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield (first row, row after, name it defines or "") of each section, in order and without gaps."""
    starts = list(_starts(rows))
    for n, first in enumerate(starts):
        after = starts[n + 1] if n + 1 < len(starts) else len(rows)
        yield first, after, _defines(rows[first:after])


def _starts(rows: list[str]) -> Iterator[int]:
    quote, decorated = "", False
    for n, row in enumerate(rows):
        begins = not quote and row[:1] not in INSIDE and not GOES_ON.match(row)
        if n == 0 or (begins and not decorated):
            yield n
        if begins:
            decorated = row.startswith("@")
        if '"""' in row or "'''" in row:
            for mark in QUOTES.findall(row):
                quote = mark if not quote else "" if mark == quote else quote


def _defines(rows: list[str]) -> str:
    for row in rows:
        if row[:1] not in INSIDE and row[:1] != "@":
            match = HEAD.match(row)
            return next(filter(None, match.groups()), "") if match else ""
    return ""


def top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, those inside its branches, too."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, ast.If | ast.Try):
            for block in bodies(stmt):
                yield from top_level(block)


def bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the statement lists directly inside a node."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for inner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield inner.body


def defined(stmt: ast.stmt) -> str:
    """Return the name a statement defines, "" where it is none, or several."""
    if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return stmt.name
    if isinstance(stmt, ast.Assign | ast.AnnAssign) and stmt.value is not None:
        target = stmt.targets[0] if isinstance(stmt, ast.Assign) else stmt.target
        return target.id if isinstance(target, ast.Name) else ""
    return ""
