"""Lines that change in place on a terminal, also while its window changes its size."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderResult
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType, Segment

_REFLOW = (
    "TMUX", "WT_SESSION", "VTE_VERSION", "KITTY_WINDOW_ID", "ALACRITTY_WINDOW_ID", "WEZTERM_PANE", "KONSOLE_VERSION",
    "TERM_PROGRAM",
)  # fmt: skip
"""Set by terminals that break long lines anew when they get narrower; others cut them."""
_PER_SECOND = 4.0


class LivePart(Live):
    """What changes in place. It is drawn anew from `drawn` and leaves nothing of itself behind.

    Where a terminal got narrower and broke the lines of the last drawing anew, they take more rows than were drawn.
    """

    def __init__(self, console: Console, drawn: Callable[[], RenderableType], environ: Mapping[str, str]) -> None:
        self._widths: tuple[int, ...] = ()
        super().__init__(
            console=console,
            get_renderable=lambda: Measured(drawn(), self._measured),
            refresh_per_second=_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=sys.stderr.isatty(),
        )
        self._reflows = any(environ.get(name) for name in _REFLOW)

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Erase the rows that the last drawing has more by now, then do as rich does."""
        more = rows_more(self._widths, self.console.width) if self._reflows else 0
        up = ((ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2)) * more
        before = [Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2), *up)] if more else []
        return [*before, *super().process_renderables(renderables)]

    def _measured(self, widths: tuple[int, ...]) -> None:
        self._widths = widths


@dataclass(frozen=True)
class Measured:
    """Something that is drawn, and who is told how wide its lines came out."""

    inner: RenderableType
    tell: Callable[[tuple[int, ...]], None]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it."""
        rows = console.render_lines(self.inner, options, pad=False)
        self.tell(tuple(sum(segment.cell_length for segment in row) for row in rows))
        for row in rows:
            yield from row
            yield Segment.line()


def rows_more(widths: Sequence[int], width: int) -> int:
    """Return how many rows more than lines there are, when lines of these widths are broken at `width`."""
    return sum(max(0, -(-each // max(1, width)) - 1) for each in widths)
