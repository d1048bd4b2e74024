"""The flags and variables of every sampled version, from playbooks/<engine>/flags_matrix.json and env.json."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from relight.words.knowledge import version_key
from relight.words.parser import HostParser, ParserFlag

_REQUIRED = "<required>"


def load_versions(folder: Path) -> dict[str, HostParser]:
    """Return the parser that each sampled version had, oldest first."""
    table = json.loads((folder / "flags_matrix.json").read_text(encoding="utf-8"))
    rows: list[dict[str, Any]] = table["flags"]
    return {version: _parser(version, rows) for version in table["versions"]}


def load_env(folder: Path) -> dict[str, dict[str, Any]]:
    """Return, for each version with a list of variables, NAME -> default as the source has it."""
    table: dict[str, dict[str, Any]] = json.loads((folder / "env.json").read_text(encoding="utf-8"))
    out: dict[str, dict[str, Any]] = {}
    for name, row in table.items():
        for version, default in row["default"].items():
            out.setdefault(version, {})[name] = default
    return out


def load_env_names(folder: Path) -> dict[str, frozenset[str]]:
    """Return, for each version whose source was read, the variables it knows."""
    table: dict[str, list[str]] = json.loads((folder / "env_names.json").read_text(encoding="utf-8"))
    return {version: frozenset(names) for version, names in table.items()}


def load_aliases(folder: Path) -> dict[str, str]:
    """Return alias -> first name over all versions, for comparing names where no parser is at hand."""
    table = json.loads((folder / "flags_matrix.json").read_text(encoding="utf-8"))
    return {row["name"]: row["of"] for row in table["flags"] if "of" in row}


def _parser(version: str, rows: Iterable[Mapping[str, Any]]) -> HostParser:
    options: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if version in row["versions"]:
            options.setdefault(row.get("of", row["name"]), []).append(row)
    return HostParser(tuple(_flag(main, named, version) for main, named in options.items()), version)


def _flag(main: str, rows: Sequence[Mapping[str, Any]], version: str) -> ParserFlag:
    row = next((r for r in rows if r["name"] == main), rows[0])
    default = _at(row.get("default", ()), version)
    return ParserFlag(
        names=tuple(dict.fromkeys([row["name"], *(r["name"] for r in rows)])),
        dest=row["dest"],
        type=row["type"],
        choices=tuple(str(c) for c in _at(row.get("choices", ()), version) or ()),
        default=None if default == _REQUIRED else default,
        nargs=row.get("nargs"),
        action=row["action"],
        required=default == _REQUIRED,
        deprecated="deprecated" if _deprecated(row, version) else "",
    )


def _at(changes: Sequence[Sequence[Any]], version: str) -> Any:
    """Return the value of the last change at or before `version`."""
    value = None
    for since, changed in changes:
        if version_key(since) <= version_key(version):
            value = changed
    return value


def _deprecated(row: Mapping[str, Any], version: str) -> bool:
    return version in (row.get("deprecated") or ())
