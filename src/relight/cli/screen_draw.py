"""The live part of the screen: a few lines that change in place. Pure."""

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from relight.cli.screen_state import View, busy_with
from relight.cli.screen_time import left, left_in_phase, slower
from relight.reports.times import span

_BAR = 24
_MOST = 3


def panel(view: View, now: float, width: int) -> RenderableType:
    """Return what is drawn at `now` in `width` columns; no line of it wraps."""
    room = max(20, width - 1)
    rows: list[RenderableType] = [_rule(view, room), _head(view, now, room)]
    if view.alive and view.line:
        rows.append(_cut(Text(f"  {view.line}", "dim"), room))
    if not view.alive:
        rows += [_cut(Text(f"  then {line}", "dim"), room) for line in view.then[:_MOST]]
    rows += [_cut(Text(f"  {line}", "dim"), room) for line in _filled(_facts(view, now), room - 2)]
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
    if view.healthy_since is not None:
        attempt = f"attempt {view.attempt}  " if view.attempt is not None else ""
        return _cut(Text(f"  {attempt}healthy for {_rough(now - view.healthy_since)}", "bold green"), room)
    if view.busy:
        passed = round(now - view.busy_since)
        return _cut(Text.assemble((f"  {view.busy} ...", "bold"), f"  {span(passed)}" if passed > 1 else ""), room)
    if not view.alive:
        return _cut(Text(f"  {view.doing or 'reaching the host'} ...", "bold"), room)
    said = f"{_progress(view)}{_times(view, now)}"
    if view.step is None or view.asked or len(_name(view)) + _BAR + len(said) + 2 > room:
        return _shortest(view, now, room)
    done, total = view.step
    grid = Table.grid(padding=(0, 1))
    bar = ProgressBar(total, min(done, total), width=_BAR)
    grid.add_row(_name(view), bar, Text(said, no_wrap=True, overflow="ellipsis"))
    return grid


def _name(view: View) -> Text:
    """Return which attempt does what."""
    if view.attempt is None:
        return Text(f"  {busy_with(view)}", "bold")
    return Text.assemble((f"  attempt {view.attempt}{_rung(view)}  ", ""), (busy_with(view), "bold"))


def _rung(view: View) -> str:
    return f" ({view.rung})" if view.rung not in {"", "real"} else ""


def _shortest(view: View, now: float, room: int) -> Text:
    """Return the same without a bar, in as many words as there is room for: what is left says more than what passed."""
    step, times = _progress(view), _times(view, now)
    left_only = times.rpartition(", ")[2]
    brief = f"  #{view.attempt}{_rung(view)} " if view.attempt is not None else "  "
    forms = [
        Text.assemble(_name(view), f"  {step}", times),
        Text.assemble(_name(view), f"  {step}", left_only),
        Text.assemble(brief, (busy_with(view), "bold"), f" {step.strip()}".rstrip(), f", {left_only}"),
    ]
    return _cut(next((form for form in forms if len(form) <= room), forms[-1]), room)


def _progress(view: View) -> str:
    return f"{view.step[0]}/{view.step[1]}  " if view.step else ""


def _times(view: View, now: float) -> str:
    passed = span(max(0.0, round(now - view.since)))
    before, rest = slower(view, now), left_in_phase(view, now)
    if before is not None:
        return f"{passed}, before: {_rough(before)}"
    return f"{passed}, about {_rough(rest)} left" if rest is not None and rest > 1 else passed


def _rough(seconds: float) -> str:
    """Say a guess as a guess: no seconds in minutes."""
    if seconds < 90:
        return f"{max(5, round(seconds / 5) * 5)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _facts(view: View, now: float) -> list[str]:
    """Return what is worth knowing of a launch and of the budget, each a few words."""
    parts = []
    if view.alive and view.memory:
        of = f" of {view.card / 1024:.1f}" if view.card else ""
        parts.append(f"GPU memory {view.memory / 1024:.1f}{of} GiB")
    if view.alive and view.phase:
        parts += [f"launched {span(round(now - view.launch_began))} ago", *until_healthy(view, now)]
    return [*parts, *_budget(view, now)]


def until_healthy(view: View, now: float) -> list[str]:
    """Say when the server will be healthy, as far as the last healthy start tells."""
    rest = left(view, now)
    return [f"healthy in about {_rough(rest)}"] if rest is not None and rest > 1 else []


def _budget(view: View, now: float) -> list[str]:
    if view.healthy_since is not None:
        # Nothing of it is used while a healthy server is only watched.
        return ["watching the server; Ctrl-C leaves it running"] if view.keep else []
    budget = [f"{max(0, view.launches - view.launched)} of {view.launches} launches"] if view.launches else []
    budget += [_rough(max(0.0, view.deadline - (now - view.began)))] if view.deadline else []
    return [f"budget left: {', '.join(budget)}"] if budget else []
