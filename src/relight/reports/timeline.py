"""The timeline of a run: how far each launch got, and how long each phase took."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from relight.reports.blocks import Bar, Lane, Prose, Table, Timeline
from relight.reports.prose import broke_in, outcome, tone
from relight.reports.times import between, seconds, short
from relight.words.attempt import Attempt, Phase

_EPOCH = 1e9
LONG, FIRST, LAST = 10, 4, 5
"""Launches that are too many for two screens, and what is left of them at each end."""
PEAK = "peak GiB"
BROKE = "broke in"
_FAILED = {"crashed", "hung", "sick"}


def timeline(attempts: Iterable[Attempt], total: int) -> Timeline | None:
    """Return the lanes of all launches, None if there is none; `total` is the memory of a card in MiB."""
    lanes = tuple(lane(a) for a in attempts if a.launched)
    return Timeline(lanes, _phases([lane.bars for lane in lanes]), total) if lanes else None


def between_ends(part: Timeline) -> tuple[int, int] | None:
    """Return after which lane of many those begin that stand back, and how many they are; None for few."""
    return (FIRST, len(part.lanes) - FIRST - LAST) if len(part.lanes) > LONG else None


def few(part: Timeline) -> tuple[Timeline, str]:
    """Return the first and the last lanes of many, and what is said of those between."""
    if between_ends(part) is None:
        return part, ""
    out = part.lanes[FIRST:-LAST]
    said = f"Launches {out[0].n} to {out[-1].n} stand between, each in detail below."
    return replace(part, lanes=(*part.lanes[:FIRST], *part.lanes[-LAST:])), said


def lane(attempt: Attempt) -> Lane:
    """Return the lane of one launch, its phases in the order of their beginning.

    A phase without an end lasts until the attempt ended. It broke at the end of what was seen: where the cause stands
    in a phase that was over by then, or that the log never announced, that phase has another bar there.
    """
    length = between(attempt.started, attempt.ended) or _last(attempt)
    broke = broke_in(attempt) if attempt.outcome in _FAILED else ""
    bars = sorted((_bar(phase, attempt.started, length) for phase in attempt.phases), key=lambda bar: bar.start)
    return Lane(attempt.n, outcome(attempt), tone(attempt), _broken(bars, broke), length, _memory(attempt))


def _broken(bars: Sequence[Bar], broke: str) -> tuple[Bar, ...]:
    if not bars or not broke:
        return tuple(bars)
    end = max(bar.end for bar in bars)
    last = next((i for i, bar in enumerate(bars) if bar.phase == broke and bar.end >= end), None)
    if last is None:
        return (*bars, Bar(broke, end, end, broken=True))
    return (*bars[:last], replace(bars[last], broken=True), *bars[last + 1 :])


def matrix(part: Timeline, without: Sequence[str] = ()) -> Table:
    """Return the timeline as a table: attempts down, phases across, how long each took, and where each launch broke.

    Where it was seen a column tells the most memory that was in use; columns can be left `without`.
    """
    rows: list[tuple[Prose, ...]] = []
    for each in part.lanes:
        took = dict.fromkeys(part.phases, "")
        for bar in each.bars:
            took[bar.phase] = _cell(took[bar.phase], bar)
        facts = (str(each.n), each.word, _broke(each), short(each.length), _peak(each), *took.values())
        rows.append(tuple((held,) for held in facts))
    heads = ("#", "ended", BROKE, "total", PEAK, *(p.replace("_", " ") for p in part.phases))
    table = Table("How long each attempt spent in each phase, and where it broke", heads, tuple(rows))
    unseen = [] if any(each.memory for each in part.lanes) else [PEAK]
    unseen += [] if any(map(_broke, part.lanes)) else [BROKE]
    return _without(table, [*unseen, *without])


def _broke(each: Lane) -> str:
    """Return the phase a launch broke in; "again" where it had been through it before."""
    broken = next((bar for bar in each.bars if bar.broken), None)
    if broken is None:
        return ""
    before = any(bar.phase == broken.phase for bar in each.bars if bar is not broken)
    return broken.phase.replace("_", " ") + (" again" if before else "")


def _peak(each: Lane) -> str:
    """Return the most memory that was in use on the fullest card, in GiB."""
    return f"{max(used for _, used in each.memory) / 1024:.1f}" if each.memory else ""


def _without(table: Table, heads: Sequence[str]) -> Table:
    kept = [i for i, head in enumerate(table.heads) if head not in heads]
    rows = tuple(tuple(row[i] for i in kept) for row in table.rows)
    return Table(table.caption, tuple(table.heads[i] for i in kept), rows, table.tones)


def _cell(before: str, bar: Bar) -> str:
    """Return how long a phase took; what broke as it began took no time of its own."""
    if before and bar.end == bar.start:
        return before
    return f"{before}+{short(bar.end - bar.start)}" if before else short(bar.end - bar.start)


def _last(attempt: Attempt) -> float:
    """Return how long an attempt that has not ended is known to have lasted."""
    times = [between(attempt.started, stamp) or 0.0 for p in attempt.phases for stamp in (p.started, p.ended)]
    return max(times, default=0.0)


def _bar(phase: Phase, started: str, length: float) -> Bar:
    start = between(started, phase.started) or 0.0
    end = between(started, phase.ended)
    return Bar(phase.name, min(start, length), max(start, length if end is None else end))


def _memory(attempt: Attempt) -> tuple[tuple[float, int], ...]:
    """Return memory over the seconds of the attempt, also where its times were written as seconds since 1970."""
    began = seconds(attempt.started) or 0.0
    return tuple((at - began if at > _EPOCH else at, used) for at, used in attempt.gpu_memory)


def _phases(lanes: Sequence[Sequence[Bar]]) -> tuple[str, ...]:
    """Return all phases in the order of a start: the longest lane's first, the others put in after their neighbour."""
    order: list[str] = []
    for bars in sorted(lanes, key=len, reverse=True):
        at = 0
        for bar in bars:
            if bar.phase in order:
                at = order.index(bar.phase) + 1
            else:
                order.insert(at, bar.phase)
                at += 1
    return tuple(order)
