"""Events into a record."""

from collections.abc import Iterable, Mapping
from typing import Any

from relight.journal.codec import from_json, to_json
from relight.words.attempt import Record
from relight.words.events import Event

SET_RECORD = "set_record"
SET_ATTEMPT = "set_attempt"
_HEAD = ("at", "run", "attempt", "event")


def fold(events: Iterable[Event], base: Record) -> Record:
    """Return `base` with everything that `events` say, in order."""
    data = to_json(base)
    for event in events:
        apply(data, event)
    return from_json(Record, data)


def apply(data: dict[str, Any], event: Event) -> None:
    """Put what one event changes into the JSON form of a record.

    `data["set_record"]` replaces fields of the record, `data["set_attempt"]` fields of the event's attempt, which is
    added where it is new.
    """
    data.update(to_json(event.data.get(SET_RECORD) or {}))
    changes = event.data.get(SET_ATTEMPT)
    if changes and event.attempt is not None:
        _attempt(data["attempts"], event.attempt).update(to_json(changes))


def _attempt(attempts: list[dict[str, Any]], n: int) -> dict[str, Any]:
    known: dict[int, dict[str, Any]] = {int(a["n"]): a for a in attempts}
    if n in known:
        return known[n]
    found: dict[str, Any] = {"n": n, "rung": "real", "settings": {"flags": {}, "env": {}}}
    attempts.append(found)
    attempts.sort(key=lambda a: int(a["n"]))
    return found


def to_line(event: Event) -> dict[str, Any]:
    """Return the flat JSON form of an event: its data stands beside at, run, attempt and event."""
    data: dict[str, Any] = to_json({k: v for k, v in event.data.items() if k not in _HEAD})
    return {"at": event.at, "run": event.run, "attempt": event.attempt, "event": event.event} | data


def from_line(line: Mapping[str, Any]) -> Event:
    """Return the event that a flat JSON object is."""
    data = {k: v for k, v in line.items() if k not in _HEAD}
    return from_json(Event, {name: line[name] for name in _HEAD} | {"data": data})


def public(event: Event) -> dict[str, Any]:
    """Return an event as `--events` shows it: without what only the journal needs."""
    return {k: v for k, v in to_line(event).items() if k not in {SET_RECORD, SET_ATTEMPT}}
