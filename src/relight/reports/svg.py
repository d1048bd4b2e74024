"""Geometry of the timeline: lanes 1000 wide, phases above, GPU memory below."""

from dataclasses import dataclass

from relight.reports.blocks import Bar, Lane, Timeline
from relight.reports.timeline import peak as most
from relight.reports.times import short

WIDTH = 1000.0
_BARS = 22.0
_FLOOR = 56.0
_ROOM = 30.0
_LEAST = 3.0
_LEAST_BROKEN = 12.0
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800)


@dataclass(frozen=True)
class Rect:
    """One phase in the picture; `broken` bears a mark at its end."""

    phase: str
    x: float
    width: float
    broken: bool

    @property
    def end(self) -> float:
        """Return where it ends."""
        return round(self.x + self.width, 2)


def rects(lane: Lane, timeline: Timeline) -> tuple[Rect, ...]:
    """Return the phases of a lane; the shortest still shows, and the one that broke can be told from its neighbour."""
    return tuple(_rect(bar, _scale(timeline)) for bar in lane.bars)


def _rect(bar: Bar, scale: float) -> Rect:
    least = _LEAST_BROKEN if bar.broken else _LEAST
    width = max(least, (bar.end - bar.start) * scale)
    return Rect(bar.phase, round(min(bar.start * scale, WIDTH - width), 2), round(width, 2), bar.broken)


def _scale(timeline: Timeline) -> float:
    return WIDTH / (timeline.longest or 1.0)


def curve(lane: Lane, timeline: Timeline) -> str:
    """Return the points of the memory curve, closed along the floor; empty where next to nothing was in use."""
    if not most(lane):
        return ""
    scale, full = _scale(timeline), _full(timeline)
    # What was seen last holds until the end.
    seen = [*sorted(lane.memory), (lane.length, max(lane.memory)[1])]
    points = [(at * scale, _FLOOR - _ROOM * min(1.0, used / full)) for at, used in seen]
    closed = [(points[0][0], _FLOOR), *points, (points[-1][0], _FLOOR)]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in closed)


def _full(timeline: Timeline) -> float:
    seen = max((used for lane in timeline.lanes for _, used in lane.memory), default=0)
    return float(timeline.total or seen or 1)


def peak(lane: Lane, timeline: Timeline) -> str:
    """Return the most memory a card held, in words; empty where it was next to nothing."""
    used = most(lane)
    of = f" of {timeline.total / 1024:.1f}" if timeline.total else ""
    return f"{used / 1024:.1f}{of} GiB" if used else ""


_LAST_TICK = 96
"""In % of the axis; what is written behind it would be cut off."""


def ticks(timeline: Timeline) -> tuple[tuple[float, str], ...]:
    """Return where the axis is marked (in % of its length) and with what; at most five marks."""
    longest = timeline.longest or 1.0
    step = next((s for s in _STEPS if longest / s <= 5), _STEPS[-1])
    count = int(longest // step)
    marks = ((round(100 * i * step / longest, 2), short(i * step)) for i in range(count + 1))
    return tuple((at, said) for at, said in marks if at <= _LAST_TICK)
