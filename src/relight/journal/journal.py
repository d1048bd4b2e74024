"""The journal of a run: one folder, whose events.jsonl is the truth and record.json its fold."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

from relight.journal.codec import from_json, to_json
from relight.journal.files import append_line, locked, open_append, read_json, write_json, write_whole
from relight.journal.fold import apply, from_line, to_line
from relight.journal.redact import redact_json
from relight.journal.runs import find, new_run
from relight.words.attempt import Record
from relight.words.errors import RelightError, UsageError
from relight.words.events import Event
from relight.words.host import HostSpec
from relight.words.playbook import Playbook
from relight.words.settings import Change

EVENTS, RECORD, ORDER, PLAYBOOK = "events.jsonl", "record.json", "order.json", "playbook.toml"
BASE = "base.json"
"""The record before the first event."""


@dataclass(frozen=True)
class Stored:
    """What a run was asked for, kept in its folder so that `--resume` needs no other file.

    `playbook` is the playbook's text, `path` where it came from. Of secrets only the source is kept, never the value.
    """

    path: str
    playbook: str
    specs: tuple[HostSpec, ...]
    overrides: Change = field(default_factory=Change)
    mode: str = "retry"
    more: dict[str, Any] = field(default_factory=dict)


class Journal:
    """A run that is being written. Hold it open while working on the run; one process at a time may."""

    def __init__(self, folder: Path, *, secrets: Sequence[str] = ()) -> None:
        self.folder = folder
        self._secrets = tuple(secrets)
        self._stack = ExitStack()
        with _writable(folder):
            self._stack.enter_context(locked(folder / ".lock", wait=False, what=f"run {folder.name}"))
            self._data = folded(folder)
            self._events = self._stack.enter_context(_without_torn_end(folder / EVENTS))
        self._record: Record | None = None

    @classmethod
    def create(
        cls,
        state: Path,
        *,
        playbook: Playbook,
        specs: Sequence[HostSpec],
        started: str,
        overrides: Change | None = None,
        mode: str = "retry",
        more: dict[str, Any] | None = None,
        secrets: Sequence[str] = (),
    ) -> "Journal":
        """Begin a run under the state folder `state`. `started` is RFC 3339 UTC and gives the run its id.

        `secrets` are values that must not appear in any file of the run, wherever they come from.
        """
        stored = Stored(playbook.path, playbook.text, tuple(specs), overrides or Change(), mode, more or {})
        names = tuple(spec.name for spec in specs)
        with _writable(state):
            folder = new_run(state, playbook.name, started)
            write_whole(folder / PLAYBOOK, playbook.text)
            write_json(folder / ORDER, redact_json(to_json(stored), secrets))
            base = Record(folder.name, str(folder), playbook.name, names[0], names, started=started)
            write_json(folder / RECORD, base)
            write_json(folder / BASE, base)
        return cls(folder, secrets=secrets)

    @classmethod
    def open(cls, state: Path, prefix: str, *, secrets: Sequence[str] = ()) -> "Journal":
        """Go on with the run whose id begins with `prefix`."""
        return cls(find(state, prefix), secrets=secrets)

    @property
    def record(self) -> Record:
        """Return what the run is known to be now."""
        if self._record is None:
            self._record = from_json(Record, self._data)
        return self._record

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the values that must not appear in any file of the run."""
        return self._secrets

    @property
    def stored(self) -> Stored:
        """Return what the run was asked for."""
        return stored(self.folder)

    def write(self, event: Event) -> None:
        """Append an event, on disk when this returns, and bring record.json up to date."""
        line = redact_json(to_line(event), self._secrets)
        try:
            append_line(self._events, json.dumps(line, ensure_ascii=True, allow_nan=False))
            apply(self._data, from_line(line))
            self._record = None
            write_json(self.folder / RECORD, self._data)
        except OSError as exc:
            then = f"make room, then --resume {self.folder.name}; the server is untouched"
            fault = f"the journal cannot be written: {exc.strerror}"
            raise RelightError(fault, place=str(self.folder), next=then) from exc

    @contextmanager
    def replacing(self, run: str, *, by: str, at: str) -> Iterator[None]:
        """Stop the server of another run within: its journal then says that it was replaced, where it is kept here.

        BusyError, before anything is stopped, where another relight works on that run.
        """
        folder = self.folder.parent / run
        if Path(run).name != run or not (folder / BASE).exists():
            # Its name is the host's word, and its journal may be another machine's.
            yield
            return
        with Journal(folder) as journal:
            yield
            journal.mark(at=at, changes={"state": "replaced", "reason": f"replaced by run {by}"})

    def mark(self, *, at: str, changes: Mapping[str, Any]) -> None:
        """Write one `stopped` event that changes the record."""
        self.write(Event(at, self.folder.name, None, "stopped", {"set_record": dict(changes)}))

    def close(self) -> None:
        """Give the run back."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    """Raise UsageError where nothing can be written in a folder: nothing was begun then."""
    try:
        yield
    except OSError as exc:
        then = "make room there or name another folder with --state"
        raise UsageError(f"nothing can be kept here: {exc.strerror}", place=str(folder), next=then) from exc


def mark(folder: Path, *, at: str, changes: Mapping[str, Any]) -> None:
    """Write one `stopped` event that changes the record of the run in `folder`; nothing where no run is kept there."""
    if (folder / BASE).exists():
        with Journal(folder) as journal:
            journal.mark(at=at, changes=changes)


def stored(folder: Path) -> Stored:
    """Return what the run in `folder` was asked for."""
    data = read_json(folder / ORDER)
    if data is None:
        raise UsageError("the run folder lacks its order", place=str(folder / ORDER), next="start a new run")
    return from_json(Stored, data)


def events(folder: Path) -> Iterator[Event]:
    """Yield the events of a run. A last line that was torn by a crash is skipped; UsageError for any other bad line."""
    path = folder / EVENTS
    raw = path.read_bytes() if path.exists() else b""
    lines = raw.split(b"\n")
    for number, line in enumerate(lines, start=1):
        try:
            parsed = json.loads(line) if line.strip() else None
        except ValueError:
            if number == len(lines):
                return
            then = "take the line out, or start a new run"
            raise UsageError("this line of the journal is broken", place=f"{path}:{number}", next=then) from None
        if parsed is not None:
            yield from_line(parsed)


def folded(folder: Path) -> dict[str, Any]:
    """Return the record of a run as JSON data, from its events."""
    data: dict[str, Any] | None = read_json(folder / BASE)
    if data is None:
        raise UsageError("no run is kept in this folder", place=str(folder), next="see `relight runs`")
    data = dict(data, folder=str(folder))
    for event in events(folder):
        apply(data, event)
    return data


def _without_torn_end(path: Path) -> IO[str]:
    """Open the events for appending, cutting off what a crash left of a last line."""
    if path.exists():
        raw = path.read_bytes()
        whole = raw.rfind(b"\n") + 1
        if whole < len(raw):
            os.truncate(path, whole)
    return open_append(path)
