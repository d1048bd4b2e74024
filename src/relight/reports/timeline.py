"""The timeline of a run: how far each launch got, and how long each phase took."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from relight.reports.blocks import Bar, Lane, Prose, Table, Timeline
from relight.reports.prose import broke_in, outcome, tone
from relight.reports.times import between, seconds, short
from relight.words.attempt import Attempt, Phase

_EPOCH = 1e9
LONG, FIRST, LAST = 10, 4, 5
"""Launches that are too many for two screens, and what is left of them at each end."""
PEAK = "peak GiB"
BROKE = "broke in"
OTHER = "other"
"""Time in no phase: before the first sign in the log, between phases, after the last."""
_ROUNDED = 0.1
_FAILED = {"crashed", "hung", "sick"}
_TRACE = 512
"""MiB in use from which on a card held anything of a server."""


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
    """Return the lane of one launch, its phases in the order of their beginning, none beside another.

    A phase without an end lasts until the attempt ended. It broke at the end of what was seen: where the cause stands
    in a phase that was over by then, or that the log never announced, that phase has another bar there.
    """
    length = between(attempt.started, attempt.ended) or _last(attempt)
    broke = broke_in(attempt) if attempt.outcome in _FAILED else ""
    bars = _one_at_a_time([_bar(phase, attempt.started, length) for phase in attempt.phases])
    return Lane(attempt.n, outcome(attempt), tone(attempt), _broken(bars, broke), length, _memory(attempt, length))


def _one_at_a_time(bars: Sequence[Bar]) -> list[Bar]:
    """Return phases cut so that no moment counts twice: ranks go ahead of each other, the latest phase counts.

    Of two that overlap it is the one that began last, of two that began together the one that ended first.
    """
    edges = sorted({at for bar in bars for at in (bar.start, bar.end)})
    out: list[Bar] = []
    for start, end in pairwise(edges):
        running = [bar for bar in bars if bar.start <= start and bar.end >= end]
        now = max(running, key=lambda bar: (bar.start, -bar.end), default=None)
        if now and out and out[-1].phase == now.phase and out[-1].end == start:
            out[-1] = replace(out[-1], end=end)
        elif now:
            out.append(Bar(now.phase, start, end))
    seen = {bar.phase for bar in out}
    hidden = [replace(bar, end=bar.start) for bar in bars if bar.phase not in seen]
    return sorted((*hidden, *out), key=lambda bar: (bar.start, bar.end))


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
        facts = (str(each.n), each.word, _broke(each), short(each.length), _peak(each), *_took(each, part.phases))
        rows.append(tuple((held,) for held in facts))
    heads = ("#", "ended", BROKE, "total", PEAK, *(p.replace("_", " ") for p in part.phases), OTHER)
    table = Table("How long each attempt spent in each phase, and where it broke", heads, tuple(rows))
    unseen = [] if any(map(peak, part.lanes)) else [PEAK]
    unseen += [] if any(map(_much_in_no_phase, part.lanes)) else [OTHER]
    unseen += [] if any(map(_broke, part.lanes)) else [BROKE]
    return _without(table, [*unseen, *without])


def _broke(each: Lane) -> str:
    """Return the phase a launch broke in; "again" where it had been through it before."""
    broken = next((bar for bar in each.bars if bar.broken), None)
    if broken is None:
        return ""
    before = any(bar.phase == broken.phase for bar in each.bars if bar is not broken)
    return broken.phase.replace("_", " ") + (" again" if before else "")


def _took(each: Lane, phases: Sequence[str]) -> list[str]:
    """Return how long each phase took, and last the time in none of them: together they are the total."""
    held = {name: [bar.end - bar.start for bar in each.bars if bar.phase == name] for name in phases}
    other = short(_in_no_phase(each)) if each.bars else ""
    return [*(short(sum(spans)) if spans else "" for spans in held.values()), other]


def _in_no_phase(each: Lane) -> float:
    return max(0.0, each.length - sum(bar.end - bar.start for bar in each.bars))


def _much_in_no_phase(each: Lane) -> bool:
    """Say whether the phases of a launch leave out more of its time than rounding would."""
    return bool(each.bars) and _in_no_phase(each) > max(_ROUNDED, each.length / 100)


def peak(each: Lane) -> int:
    """Return the most memory that was in use on the fullest card, in MiB; 0 where it was next to nothing."""
    most = max((used for _, used in each.memory), default=0)
    return most if most >= _TRACE else 0


def _peak(each: Lane) -> str:
    return f"{peak(each) / 1024:.1f}" if peak(each) else ""


def _without(table: Table, heads: Sequence[str]) -> Table:
    kept = [i for i, head in enumerate(table.heads) if head not in heads]
    rows = tuple(tuple(row[i] for i in kept) for row in table.rows)
    return Table(table.caption, tuple(table.heads[i] for i in kept), rows, table.tones)


def _last(attempt: Attempt) -> float:
    """Return how long an attempt that has not ended is known to have lasted."""
    times = [between(attempt.started, stamp) or 0.0 for p in attempt.phases for stamp in (p.started, p.ended)]
    return max(times, default=0.0)


def _bar(phase: Phase, started: str, length: float) -> Bar:
    start = between(started, phase.started) or 0.0
    end = between(started, phase.ended)
    return Bar(phase.name, min(start, length), max(start, length if end is None else end))


def _memory(attempt: Attempt, length: float) -> tuple[tuple[float, int], ...]:
    """Return memory over the seconds of the attempt, also where its times were written as seconds since 1970.

    What was asked before it ended may have been answered after that: it counts to its last moment.
    """
    began = seconds(attempt.started) or 0.0
    at_and_used = ((at - began if at > _EPOCH else at, used) for at, used in attempt.gpu_memory)
    return tuple((min(max(0.0, at), length), used) for at, used in at_and_used)


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
