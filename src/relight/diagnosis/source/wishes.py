"""What the operator wants kept, and what an edit of the settings costs him."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from relight.words.knowledge import FlagFact
from relight.words.parser import HostParser

USUAL = 2.0
"""What changing a flag costs at most where nothing much depends on it; beyond that reading counts what is known."""


@dataclass(frozen=True)
class Wishes:
    """What the operator wants kept. Names carry no dashes and are the parser's or the playbook's own.

    `keep` maps the flags (and variables) of levers to what they are worth; `firsts` are those whose change loses the
    lever; protected names are never touched; `others` forbids names nobody gave; `alters` change answers; `purposes`
    say what the server is for: they are given by people only; `dear` maps what costs more than most to how much more.
    """

    keep: Mapping[str, float] = field(default_factory=dict)
    firsts: frozenset[str] = frozenset()
    protected: frozenset[str] = frozenset()
    protected_env: frozenset[str] = frozenset()
    others: bool = False
    alters: frozenset[str] = frozenset()
    purposes: frozenset[str] = frozenset()
    dear: Mapping[str, float] = field(default_factory=dict)

    def cost(self, spelled: tuple[str, ...], *, given: bool) -> float:
        """Return what it costs to touch a flag or variable known by these names; adding one nobody gave is cheapest."""
        worth = max((self.keep.get(name, 0.0) for name in spelled), default=0.0)
        lost = worth if any(name in self.firsts for name in spelled) else worth / 4
        altered = 5.0 if any(name in self.alters for name in spelled) else 0.0
        dear = max((self.dear.get(name, 0.0) for name in spelled), default=0.0)
        return (0.5 if given else 0.25) + lost + altered + dear


def general_wishes(facts: Mapping[str, FlagFact], parser: HostParser | None, names: Iterable[str] = ()) -> Wishes:
    """Return what every operator wants: what is always protected stays, what alters answers costs much.

    Names of `facts` may be patterns; they are laid over the parser's names and further `names`.
    """
    known = {n for flag in parser or () for n in flag.names} | set(names) | set(facts)
    protected = [f.name for f in facts.values() if f.always_protected]
    purposes = [f.name for f in facts.values() if f.purpose]
    return Wishes(
        protected=frozenset(n for n in known if any(fnmatchcase(n, p) for p in protected)),
        purposes=frozenset(n for n in known if any(fnmatchcase(n, p) for p in purposes)),
        alters=frozenset(f.name for f in facts.values() if f.alters_answers),
        dear={f.name: f.cost - USUAL for f in facts.values() if f.cost > USUAL},
    )
