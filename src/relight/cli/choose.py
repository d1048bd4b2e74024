"""Which run a command means."""

from pathlib import Path

from relight.cli.options import Common
from relight.journal.runs import find, last, read_record
from relight.words.attempt import Attempt, Record
from relight.words.errors import UsageError


def folder_of(shared: Common, run: str | None, *, live: bool) -> Path:
    """Return the folder of the run named by a unique prefix, else of the last one (with `live`: that is not over)."""
    return find(shared.state, run) if run else last(shared.state, live=live)


def record_of(folder: Path) -> Record:
    """Return the record in `folder`. UsageError where it cannot be read."""
    record = read_record(folder)
    if record is None:
        raise UsageError("the record cannot be read", place=str(folder / "record.json"), next="see events.jsonl there")
    return record


def last_launch(record: Record) -> Attempt | None:
    """Return the last attempt that was launched, None where none was."""
    return next((a for a in reversed(record.attempts) if a.launched), None)
