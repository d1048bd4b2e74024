"""What reading a failure gives: the condition, its guards, and what else the function checks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from relight.diagnosis.source.terms import Term

Kind: TypeAlias = Literal["assert", "raise", "type", "unread"]


@dataclass(frozen=True)
class Guard:
    """A condition that held on the way to the failing line; `words` is its source.

    `passed` says that it is another check, which the code went past.
    """

    term: Term
    line: int
    words: str
    passed: bool = False


@dataclass(frozen=True)
class Reading:
    """What the source says about a failure.

    `kind`: "assert", "raise", "type" (an operand of the wrong type), or "unread" with the reason in `why`.
    `condition` had to hold and did not; every one of `guards` held. `checks` are other conditions of the same function
    that must hold, `related` comparisons in it that say what values go together. `facts` are values the message gives
    away, by field or by the source of the expression, `told` the same by the part of the condition; `wants` are files
    that would tell more. `whole` says that the way to the check was read from where the settings are made, and that no
    code of its files writes what it reads.
    """

    file: str
    line: int
    kind: Kind = "unread"
    why: str = ""
    function: str = ""
    condition: Term | None = None
    words: str = ""
    guards: tuple[Guard, ...] = ()
    checks: tuple[Term, ...] = ()
    related: tuple[Term, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    told: tuple[tuple[Term, Any], ...] = ()
    message: str = ""
    excerpt: tuple[tuple[int, str], ...] = ()
    wants: tuple[str, ...] = ()
    whole: bool = False

    @property
    def readable(self) -> bool:
        """Say whether a condition was found."""
        return self.condition is not None
