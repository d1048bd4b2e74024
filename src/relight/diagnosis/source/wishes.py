"""What the operator wants kept, and what an edit of the settings costs him."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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

    def cost(self, spelled: tuple[str, ...], *, given: bool) -> float:
        """Return what it costs to touch a flag or variable known by these names; adding one nobody gave is cheapest."""
        worth = max((self.keep.get(name, 0.0) for name in spelled), default=0.0)
        lost = worth if any(name in self.firsts for name in spelled) else worth / 4
        altered = 5.0 if any(name in self.alters for name in spelled) else 0.0
        return (0.5 if given else 0.25) + lost + altered
