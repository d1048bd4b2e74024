"""What happens during a run, one value per event."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

EventName: TypeAlias = Literal[
    "run_started", "probed", "asked", "launched", "phase", "marked", "crashed", "hung", "judged", "diagnosed",
    "changed", "stopped", "healthy", "run_ended",
]  # fmt: skip


@dataclass(frozen=True)
class Event:
    """One event; `at` is RFC 3339 UTC, `attempt` None for what concerns the whole run."""

    at: str
    run: str
    attempt: int | None
    event: EventName
    data: Mapping[str, Any] = field(default_factory=dict)
