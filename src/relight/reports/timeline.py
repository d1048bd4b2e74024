"""The timeline of a run: how far each launch got, and how long each phase took."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from relight.reports.blocks import Bar, Lane, Prose, Table, Timeline
from relight.reports.prose import broke_in, outcome, tone
from relight.reports.times import between, seconds, short, span
from relight.words.attempt import Attempt, Phase

_EPOCH = 1e9
PEAK = "peak GiB"
_FEW_SAMPLES = 2
_MOST_CURVES = 10
T = TypeVar("T")


def timeline(attempts: Iterable[Attempt], total: int) -> Timeline | None:
    """Return the lanes of all launches, None if there is none; `total` is the memory of a card in MiB."""
    lanes = tuple(lane(a) for a in attempts if a.launched)
    return Timeline(lanes, _phases([lane.bars for lane in lanes]), total) if lanes else None


def lane(attempt: Attempt) -> Lane:
    """Return the lane of one launch; a phase without an end lasts until the attempt ended."""
    length = between(attempt.started, attempt.ended) or _last(attempt)
    failed = attempt.outcome in {"crashed", "hung", "sick"}
    broke = broke_in(attempt) if failed else ""
    bars = tuple(_bar(phase, attempt.started, length, broken=phase.name == broke) for phase in attempt.phases)
    if bars and broke and not any(bar.broken for bar in bars):
        # The log never announced the phase that the cause stands in.
        bars = (*bars, Bar(broke, bars[-1].end, bars[-1].end, broken=True))
    return Lane(attempt.n, outcome(attempt), tone(attempt), bars, length, _memory(attempt))


def matrix(part: Timeline, *, memory: bool = True) -> Table:
    """Return the timeline as a table: attempts down, phases across, how long each took; `x` is where it broke.

    With `memory`, and where it was seen, a column tells the most that was in use.
    """
    rows: list[tuple[Prose, ...]] = []
    for each in part.lanes:
        took = dict.fromkeys(part.phases, "")
        for bar in each.bars:
            took[bar.phase] = _cell(took[bar.phase], bar)
        facts = (str(each.n), each.word, short(each.length), _peak(each), *took.values())
        rows.append(tuple((held,) for held in facts))
    heads = ("#", "ended", "total", PEAK, *(p.replace("_", " ") for p in part.phases))
    table = Table("How long each attempt spent in each phase; x is where it broke", heads, tuple(rows))
    seen = memory and any(each.memory for each in part.lanes)
    return table if seen else _without(table, heads.index(PEAK))


def curves(part: Timeline, columns: int = 60) -> tuple[str, ...]:
    """Return GPU memory over time in digits, a line for each launch it was seen in; () where it was seen in none.

    A digit is the tenths of a card in use; all lines have one scale of time, `columns` wide at most.
    """
    lanes = [lane for lane in part.lanes if len(lane.memory) > _FEW_SAMPLES][-_MOST_CURVES:]
    full = part.total or max((used for lane in lanes for _, used in lane.memory), default=0)
    if not full or not lanes:
        return ()
    step = max(part.longest / columns, 1.0)
    head = f"GPU memory of the fullest card, in tenths of {full / 1024:.1f} GiB; one digit is {span(step)}:"
    gutter = max(len(str(lane.n)) for lane in lanes)
    return (head, *(f"{lane.n:>{gutter}}  {_digits(lane, step, full)}" for lane in lanes))


def _digits(lane: Lane, step: float, full: int) -> str:
    """Return the most that was in use in each step of time; between two samples the first of them holds."""
    out, held, samples = "", None, sorted(lane.memory)
    for column in range(int(lane.length // step) + 1):
        within = [used for at, used in samples if column * step <= at < (column + 1) * step]
        out += " " if held is None and not within else str(min(9, 10 * max([*within, held or 0]) // full))
        held = within[-1] if within else held
    return out.rstrip()


def _peak(each: Lane) -> str:
    """Return the most memory that was in use on the fullest card, in GiB."""
    return f"{max(used for _, used in each.memory) / 1024:.1f}" if each.memory else ""


def _without(table: Table, column: int) -> Table:
    def cut(row: tuple[T, ...]) -> tuple[T, ...]:
        return row[:column] + row[column + 1 :]

    return Table(table.caption, cut(table.heads), tuple(cut(row) for row in table.rows))


def _cell(before: str, bar: Bar) -> str:
    now = f"x {short(bar.end - bar.start)}" if bar.broken else short(bar.end - bar.start)
    return f"{before}+{now}" if before else now


def _last(attempt: Attempt) -> float:
    """Return how long an attempt that has not ended is known to have lasted."""
    times = [between(attempt.started, stamp) or 0.0 for p in attempt.phases for stamp in (p.started, p.ended)]
    return max(times, default=0.0)


def _bar(phase: Phase, started: str, length: float, *, broken: bool) -> Bar:
    start = between(started, phase.started) or 0.0
    end = between(started, phase.ended)
    return Bar(phase.name, min(start, length), max(start, length if end is None else end), broken)


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
