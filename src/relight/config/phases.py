"""Load phases.toml: the lines that mark where a start has got to."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from relight.config.literals import literals
from relight.words.errors import UsageError
from relight.words.knowledge import MarkRole, PhasePattern

KEYS = ("id", "phase", "role", "regex", "patience", "literal")


def load_phases(file: Path) -> tuple[PhasePattern, ...]:
    """Return the patterns of `file`, in its order. Raises UsageError naming the file and what is wrong with it."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot be read: {error}", place=str(file), next="mend the file") from error
    patience = data.get("phases", {})
    found = tuple(_pattern(item, patience, str(file)) for item in data.get("pattern", []))
    _ids_differ(found, str(file))
    return found


def _pattern(item: Mapping[str, Any], patience: Mapping[str, float], place: str) -> PhasePattern:
    name = str(item.get("id", "?"))
    unknown = set(item) - set(KEYS)
    if unknown:
        raise UsageError(f"unknown key {min(unknown)!r}", place=f"{place}: {name}", next=f"known: {list(KEYS)}")
    missing = [key for key in ("id", "phase", "role", "regex") if key not in item]
    if missing:
        raise UsageError(f"key {missing[0]!r} is missing", place=f"{place}: {name}", next="add it")
    if item["role"] not in get_args(MarkRole):
        raise UsageError(
            f"unknown role {item['role']!r}", place=f"{place}: {name}", next=f"known: {get_args(MarkRole)}"
        )
    _compiles(item["regex"], f"{place}: {name}")
    seconds = float(item.get("patience", patience.get(item["phase"], 0.0)))
    return PhasePattern(name, item["phase"], item["role"], item["regex"], seconds, _literals(item, f"{place}: {name}"))


def _literals(item: Mapping[str, Any], place: str) -> tuple[str, ...]:
    """Return the texts of which a marked line holds one; frames are no lines."""
    if item["role"] in {"frame", "through", "routine"}:
        return ()
    found = tuple(item.get("literal", ())) or tuple(sorted(literals(item["regex"])))
    if not found:
        raise UsageError(
            "no text of 6 or more characters must occur in the regex", place=place, next="name it in literal"
        )
    return tuple(text.lower() for text in found)


def _compiles(regex: str, place: str) -> None:
    try:
        re.compile(regex)
    except re.error as error:
        raise UsageError(f"the regex does not compile: {error}", place=place, next="mend it") from error


def _ids_differ(patterns: tuple[PhasePattern, ...], place: str) -> None:
    seen: set[str] = set()
    for pattern in patterns:
        if pattern.id in seen:
            raise UsageError(f"the id {pattern.id!r} is used twice", place=place, next="choose another")
        seen.add(pattern.id)
