"""The memory of the cards: who holds how much, kept in files that outlive nobody."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOTAL_MIB = 97887
USABLE_GIB = 94.97
IDLE_MIB = 4


@dataclass(frozen=True)
class Holding:
    """Memory (MiB) that a process holds on a card; `alive` False: it died and the driver has not let go yet."""

    pid: int
    card: int
    mib: int
    name: str
    parent: int
    alive: bool = True


def take(folder: Path, card: int, mib: int, name: str) -> None:
    """Record that this process holds `mib` on `card` from now on."""
    pid = os.getpid()
    entry = {"card": card, "mib": mib, "name": name, "start": started(pid), "parent": os.getppid()}
    path = folder / str(pid)
    path.with_suffix(".new").write_text(json.dumps(entry))
    path.with_suffix(".new").replace(path)


def holdings(folder: Path, release: float) -> list[Holding]:
    """Return who holds memory now. What a dead process held is given back `release` seconds after it was missed."""
    return list(_holdings(folder, release))


def _holdings(folder: Path, release: float) -> Iterator[Holding]:
    for path in sorted(folder.iterdir() if folder.is_dir() else ()):
        entry = {} if path.suffix else _read(path)
        if not entry:
            continue
        if path.name.startswith("hidden-"):
            yield Holding(0, entry["card"], entry["mib"], "", 0)
            continue
        alive = started(int(path.name)) == entry["start"]
        if alive or not _let_go(path, release):
            yield Holding(int(path.name), entry["card"], entry["mib"], entry["name"], entry["parent"], alive)


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return found


def _let_go(path: Path, release: float) -> bool:
    mark = path.with_suffix(".dead")
    if not mark.exists():
        mark.write_text("")
    try:
        over = time.time() - mark.stat().st_mtime >= release
    except FileNotFoundError:
        return True
    if over:
        path.unlink(missing_ok=True)
        mark.unlink(missing_ok=True)
    return over


def started(pid: int) -> int:
    """Return when a process started in clock ticks; 0 for one that is gone or a zombie."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if words[0] in "ZX" else int(words[19])
