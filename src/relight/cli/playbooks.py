"""The PLAYBOOK of a command line: there, and a file; else the answer names those that are."""

from pathlib import Path

from relight.config import shipped
from relight.words.errors import UsageError
from relight.words.near import near

DEMO = Path("demo.toml")
_MOST = 5
_OTHERS = {"hosts.toml", "hosts.example.toml", "pyproject.toml"}
_FIRST = "`relight init ADDRESS -o .` asks a host and writes a first one"


def existing(path: Path) -> Path:
    """Return the path of a playbook. UsageError where it is no file, with the names that are near.

    The demo that comes with relight is found from everywhere.
    """
    if path.is_file():
        return path
    if path == DEMO:
        return shipped.folder() / DEMO
    if path.is_dir():
        found = _toml(path)
        raise UsageError("is a folder, not a playbook", place=str(path), next=_listed(found) or _FIRST)
    beside = path.parent if path.parent.is_dir() else Path()
    there = {found.name: found for folder in (Path("playbooks"), beside) for found in _toml(folder)}
    meant = [there[name] for name in near(path.name, there)] or list(there.values())
    raise UsageError("no such file", place=str(path), next=_listed(meant) or _FIRST)


def _toml(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.toml") if path.name not in _OTHERS)


def _listed(found: list[Path]) -> str:
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return f"there is {', '.join(map(str, found[:_MOST]))}{more}" if found else ""
