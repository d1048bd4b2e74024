"""Which node failed first? Pure: what each node's own log and end show, by one clock."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from relight.logs.lines import Line
from relight.logs.records import record

PEER = "comm.peer_died"
"""The kind of a failure that only says that another process failed."""
SLACK = 1.5
"""Seconds within which two moments are one: logs tell whole seconds."""
FOLLOWS = 10.0
"""Seconds within which a broken connection may show on one node before another one's death is known."""
QUARTER = 900.0
"""Clocks of logs are ahead of UTC by a multiple of these seconds."""


@dataclass(frozen=True)
class Evidence:
    """What one node shows. Times are epoch seconds by our clock, None where nothing tells.

    `kind` is the cause in its own log, "" where there is none; `shown` the moment of that line; `ended` that of its
    end; `stopped`: it lived until relight ended it.
    """

    rank: int
    kind: str = ""
    shown: float | None = None
    ended: float | None = None
    stopped: bool = False

    @property
    def moment(self) -> float:
        """Return when it failed, as far as that is known."""
        known = [time for time in (self.shown, self.ended) if time is not None]
        return known[0] if known else math.inf

    @property
    def weight(self) -> int:
        """Return how little the kind says about a cause of its own: 0 a real cause, 3 a mere silence."""
        family = self.kind.partition(".")[0]
        return {"": 1, "unknown": 1, "process": 1, "comm": 2, "hang": 3}.get(family, 0)


def failed_first(found: Sequence[Evidence]) -> int:
    """Return the rank of the node whose failure the others follow from.

    The first by time; a failure that only says that a peer is gone never is the first where another node failed, and
    a broken connection gives way to a failure of its own kind that shows a moment later.
    """
    failed = [e for e in found if (e.kind and e.weight < 3) or not e.stopped]
    failed = failed or [e for e in found if e.kind] or list(found)
    failed = [e for e in failed if e.kind != PEER] or failed
    earliest = min(failed, key=lambda e: (e.moment, e.weight, e.rank))
    window = FOLLOWS if earliest.weight >= 2 else SLACK
    together = [e for e in failed if e is earliest or e.moment <= earliest.moment + window]
    return min(together, key=lambda e: (e.weight, e.moment, e.rank)).rank


def moment_of(lines: Iterable[Line], number: int | None, started: float | None) -> float | None:
    """Return when line `number` was written, by the clock of the node, as epoch seconds; None where nothing tells.

    A line without a time has that of the one before it. What the log's clock is ahead of UTC shows in its first time
    against `started`, the launch.
    """
    if number is None or started is None:
        return None
    first: float | None = None
    last: float | None = None
    for line in lines:
        if line.number > number:
            break
        time = _time(record(line).time)
        first, last = (time if first is None else first), (last if time is None else time)
    if first is None or last is None:
        return None
    return last - round((first - started) / QUARTER) * QUARTER


def _time(text: str | None) -> float | None:
    if not text:
        return None
    try:
        told = datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        return None
    return (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()


def kind_beside(kind: str, weight: int) -> str:
    """Return what the failure of a node counts as beside the first one's: its own kind, or only that a peer died."""
    return kind if weight == 0 else PEER
