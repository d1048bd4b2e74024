"""Which line of a TOML text each key stands on. The text is one that tomllib has already accepted."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|\#[^\n]*)
      | (?P<newline>\n)
      | (?P<string>\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')
      | (?P<mark>[\[\]{},=.])
      | (?P<bare>[^\s\[\]{},=.\#"']+)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line (from 1) on which each table, key and array element of `text` begins."""
    return _Walk(list(_tokens(text))).document()


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        kind, word = match.lastgroup or "", match.group()
        if kind != "space":
            yield _Token(kind, word, line)
        line += word.count("\n")


@dataclass
class _Walk:
    """A walk over the tokens, from left to right."""

    tokens: list[_Token]
    at: int = 0
    lines: dict[KeyPath, int] = field(default_factory=dict)
    counts: dict[KeyPath, int] = field(default_factory=dict)

    def document(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self.at < len(self.tokens):
            if self._skip("\n"):
                continue
            table = self._header() if self._peek() == "[" else self._pair(table)
        return self.lines

    def _peek(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def _skip(self, text: str) -> bool:
        if self._peek() != text:
            return False
        self.at += 1
        return True

    def _header(self) -> KeyPath:
        line = self.tokens[self.at].line
        self._skip("[")
        array = self._skip("[")
        path = self._resolved(self._key())
        self._skip("]")
        if array:
            self._skip("]")
            self.counts[path] = self.counts.get(path, -1) + 1
            path = (*path, self.counts[path])
        for end in range(1, len(path) + 1):
            self.lines.setdefault(path[:end], line)
        return path

    def _resolved(self, key: KeyPath) -> KeyPath:
        """Point each part of a header that names an array of tables at its last element."""
        path: KeyPath = ()
        for i, part in enumerate(key):
            path = (*path, part)
            if path in self.counts and i < len(key) - 1:
                path = (*path, self.counts[path])
        return path

    def _key(self) -> KeyPath:
        parts: list[str] = []
        while True:
            token = self.tokens[self.at]
            self.at += 1
            parts.append(_plain(token))
            if not self._skip("."):
                return tuple(parts)

    def _pair(self, table: KeyPath) -> KeyPath:
        line = self.tokens[self.at].line
        path = table
        for part in self._key():
            path = (*path, part)
            self.lines.setdefault(path, line)
        self._skip("=")
        self._value(path)
        return table

    def _value(self, path: KeyPath) -> None:
        if self._skip("["):
            self._elements(path)
        elif self._skip("{"):
            while not self._skip("}"):
                if not (self._skip(",") or self._skip("\n")):
                    self._pair(path)
        else:
            while self._peek() not in {"", "\n", ",", "]", "}"}:
                self.at += 1

    def _elements(self, path: KeyPath) -> None:
        n = 0
        while not self._skip("]"):
            if self._skip(",") or self._skip("\n"):
                continue
            self.lines[*path, n] = self.tokens[self.at].line
            self._value((*path, n))
            n += 1


def _plain(token: _Token) -> str:
    if token.kind != "string":
        return token.text
    return str(tomllib.loads(f"k = {token.text}")["k"])
