"""The agent as one source text, and the line that starts it on any login shell."""

import ast
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from relight.hosts.agent.launch import BOOT
from relight.words.errors import UsageError

AGENT = "relight.hosts.agent"
ENTRY = "serve"


@cache
def agent_source() -> bytes:
    """Return the agent's modules as one program: each after those it imports, the imports between them left out."""
    texts = [_own_part(name) for name in _ordered(ENTRY, [])]
    return "\n".join(["from __future__ import annotations", *texts, "begin(b, s)", ""]).encode()


def agent_modules() -> tuple[str, ...]:
    """Return the names of the agent's modules in the order of the program."""
    return tuple(_ordered(ENTRY, []))


def _ordered(name: str, done: list[str]) -> list[str]:
    for node in _module(name).body:
        if _is_own_import(node):
            needed = str(getattr(node, "module", "")).removeprefix(AGENT + ".")
            if needed not in done:
                _ordered(needed, done)
    done.append(name)
    return done


@cache
def _text(name: str) -> str:
    return (Path(__file__).parent / "agent" / f"{name}.py").read_text(encoding="utf-8")


def _module(name: str) -> ast.Module:
    return ast.parse(_text(name))


def _own_part(name: str) -> str:
    dropped = set(_dropped_lines(_module(name)))
    return "\n".join(line for n, line in enumerate(_text(name).splitlines(), 1) if n not in dropped)


def _dropped_lines(module: ast.Module) -> Iterator[int]:
    for node in module.body:
        if _is_own_import(node) or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _is_own_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.module or "").startswith(AGENT + ".")


def opening(order: Mapping[str, Any]) -> bytes:
    """Return what is sent first on a channel: the program, then the line that says what it shall be."""
    packed = _packed()
    return b"%d\n%s%s\n" % (len(packed), packed, json.dumps(order).encode("ascii"))


@cache
def _packed() -> bytes:
    return zlib.compress(agent_source(), 9)


def agent_version() -> str:
    """Return a short name of this very program."""
    return hashlib.sha256(agent_source()).hexdigest()[:12]


def start_line(python: str) -> str:
    """Return the command that starts the agent: words and single quotes only, so that sh, csh and fish read it alike.

    `~/` at the beginning of `python` is left to the shell. Raises UsageError for a path no shell can be given.
    """
    return f"{_quoted(python)} -E -S -u -c {_quoted(BOOT)}"


def python_of(line: str) -> str | None:
    """Return the interpreter that a start line names; None for any other line."""
    tail = f" -E -S -u -c {_quoted(BOOT)}"
    if not line.endswith(tail):
        return None
    word = line.removesuffix(tail)
    plain = word.replace("'\\''", "\0").replace("'", "").replace("\0", "'")
    return plain if _quoted(plain) == word else None


def _quoted(word: str) -> str:
    if "!" in word or "\n" in word or "\0" in word:
        raise UsageError(f"an interpreter path that shells cannot be given: {word!r}", next="use a path without it")
    if word.startswith("~/"):
        return "~/" + _quoted(word[2:])
    return "'" + word.replace("'", "'\\''") + "'"
