"""Which parts of a condition are to blame, as far as the attempts tell, and which were merely there."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relight.words.attempt import Attempt, Nogood, Record, Term

_BOUNDS = {"<=", ">="}
_WAYS = {"!=", "set"}


@dataclass(frozen=True)
class Blamed:
    """A condition in three parts, and the attempt that tells them apart.

    `terms` fail; `beside` was there each time and is not known to matter; `ways` are changes that were proposed and
    not tried, so the condition says nothing of settings with one of them. `past` got past the failure by changing
    one of `terms`, or by a change that they say was not made.
    """

    terms: tuple[Term, ...]
    beside: tuple[Term, ...] = ()
    ways: tuple[Term, ...] = ()
    past: Attempt | None = None


def blamed(nogood: Nogood, record: Record, reached: Mapping[int, tuple[bool, int]]) -> Blamed:
    """Return a condition with what is to blame in it apart from what was merely present.

    `reached` is how far the launches got: one that got further shows what had to change.
    """
    seen = seen_in(nogood, record)
    open_ = () if nogood.hard else tuple(t for t in nogood.terms if t.op in _WAYS)
    terms = tuple(t for t in nogood.terms if t not in open_)
    # What some launch had meanwhile is no longer a way that nobody went.
    ways = tuple(t for t in open_ if not any(_has(t, a) for a in record.attempts if a.launched and a not in seen))
    if not seen or nogood.hard or nogood.fails is not None or all(was_read(a) for a in seen):
        return Blamed(terms, (), ways)
    past = [a for a in record.attempts if _is_past(a, seen, reached)]
    # What got past with a way belongs to the condition: without that it fails.
    went = [t for t in open_ if t not in ways and any(_has(t, a) for a in past)]
    changed = [(a, [t for t in terms if _differs(t, seen[-1], a)] + [t for t in went if _has(t, a)]) for a in past]
    least = min((pair for pair in changed if pair[1]), key=lambda pair: len(pair[1]), default=None)
    bounds = [t for t in terms if t.op in _BOUNDS]
    if least:
        found = [t for _, some in changed for t in some]
        return _apart((*terms, *went), [*found, *(bounds if went else ())], ways, least[0])
    return _apart(terms, bounds or terms, ways)


def _has(way: Term, attempt: Attempt) -> bool:
    """Say whether an attempt went a way out of a condition: it was given what the condition is known without."""
    held = attempt.settings.env if way.env else attempt.settings.flags
    values = way.value if isinstance(way.value, list | tuple) else (way.value,)
    return way.name not in held if way.op == "set" else way.name in held and held[way.name] in values


def _apart(terms: Sequence[Term], found: Sequence[Term], ways: tuple[Term, ...], past: Attempt | None = None) -> Blamed:
    return Blamed(tuple(t for t in terms if t in found), tuple(t for t in terms if t not in found), ways, past)


def _is_past(attempt: Attempt, seen: Sequence[Attempt], reached: Mapping[int, tuple[bool, int]]) -> bool:
    if attempt in seen or attempt.n not in reached:
        return False
    return attempt.outcome == "healthy" or all(reached[attempt.n] > reached.get(a.n, (False, 0)) for a in seen)


def _differs(term: Term, failed: Attempt, other: Attempt) -> bool:
    number = other.settings.flags.get(term.name)
    if term.op in _BOUNDS and isinstance(number, int | float):
        return bool(number > term.value if term.op == "<=" else number < term.value)
    one, two = ((a.settings.env if term.env else a.settings.flags) for a in (failed, other))
    return (term.name in one, one.get(term.name)) != (term.name in two, two.get(term.name))


def was_read(attempt: Attempt) -> bool:
    """Say whether the condition that an attempt failed at was read from the engine's source."""
    read = attempt.diagnosis.constraint if attempt.diagnosis else None
    return read is not None and bool(read.flags or read.env)


def seen_in(nogood: Nogood, record: Record) -> list[Attempt]:
    """Return the attempts of this run that a belief rests on; [] for one that an earlier run left."""
    numbers = numbers_of(nogood.because)
    return [a for a in record.attempts if a.n in numbers]


def numbers_of(because: str) -> set[int]:
    """Return which attempts of this run are named; none where an earlier run is."""
    return set(map(int, re.findall(r"\d+", because))) if because.startswith("attempt") else set()
