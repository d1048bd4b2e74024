"""Read the condition that failed out of the engine's source. The text is parsed, never executed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from relight.diagnosis.source.terms import Term


@dataclass(frozen=True)
class Guard:
    """A condition that held on the way to the failing line; `words` is its source."""

    term: Term
    line: int
    words: str


@dataclass(frozen=True)
class Reading:
    """What the source says about a failure.

    `kind`: "assert", "raise", "type" (an operand of the wrong type), or "unread" with the reason in `why`.
    `condition` had to hold and did not; every one of `guards` held. `facts` are values the message gives away, by
    the text of the expression; `related` are other conditions of the same function; `wants` are files
    that would tell more.
    """

    file: str
    line: int
    kind: Literal["assert", "raise", "type", "unread"] = "unread"
    why: str = ""
    function: str = ""
    condition: Term | None = None
    words: str = ""
    guards: tuple[Guard, ...] = ()
    related: tuple[Term, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    excerpt: tuple[tuple[int, str], ...] = ()
    wants: tuple[str, ...] = ()

    @property
    def readable(self) -> bool:
        """Say whether a condition was found."""
        return self.condition is not None


def read_failure(
    text: str,
    file: str,
    line: int,
    *,
    message: str = "",
    type: str = "",  # noqa: A002  the word of a traceback
    others: Mapping[str, str] | None = None,
    callers: Sequence[tuple[str, int]] = (),
) -> Reading:
    """Return the condition that failed at `line` of `text`, with what guards it.

    `type` and `message` are the exception's; `others` maps paths of further source files to their text; `callers`
    are the outer frames (file, line), outermost first. Never raises for what the text holds.
    """
    return Reading(file, line, why="not read")
