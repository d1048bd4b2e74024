"""Who hears of an event as it happens: the screen, the events file, the log, who is notified."""

import json
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import IO, Self

from rich.console import Console

from relight.attempts.order import RunOrder
from relight.cli.notify import Send, tell
from relight.cli.options import Common
from relight.cli.screen import Screen
from relight.cli.screen_state import View
from relight.journal.fold import public
from relight.journal.journal import Journal
from relight.journal.redact import redact_json
from relight.journal.runs import runs
from relight.words.attempt import Phase, Record
from relight.words.errors import UsageError
from relight.words.events import Event

_ANOTHER = "name another file"


class Listeners:
    """Everything that is told of each event; open while the run runs."""

    def __init__(
        self, shared: Common, events: str | None, journal: Journal, order: RunOrder, *, send: Send | None = None
    ) -> None:
        self._shared = shared
        self._events = events
        self._journal = journal
        self._order = order
        self._send = send
        self._stack = ExitStack()
        self._file: IO[str] | None = None
        self._telling = Lock()
        self._screen: Screen | None = None

    def __enter__(self) -> Self:
        self._file = self._opened() if self._events else None
        self._screen = self._stack.enter_context(self._made())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _made(self) -> Screen:
        order, record = self._order, self._journal.record
        budget = order.playbook.budget
        others = runs(self._journal.folder.parent.parent)
        view = View(
            host=" and ".join(record.hosts),
            playbook=record.playbook,
            launches=order.max_attempts or budget.attempts,
            launched=sum(a.launched for a in record.attempts),
            deadline=order.deadline or budget.deadline,
            used=used(record),
            keep=order.keep,
            expected=tuple(expected(record, others).items()),
        )
        console = Console(stderr=self._shared.json or self._events == "-")
        # With -v the log goes to stderr, as it comes.
        still = bool(self._shared.verbose) and sys.stderr.isatty()
        return Screen(console, view, quiet=self._shared.quiet, still=still)

    def _opened(self) -> IO[str]:
        if self._events == "-":
            return sys.stdout
        path = Path(str(self._events)).expanduser()
        try:
            return self._stack.enter_context(path.open("a", encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"cannot be written: {error.strerror}", place=f"--events {path}", next=_ANOTHER) from error

    def emit(self, event: Event) -> None:
        """Tell everyone of `event`."""
        with self._telling:
            self._tell(event)

    def _tell(self, event: Event) -> None:
        import structlog  # noqa: PLC0415  configured by the command

        data = redact_json(public(event))
        structlog.get_logger().info(event.event, **{k: v for k, v in data.items() if k not in {"event", "at"}})
        if self._file:
            self._file.write(json.dumps(data, ensure_ascii=True) + "\n")
            self._file.flush()
        if self._screen:
            self._screen.show(event)
        if self._send:
            tell(event, lambda: self._journal.record, self._send)


def expected(record: Record, others: Iterable[Record]) -> dict[str, float]:
    """Return the seconds from each phase to the next in the last healthy start of the same playbook on the same host.

    Fetching the model is left out: it is done once.
    """
    for other in others:
        if (other.playbook, other.hosts) == (record.playbook, record.hosts):
            for attempt in reversed(other.attempts):
                if attempt.outcome == "healthy" and attempt.phases:
                    return _lengths(attempt.phases)
    return {}


def _lengths(phases: tuple[Phase, ...]) -> dict[str, float]:
    """Return how long after its beginning each phase was followed by another; the last by its own end.

    A second model goes through phases again, so that the ends of phases overlap; their beginnings do not.
    """
    ordered = sorted(phases, key=lambda phase: _epoch(phase.started))
    ends = [*(_epoch(phase.started) for phase in ordered[1:]), max(_epoch(p.ended or p.started) for p in ordered)]
    lengths = {phase.name: end - _epoch(phase.started) for phase, end in zip(ordered, ends, strict=True)}
    return {name: length for name, length in lengths.items() if name != "download"}


def used(record: Record) -> float:
    """Return about how many seconds of its budget a run that goes on has used."""
    spans = (_epoch(a.ended) - _epoch(a.started) for a in record.attempts if a.ended and a.started)
    return max(0.0, sum(spans) - sum(incident.healthy for incident in record.incidents))


def _epoch(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()
