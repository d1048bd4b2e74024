"""A first signature, made from a line of a log."""

import json
import re
from pathlib import Path

from relight.config.keys import FLAG_NAME
from relight.diagnosis.diagnose import diagnose
from relight.logs.lines import Line, shown, split
from relight.logs.read import read_log
from relight.words.errors import UsageError
from relight.words.kinds import KINDS
from relight.words.knowledge import Knowledge
from relight.words.near import meant
from relight.words.text import plain, redacted

BEFORE = 2
"""Lines of the log before the one that shows the failure that go into the sample."""
_VARYING = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?|(?<=['\"`])[^'\"`]{1,80}(?=['\"`])|/[\w./-]+/")
_PREFIX = re.compile(r"^\[\d{4}-\d\d-\d\d[^\]]*\]\s*")


def draft(name: str, source: str, kind: str | None, knowledge: Knowledge) -> str:
    """Return the text of a signature file for the line LOG:LINE. UsageError says what is wrong with the place."""
    if not FLAG_NAME.fullmatch(name):
        raise UsageError(f"'{name}' is not an id", place="ID", next="letters, digits and '-', as in my-crash")
    if kind is not None and kind not in KINDS:
        raise UsageError(f"no kind '{kind}'", place="--kind", next=meant(kind, KINDS) or "see `relight explain`")
    lines, number = _lines(source)
    found = kind or _kind(lines, number, knowledge)
    text = redacted(shown(lines[number - 1].text))
    # A line of a traceback is one by its indentation.
    sample = [redacted(plain(line.text)).rstrip() for line in lines[max(0, number - 1 - BEFORE) : number]]
    return _file(text, found, sample)


def _lines(source: str) -> tuple[list[Line], int]:
    path, _, number = source.rpartition(":")
    if not path or not number.isdigit():
        raise UsageError(f"'{source}' is not LOG:LINE", place="--from", next="as in server.log:412")
    lines = list(split(read_log(path)))
    if not 1 <= int(number) <= len(lines):
        raise UsageError(f"there is no line {number}; the log has {len(lines)}", place=path, next="lines count from 1")
    if not lines[int(number) - 1].text.strip():
        raise UsageError(f"line {number} is empty", place=path, next="name the line that shows the failure")
    return lines, int(number)


def _kind(lines: list[Line], number: int, knowledge: Knowledge) -> str:
    found = diagnose(lines, knowledge, name=str(Path("log")))
    return found.cause.kind if found.cause and found.cause.line == number else "unknown"


def pattern_of(text: str) -> str:
    """Return a regex for a line: what varies from run to run (numbers, addresses, names in quotes) is left open."""
    bare = _PREFIX.sub("", text).strip()
    parts, at = [], 0
    for match in _VARYING.finditer(bare):
        parts += [re.escape(bare[at : match.start()]), r"\d+(?:\.\d+)?" if _is_number(match[0]) else r".+?"]
        at = match.end()
    return "".join([*parts, re.escape(bare[at:])]).replace(r"\ ", " ")


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _file(text: str, kind: str, sample: list[str]) -> str:
    bare = _PREFIX.sub("", text).strip()
    lines = [
        f"title = {_toml(bare[:90])}",
        f"kind = {_toml(kind)}",
        f"any = [{_toml(pattern_of(text))}]",
        "",
        "# What helps, best first: set, unset, set_env, unset_env, add, wait; why and gives_up are sentences.",
        "# [[remedy]]",
        "# set = { some-flag = 1 }",
        '# why = "one sentence"',
        '# gives_up = "one sentence"',
        "# cost = 1.0",
        "",
        "[[sample]]",
        "log = [",
        *(f"  {_toml(line)}," for line in sample),
        "]",
        f"line = {len(sample)}",
        "",
    ]
    return "\n".join(lines)


def _toml(text: str) -> str:
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False)
