"""What moving a lever changed, told beside the repairs: so a record says of each attempt all that makes it differ."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from relight.words.attempt import Attempt, Record
from relight.words.settings import Repair, Settings

_Value = TypeVar("_Value")


def with_moves(record: Record) -> Record:
    """Return the record with a change of origin "lever" wherever an attempt's levers are not as asked."""
    asked = record.asked
    if asked is None:
        return record
    return replace(record, attempts=tuple(_told(attempt, asked, record) for attempt in record.attempts))


def _told(attempt: Attempt, asked: Settings, record: Record) -> Attempt:
    moved = [name for name, position in attempt.choice.items() if position != _asked(name, record)]
    change = _beside(attempt, asked, f"lever {', '.join(_said(n, attempt) for n in moved)}") if moved else None
    return replace(attempt, changes=(change, *attempt.changes)) if change else attempt


def _asked(lever: str, record: Record) -> int | None:
    """Return the position of the variant that was asked for: that of the attempt whose settings are as asked."""
    wanted = record.asked
    first = next((a for a in record.attempts if a.settings == wanted), None)
    states = record.final.levers if record.final else ()
    told = next((s.requested for s in states if s.name == lever), 1)
    return first.choice.get(lever) if first else told


def _said(lever: str, attempt: Attempt) -> str:
    position = attempt.choice[lever]
    return f"{lever} off" if position is None else f"{lever} at variant {position}"


def _beside(attempt: Attempt, asked: Settings, why: str) -> Repair | None:
    """Return what differs from the settings asked for and no repair touched."""
    repaired = frozenset().union(*(r.names for r in attempt.changes))
    variables = frozenset().union(*(r.variables for r in attempt.changes))
    flags, gone = _difference(asked.flags, attempt.settings.flags, repaired)
    env, left_out = _difference(asked.env, attempt.settings.env, variables)
    change = Repair(flags, gone, env, left_out, why=why, origin="lever")
    return change or None


def _difference(
    before: Mapping[str, _Value], after: Mapping[str, _Value], apart: frozenset[str]
) -> tuple[dict[str, _Value], tuple[str, ...]]:
    given = {n: v for n, v in after.items() if n not in apart and (n not in before or before[n] != v)}
    return given, tuple(n for n in before if n not in after and n not in apart)
