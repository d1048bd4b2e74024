"""Run folders: their names, finding one, and all of them."""

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from relight.journal.codec import from_json
from relight.journal.files import is_held, make_folder, read_json
from relight.words.attempt import Record
from relight.words.errors import RelightError, UsageError
from relight.words.near import meant

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_OVER = {"failed", "exhausted", "budget", "person", "busy", "replaced"}


def runs_folder(state: Path) -> Path:
    """Return the folder that holds the runs."""
    return state.absolute() / "runs"


def new_run(state: Path, name: str, started: str) -> Path:
    """Make the folder of a new run. Its name is its id: the minute (UTC), the playbook, four random letters."""
    minute = re.sub(r"[-:]", "", started)[:13].replace("T", "-")
    slug = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:24].strip("-.") or "run"
    make_folder(runs_folder(state))
    while True:
        path = runs_folder(state) / f"{minute}-{slug}-{''.join(secrets.choice(_LETTERS) for _ in range(4))}"
        if not path.exists():
            return make_folder(path)


def ids(state: Path) -> list[str]:
    """Return the ids of all runs, oldest first."""
    folder = runs_folder(state)
    return sorted(p.name for p in folder.iterdir() if (p / "base.json").exists()) if folder.is_dir() else []


def find(state: Path, prefix: str) -> Path:
    """Return the folder of the one run whose id begins with `prefix`, or holds it where none begins so."""
    known = ids(state)
    found = [i for i in known if i == prefix] or [i for i in known if i.startswith(prefix)]
    found = found or [i for i in known if prefix in i]
    if len(found) == 1:
        return runs_folder(state) / found[0]
    if not found:
        hint = meant(prefix, known) or "see `relight runs`"
        raise UsageError(f"no run '{prefix}'", place=str(runs_folder(state)), next=hint)
    some = ", ".join(found[:5]) + (" ..." if len(found) > 5 else "")
    raise UsageError(f"'{prefix}' is more than one run: {some}", place=str(runs_folder(state)), next="write more of it")


def runs(state: Path) -> tuple[Record, ...]:
    """Return the records of all runs, newest first. A run whose record cannot be read is left out."""
    return tuple(_records(state, sorted(ids(state), reverse=True)))


def _records(state: Path, names: Sequence[str]) -> Iterator[Record]:
    found = [r for r in (read_record(runs_folder(state) / name) for name in names) if r]
    yield from sorted(found, key=lambda r: r.started, reverse=True)


def read_record(folder: Path) -> Record | None:
    """Return the record kept in `folder`, None where there is none that can be read."""
    data = read_json(folder / "record.json")
    if not isinstance(data, dict):
        return None
    try:
        record = from_json(Record, {**data, "folder": str(folder)})
    except RelightError:
        return None
    if record.state == "running" and not is_held(folder / ".lock"):
        return replace(record, state="interrupted", reason="relight ended without saying so; the run can be resumed")
    return record


def is_over(record: Record) -> bool:
    """Say whether nothing of this run runs any more and nothing of it is to go on."""
    return record.state in _OVER or bool(record.environment.get("stopped"))


def last(state: Path, *, live: bool = False) -> Path:
    """Return the folder of the last run; with `live` of the last one that is not over, else simply the last."""
    found = runs(state)
    if not found:
        raise UsageError(
            "no run is kept here yet", place=str(runs_folder(state)), next="start one with `relight retry`"
        )
    fit = [r for r in found if not is_over(r)] if live else found
    return Path((fit or found)[0].folder)
