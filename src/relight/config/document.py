"""A TOML file with the lines its keys stand on, so that every error can name its place."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from relight.config.lines import KeyPath, key_lines
from relight.words.errors import UsageError
from relight.words.settings import WrittenFloat


@dataclass(frozen=True)
class Document:
    """A parsed file. `path` is what errors call it; it need not exist."""

    path: Path
    text: str
    values: Mapping[str, Any]

    @cached_property
    def lines(self) -> Mapping[KeyPath, int]:
        """The line (from 1) of each key path."""
        return key_lines(self.text)

    def line(self, keys: KeyPath) -> int | None:
        """Return the line of `keys`, or of the innermost table around it that has one."""
        for end in range(len(keys), 0, -1):
            if keys[:end] in self.lines:
                return self.lines[keys[:end]]
        return None

    def error(self, keys: KeyPath, text: str, *, next: str = "") -> UsageError:  # noqa: A002  the contract's own word
        """Return an error at `keys`: file, line and what is wrong there."""
        line = self.line(keys)
        return UsageError(text, place=f"{self.path}:{line}" if line else str(self.path), next=next)


def read_document(path: Path) -> Document:
    """Read and parse the TOML file `path`. UsageError names a file that is missing or is not TOML."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError("no such file", place=str(path), next="check the path") from None
    except UnicodeDecodeError as error:
        raise UsageError(
            "is no text in UTF-8", place=str(path), next="save it as UTF-8, or name another file"
        ) from error
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", place=str(path), next="name another file") from error
    return parse_document(text, path)


def parse_document(text: str, path: Path) -> Document:
    """Parse `text` as the content of `path`. Floats keep the way they are written."""
    try:
        return Document(path, text, tomllib.loads(text, parse_float=WrittenFloat))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column \d+\)", str(error))
        line = found.group(1) if found else max(1, len(text.splitlines()))
        place = f"{path}:{line}"
        text = re.sub(r" \(at .*\)$", "", str(error))
        raise UsageError(f"not TOML: {text}", place=place, next=_hint(text)) from error


_HINTS = {
    "Invalid value": "a text stands in quotes; true and false are written small",
    "Cannot overwrite": "the name stands there already: keep one of the two",
    "Cannot declare": "the table stands there already: keep one of the two; a list of tables is [[NAME]]",
    "Unclosed inline table": "an inline table { ... } stands on one line",
    "Invalid initial character for a key": "a table { ... } stands on one line; comments begin with #",
    "Expected '=' after a key": "write NAME = VALUE",
    "Illegal character": "a text stands in quotes and on one line",
    "Expected newline": "one NAME = VALUE to a line; a text stands in quotes",
    "Unclosed array": "close the list with ]",
    "Unterminated string": "close the text with the quote it began with",
}


def _hint(said: str) -> str:
    """Return what usually mends a fault of the syntax."""
    return next(
        (hint for start, hint in _HINTS.items() if said.startswith(start)), "see https://toml.io for the syntax"
    )


def shown(keys: KeyPath) -> str:
    """Return a key path as people write it: ("lever", 0, "keep") -> "lever[1].keep"; elements count from 1."""
    text = ""
    for key in keys:
        text += f"[{key + 1}]" if isinstance(key, int) else f".{key}" if text else key
    return text
