"""The legal interval of a number, where it is empty: no value helps, and what was changed instead."""

from collections.abc import Mapping, Sequence
from math import inf

from relight.reports.edits import brief, diff, in_a_sentence
from relight.reports.prose import listed
from relight.words.attempt import Attempt
from relight.words.diagnosis import Cause

_WHOLE = 1.0
_LOW, _HIGH = "_low", "_high"


def no_value(attempt: Attempt, earlier: Sequence[Attempt], following: Attempt | None) -> list[str]:
    """Return, for each number that no value of would have helped an attempt, the arithmetic and what was done instead.

    A bound counts with that of an earlier attempt where nothing but the number differed: both hold for both.
    """
    cause = attempt.diagnosis.cause if attempt.diagnosis else None
    found = _bounds(cause) if cause else {}
    return [said for stem, bounds in found.items() for said in _told(stem, bounds, attempt, earlier, following)]


def _told(
    stem: str,
    bounds: tuple[float | None, float | None],
    attempt: Attempt,
    earlier: Sequence[Attempt],
    following: Attempt | None,
) -> list[str]:
    flag = _flag(stem, attempt)
    low, high = bounds
    where = ""
    for other in reversed(earlier):
        if _differ_only_in(flag, attempt, other) and (known := _of(stem, other)):
            low, high, where = _joined((low, high), known, f" (attempt {other.n})")
    most = _most(stem, attempt) if high is None else high
    if low is None or low <= most:
        return []
    below = f" and not above {high:g}" if high is not None else ", which is more than the whole"
    said = f"No value of {flag} works with the rest as it is: it must be above {low:g}{below}{where}."
    return [said, *_instead(flag, attempt, following)]


def _most(stem: str, attempt: Attempt) -> float:
    """Return the most a number can be where no bound says it: a share is of a whole."""
    cause = attempt.diagnosis.cause if attempt.diagnosis else None
    given = cause.facts.get(stem) if cause else None
    return _WHOLE if isinstance(given, float) and given <= _WHOLE else inf


def _joined(
    mine: tuple[float | None, float | None], theirs: tuple[float | None, float | None], where: str
) -> tuple[float | None, float | None, str]:
    low = max((n for n in (mine[0], theirs[0]) if n is not None), default=None)
    high = min((n for n in (mine[1], theirs[1]) if n is not None), default=None)
    return low, high, where if (low, high) != mine else ""


def _instead(flag: str, attempt: Attempt, following: Attempt | None) -> list[str]:
    """Say what the next attempt changed instead of the number."""
    edits = diff(attempt.settings, following.settings) if following else ()
    other = [in_a_sentence(line) for line in brief(edits) if flag not in line]
    return [f"Changed instead: {listed(other)}.".replace("`", "")] if other else []


def _bounds(cause: Cause) -> dict[str, tuple[float | None, float | None]]:
    numbers = {k: float(v) for k, v in cause.facts.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    stems = dict.fromkeys(k.removesuffix(_LOW).removesuffix(_HIGH) for k in numbers if k.endswith((_LOW, _HIGH)))
    return {stem: (numbers.get(stem + _LOW), numbers.get(stem + _HIGH)) for stem in stems}


def _of(stem: str, attempt: Attempt) -> tuple[float | None, float | None] | None:
    cause = attempt.diagnosis.cause if attempt.diagnosis else None
    return _bounds(cause).get(stem) if cause else None


def _flag(stem: str, attempt: Attempt) -> str:
    """Return the flag that a fact is about, which it may abbreviate as a command line may."""
    name = stem.replace("_", "-")
    known: Mapping[str, object] = attempt.settings.flags
    changed = (n for repair in (attempt.diagnosis.repairs if attempt.diagnosis else ()) for n in repair.names)
    return f"--{next((n for n in (*known, *changed) if n.startswith(name)), name)}"


def _differ_only_in(flag: str, one: Attempt, other: Attempt) -> bool:
    return all(edit.text.split(" ")[0] == flag for edit in diff(one.settings, other.settings))
