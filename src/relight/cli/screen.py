"""The screen of a run: lines that stay, and with a terminal a few that change in place.

What it expects of events (all of it may be missing): probed{gpus, version}; asked{candidates, refused};
launched{rung, because, settings or set_attempt.settings}; phase{name, i, n, memory}; marked{text, memory};
crashed/hung{exit, reason}; diagnosed{diagnosis, rung}; changed{because, wait}; judged{verdict, notes};
healthy{final}; run_ended{state, reason}. `memory` is MiB on the fullest card, now.
"""

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live

from relight.cli.screen_draw import panel
from relight.cli.screen_lines import lines
from relight.cli.screen_state import View, after
from relight.words.events import Event
from relight.words.text import shown

_QUIET_FOR = 60.0
_PER_SECOND = 4.0


class Screen:
    """Shows events as they come; open while a run runs. Holds nothing of the run but what it shows.

    `expected` maps phases, in the order of a start, to the seconds they took before; `launches` and `deadline`
    (seconds) are the budget, `launched` what of it is spent. With `quiet` it shows nothing at all.
    """

    def __init__(
        self,
        console: Console,
        *,
        host: str,
        playbook: str,
        launches: int = 0,
        launched: int = 0,
        deadline: float = 0.0,
        expected: Mapping[str, float] | None = None,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._quiet = quiet
        self._clock = clock
        self._spoke = clock()
        self._live: Live | None = None
        self._view = View(
            host=shown(host),
            playbook=shown(playbook),
            launches=launches,
            launched=launched,
            deadline=deadline,
            began=clock(),
            expected=tuple((expected or {}).items()),
        )

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
        said = lines(before, event, self._view)
        for line in said:
            # What stays is never cut: it wraps, or it goes into a file as it is.
            self._console.print(line, soft_wrap=self._live is None, markup=False, highlight=False, emoji=False)
        if said:
            self._spoke = now
        elif self._live is None and now - self._spoke >= _QUIET_FOR:
            self._heartbeat(event, now)

    def _heartbeat(self, event: Event, now: float) -> None:
        """Without a terminal, say every minute that it goes on."""
        self._spoke = now
        view = self._view
        step = f" {view.step[0]}/{view.step[1]}" if view.step else ""
        said = f"{event.at[11:19]}  attempt {view.attempt}  {view.phase.replace('_', ' ')}{step}"
        self._console.print(
            f"{said}: {view.line}" if view.line else said, soft_wrap=True, markup=False, highlight=False
        )
