"""The screen of a run: lines that stay, and with a terminal a few that change in place.

What it expects of events (all of it may be missing): probed{gpus, version}; asked{candidates, refused};
launched{rung, because, settings or set_attempt.settings}; phase{name, i, n, memory}; marked{text, memory};
crashed/hung{exit, reason, waiting}; diagnosed{diagnosis, rung}; changed{because, wait}; judged{verdict, notes};
healthy{final}; run_ended{state, reason}. `memory` is MiB on the fullest card, now.
"""

import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from relight.cli.screen_draw import panel
from relight.cli.screen_lines import ABOUT, CLOCK, Line, lines
from relight.cli.screen_state import View, after, busy_with
from relight.words.events import Event
from relight.words.text import shown

_QUIET_FOR = 60.0
_PER_SECOND = 4.0


class Screen:
    """Shows events as they come; open while a run runs. Holds nothing of the run but what it shows.

    `view` is what is known before the first event: host, playbook, budget, and from history how long phases took.
    With `quiet` it shows nothing at all.
    """

    def __init__(
        self, console: Console, view: View, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._view = replace(shown(view), began=clock())
        self._quiet = quiet
        self._clock = clock
        self._spoke = clock()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._console.is_dumb_terminal and not self._quiet:
            self._live = Live(
                console=self._console,
                get_renderable=lambda: panel(self._view, self._clock(), self._console.width),
                refresh_per_second=_PER_SECOND,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def show(self, event: Event) -> None:
        """Show one event."""
        now = self._clock()
        before, self._view = self._view, after(self._view, event, now)
        if self._quiet:
            return
        # Where the phase is on the screen already, its beginning needs no line of its own.
        said = () if self._live and event.event == "phase" else lines(before, event, self._view)
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
        said = ": ".join(part for part in (f"{busy_with(view)}{step}".strip(), view.line) if part)
        self._print(Line(shown(event.at[11:19]), about, said or "goes on", "dim"))

    def _print(self, line: Line) -> None:
        """Print a line that stays: on a terminal it wraps below itself, in a file it is never broken."""
        if self._live is None and self._console.is_terminal:
            # A terminal that cannot move its cursor: words are not broken at its edge.
            indent = " " * (CLOCK + ABOUT)
            told = textwrap.wrap(line.plain, max(40, self._console.width), subsequent_indent=indent)
            self._console.print(Text("\n".join(told)), markup=False, highlight=False, emoji=False)
        elif self._live is None:
            self._console.print(Text(line.plain), soft_wrap=True, markup=False, highlight=False, emoji=False)
        else:
            self._console.print(row(line))


def row(line: Line) -> Table:
    """Return a line as three columns, the last one wrapping below itself."""
    made = Table.grid()
    made.add_column(width=CLOCK)
    made.add_column(width=ABOUT)
    made.add_column(overflow="fold")
    about = "bold" if line.about.startswith("attempt") else "dim"
    made.add_row(Text(line.clock, "dim"), Text(line.about, about), Text(line.what, line.style))
    return made
