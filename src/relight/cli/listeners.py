"""Who hears of an event as it happens: the screen, the events file, the log."""

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Self

from relight.attempts.order import RunOrder
from relight.cli.lines import line
from relight.cli.options import Common
from relight.cli.output import say
from relight.journal.fold import public
from relight.journal.journal import Journal
from relight.journal.redact import redact_json
from relight.words.errors import UsageError
from relight.words.events import Event


class Listeners:
    """Everything that is told of each event; open while the run runs."""

    def __init__(self, shared: Common, events: str | None, journal: Journal, order: RunOrder) -> None:
        self._shared = shared
        self._events = events
        self._journal = journal
        self._order = order
        self._stack = ExitStack()
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        self._file = self._opened() if self._events else None
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _opened(self) -> IO[str]:
        if self._events == "-":
            return sys.stdout
        path = Path(str(self._events)).expanduser()
        try:
            return self._stack.enter_context(path.open("a", encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"cannot be written: {error.strerror}", place=f"--events {path}") from error

    def emit(self, event: Event) -> None:
        """Tell everyone of `event`."""
        import structlog  # noqa: PLC0415  configured by the command

        data = redact_json(public(event))
        structlog.get_logger().info(event.event, **{k: v for k, v in data.items() if k not in {"event", "at"}})
        if self._file:
            self._file.write(json.dumps(data, ensure_ascii=True) + "\n")
            self._file.flush()
        text = None if self._shared.quiet else line(event)
        if text:
            say(text, format=self._shared.format, err=self._events == "-")
