"""What a text is that is no log: a file of settings, source code, a document that programs read."""

import ast
import json
import re
import tomllib
import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

LARGEST = 1 << 20
"""Characters beyond which a text is taken for a log: no file of settings is that long."""
MOSTLY = 0.9
FEWEST = 4
_LOGGED = re.compile(
    r"(?m)^\W{0,3}(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|Traceback \(most recent|(?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b"
    r": |\w+: error: |(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b[: ]|Fatal Python error|usage: )"
)
"""What a line of a log, or a bare error, begins with."""
_BEGINS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a web page", re.compile(r"\s*<(?:!doctype html|html)\b", re.IGNORECASE)),
    ("XML", re.compile(r"\s*<(?:\?xml|svg)\b", re.IGNORECASE)),
    ("a patch", re.compile(r"(?:diff --git |--- a/)")),
    ("a script", re.compile(r"#!\s*/\S+")),
)
_KEY = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_PATH = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_TOML_KEY = re.compile(rf"\s*(?:\[\[?{_PATH}\]\]?\s*(?:#.*)?$|{_PATH}\s*=(?!=))")
_TOML = re.compile(rf"""{_TOML_KEY.pattern}|\s*(?:#|["'\[{{].*[,\]}}]\s*$|[\]}}],?\s*$)""")
_YAML = re.compile(r"\s*(?:#.*|---|(?:- )*[\w./$-]+:(?:\s+\S.*)?|- \S.*)$")
_YAML_OPENS = re.compile(r"\s*(?:- )*[\w./$-]+:\s*$")
_CODE = re.compile(r"\s*(?://|/\*|\*|#(?:include|define|if|endif|pragma)\b)|.*[{};]\s*$")
_KEEPS_LINES = frozenset({"log", "message", "msg", "textPayload", "jsonPayload", "MESSAGE", "line"})
"""Keys under which stores of logs keep a line."""


def form_of(lines: Iterable[str]) -> str:
    """Return what a text is that is no log ("TOML", "Python source"), "" for a log or whatever may be one."""
    text = _joined(lines)
    if not text.strip():
        return ""
    begun = next((name for name, regex in _BEGINS if regex.match(text)), "")
    return begun or next((name for name, is_one in _FORMS if is_one(text)), "")


def _joined(lines: Iterable[str]) -> str:
    kept, size = [], 0
    for line in lines:
        kept.append(line)
        size += len(line) + 1
        if size > LARGEST:
            return ""
    return "\n".join(kept)


def _said(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def _share(lines: Sequence[str], regex: re.Pattern[str]) -> float:
    return sum(bool(regex.match(line)) for line in lines) / len(lines)


def _json(text: str) -> bool:
    """Say whether the whole is one JSON value, not a line of a store of logs."""
    if text.lstrip()[:1] not in {"{", "["} or text.rstrip()[-1:] not in {"}", "]"}:
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    first = value[0] if isinstance(value, list) and value else value
    return bool(value) and not (isinstance(first, dict) and _KEEPS_LINES & first.keys() and "verdict" not in first)


def _toml(text: str) -> bool:
    """Say whether a text is TOML, or would be but for a mistake."""
    lines = _said(text)
    keys = sum(bool(_TOML_KEY.match(line)) for line in lines)
    if not keys:
        return False
    if len(lines) >= FEWEST and not _LOGGED.search(text) and _share(lines, _TOML) >= MOSTLY and keys * 2 >= len(lines):
        return True
    try:
        return len(lines) > 1 and bool(tomllib.loads(text))
    except (ValueError, RecursionError):
        return False


def _python(text: str) -> bool:
    """Say whether a text is a whole Python source that defines or imports anything."""
    if not re.search(r"(?m)^(?:import|from|def|class|async def|@)\b", text) or len(_said(text)) < FEWEST:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    wanted = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(isinstance(node, wanted) for node in tree.body)


def _yaml(text: str) -> bool:
    """Say whether a text is made of keys and what is indented below them."""
    lines = _said(text)
    if len(lines) < FEWEST or _LOGGED.search(text) or _share(lines, _YAML) < MOSTLY:
        return False
    opened = [(a, b) for a, b in pairwise(lines) if _YAML_OPENS.match(a) and _indent(b) >= _indent(a)]
    return bool(opened) and any(_indent(b) > _indent(a) or b.lstrip()[:1] == "-" for a, b in opened)


def _code(text: str) -> bool:
    """Say whether a text is the source of a program in a language with braces."""
    lines = _said(text)
    return len(lines) >= 2 * FEWEST and not _LOGGED.search(text) and _share(lines, _CODE) >= 0.5 and "{" in text


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


_FORMS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("JSON", _json),
    ("TOML", _toml),
    ("Python source", _python),
    ("YAML", _yaml),
    ("source code", _code),
)
