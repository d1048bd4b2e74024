"""The screen of a run: lines that stay, and with a terminal a few that change in place.

What it expects of events (all of it may be missing): probed{gpus, version}; asked{candidates, refused};
launched{rung, because, settings or set_attempt.settings}; phase{name, i, n, memory}; marked{text, memory};
crashed/hung{exit, reason, waiting}; diagnosed{diagnosis, rung}; changed{because, wait}; judged{verdict, notes};
healthy{final}; run_ended{state, reason}. `memory` is MiB on the fullest card, now.
"""

import os
import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.text import Text

from relight.cli.screen_draw import panel, until_healthy
from relight.cli.screen_lines import ABOUT, CLOCK, Line, lines
from relight.cli.screen_live import LivePart
from relight.cli.screen_state import View, after, busy_with
from relight.words.events import Event
from relight.words.text import shown

_DRAWN = {"phase", "marked"}
_QUIET_FOR = 60.0
_NARROW = 60


class Screen:
    """Shows events as they come; open while a run runs. Holds nothing of the run but what it shows.

    `view` is what is known before the first event: host, playbook, budget, and from history how long phases took.
    With `quiet` it shows nothing at all, with `still` only lines that stay, because others write to the terminal too.
    """

    def __init__(
        self,
        console: Console,
        view: View,
        *,
        quiet: bool = False,
        still: bool = False,
        clock: Callable[[], float] = time.monotonic,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._console = console
        self._view = replace(shown(view), began=clock() - view.used)
        self._quiet = quiet
        self._still = still or quiet
        self._clock = clock
        self._spoke = clock()
        self._environ = os.environ if environ is None else environ
        self._live: LivePart | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._console.is_dumb_terminal and not self._still:
            self._live = LivePart(self._console, self._drawn, self._environ)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def _drawn(self) -> RenderableType:
        return panel(self._view, self._clock(), self._console.width)

    def show(self, event: Event) -> None:
        """Show one event."""
        now = self._clock()
        before, self._view = self._view, after(self._view, event, now)
        if self._quiet:
            return
        # Where the phase is on the screen already, its beginning needs no line of its own, nor has a step that goes on.
        said = () if self._live and event.event in _DRAWN else lines(before, event, self._view)
        if self._live and said:
            # What was said is not shown above what was true before it.
            self._live.refresh()
        for line in said:
            self._print(line)
        if said:
            self._spoke = now
        elif self._live is None and now - self._spoke >= _QUIET_FOR:
            self._heartbeat(event, now)

    def _heartbeat(self, event: Event, now: float) -> None:
        """Without a terminal, say every minute that it goes on."""
        self._spoke = now
        view = self._view
        step = f" {view.step[0]}/{view.step[1]}" if view.step and not view.asked else ""
        about = f"attempt {view.attempt}" if view.attempt is not None else "run"
        doing = ", ".join([f"{busy_with(view)}{step}".strip(), *until_healthy(view, now)])
        said = ": ".join(part for part in (doing, view.line) if part)
        self._print(Line(shown(event.at[11:19]), about, said or "goes on", "dim"))

    def _print(self, line: Line) -> None:
        """Print a line that stays: on a terminal it wraps below itself, in a file it is never broken."""
        if not self._console.is_terminal:
            self._console.print(Text(line.plain), soft_wrap=True, markup=False, highlight=False, emoji=False)
        else:
            self._console.print(wrapped(line, self._console.width), markup=False, highlight=False, emoji=False)


def wrapped(line: Line, width: int) -> Text:
    """Return a line as columns, the last one going on below itself; a narrow terminal has no room for columns."""
    columns = width >= _NARROW
    told = line.plain if columns else "  ".join(part for part in (line.clock, line.about, line.what) if part)
    told = told if columns or line.clock else f"  {told}"
    indent = " " * (CLOCK + ABOUT if columns else 2)
    broken = textwrap.wrap(told, max(20, width), subsequent_indent=indent, break_on_hyphens=False)
    text = Text("\n".join(broken), line.style)
    begin = CLOCK if columns else len(line.clock) + 2
    text.stylize("default not bold dim", 0, begin)
    text.stylize(
        "default bold" if line.about.startswith("attempt") else "default not bold dim", begin, begin + len(line.about)
    )
    return text
