"""Find the smallest edits of the settings under which the condition holds or is not asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from relight.diagnosis.source.read import Reading
from relight.diagnosis.source.values import Values
from relight.words.parser import HostParser
from relight.words.settings import Repair


@dataclass(frozen=True)
class Wishes:
    """What the operator wants kept. Names carry no dashes and are the parser's or the playbook's own.

    `keep` maps the flags (and variables) of levers to what they are worth; `firsts` are those whose change loses the
    lever; protected names are never touched; `others` forbids names nobody gave; `alters` change answers.
    """

    keep: Mapping[str, float] = field(default_factory=dict)
    firsts: frozenset[str] = frozenset()
    protected: frozenset[str] = frozenset()
    protected_env: frozenset[str] = frozenset()
    others: bool = False
    alters: frozenset[str] = frozenset()


def repairs(
    reading: Reading, values: Values, parser: HostParser | None, wishes: Wishes | None = None, *, limit: int = 12
) -> tuple[Repair, ...]:
    """Return every minimal repair, best first, at most `limit`. None of them is confirmed."""
    return ()
