"""The live part of the screen: a few lines that change in place. Pure."""

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from relight.cli.screen_state import View, busy_with, left
from relight.reports.times import span

_WIDE = 72
_BAR = 24


def panel(view: View, now: float, width: int) -> RenderableType:
    """Return what is drawn at `now` in `width` columns; no line of it wraps."""
    room = max(20, width - 1)
    rows: list[RenderableType] = [_rule(view, room), _head(view, now, room)]
    if view.alive and view.line:
        rows.append(_cut(Text(f"  {view.line}", "dim"), room))
    rows += [_cut(Text(f"  {line}", "dim"), room) for line in _filled(_budget(view, now), room - 2)]
    return Group(*rows)


def _filled(parts: list[str], room: int) -> list[str]:
    """Put parts beside one another as long as they fit."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 3 <= room:
            lines[-1] += f"   {part}"
        else:
            lines.append(part)
    return lines


def _cut(text: Text, room: int) -> Text:
    text.truncate(room, overflow="ellipsis")
    text.no_wrap = True
    return text


def _rule(view: View, room: int) -> Text:
    # Short on purpose: what is wider than a window that was made narrower leaves a trace on it.
    return _cut(Text(f"-- {view.playbook} on {view.host} --", "dim"), room)


def _head(view: View, now: float, room: int) -> RenderableType:
    if not view.alive:
        return _cut(Text(f"  {view.doing or 'reaching the host'} ...", "bold"), room)
    name = Text(f"  {busy_with(view)}", "bold")
    if view.attempt is not None:
        rung = f" ({view.rung})" if view.rung not in {"", "real"} else ""
        name = Text.assemble((f"  attempt {view.attempt}{rung}  ", ""), (busy_with(view), "bold"))
    if view.step is None or view.asked or room < _WIDE:
        times = _times(view, now)
        if len(name) + len(_progress(view)) + len(times) + 2 > room:
            # Where not both fit, what is left says more than what has passed.
            times = times.rpartition(", ")[2]
        return _cut(Text.assemble(name, f"  {_progress(view)}", times), room)
    done, total = view.step
    grid = Table.grid(padding=(0, 1))
    bar = ProgressBar(total, min(done, total), width=_BAR)
    grid.add_row(name, bar, Text(f"{_progress(view)}{_times(view, now)}", no_wrap=True, overflow="ellipsis"))
    return grid


def _progress(view: View) -> str:
    return f"{view.step[0]}/{view.step[1]}  " if view.step else ""


def _times(view: View, now: float) -> str:
    passed = span(max(0.0, round(now - view.since)))
    rest = left(view, now)
    return f"{passed}, about {_rough(rest)} left" if rest is not None and rest > 1 else passed


def _rough(seconds: float) -> str:
    """Say a guess as a guess: no seconds in minutes."""
    if seconds < 90:
        return f"{max(5, round(seconds / 5) * 5)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _budget(view: View, now: float) -> list[str]:
    parts = []
    if view.alive and view.memory:
        of = f" of {view.card / 1024:.1f}" if view.card else ""
        parts.append(f"GPU memory {view.memory / 1024:.1f}{of} GiB")
    if view.alive and view.phase:
        parts.append(f"launched {span(round(now - view.launch_began))} ago")
    budget = [f"{max(0, view.launches - view.launched)} of {view.launches} launches"] if view.launches else []
    budget += [_rough(max(0.0, view.deadline - (now - view.began)))] if view.deadline else []
    return [*parts, *([f"budget left: {', '.join(budget)}"] if budget else [])]
