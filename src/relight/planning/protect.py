"""What planning may not touch (CONTRACT.md section 3)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from relight.planning.names import Names
from relight.words.knowledge import FlagFact, Knowledge
from relight.words.playbook import Playbook
from relight.words.settings import Change, FlagValue, Settings


@dataclass(frozen=True)
class Guard:
    """The protected names of a run. `always` holds patterns of names; flags are compared by first long name.

    `cards` is how many there are, `share` the GiB of host memory for each, None where that is not known.
    """

    names: Names
    always: tuple[str, ...] = ()
    allowed: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    env: frozenset[str] = frozenset()
    others: bool = False
    given: frozenset[str] = frozenset()
    given_env: frozenset[str] = frozenset()
    facts: Mapping[str, FlagFact] = field(default_factory=dict)
    cards: int | None = None
    share: float | None = None

    def protected(self, name: str) -> bool:
        """Say whether the flag may never be changed."""
        first = self.names.canonical(name)
        if first in self.flags:
            return True
        return first not in self.allowed and any(fnmatchcase(first, p) or fnmatchcase(name, p) for p in self.always)

    def refusal(self, change: Change) -> str:
        """Return why `change` may not be made, "" if it may."""
        checks = (
            self._protected(change),
            self._foreign(change),
            self._unknown(change),
            self._out_of_bounds(change),
            self._too_many(change),
            self._telling(change),
        )
        return next((why for why in checks if why), "")

    def _protected(self, change: Change) -> str:
        flags = [f"--{n}" for n in sorted(change.names) if self.protected(n)]
        named = [*flags, *sorted(change.variables & self.env)]
        return f"protected: {named[0]}" if named else ""

    def _telling(self, change: Change) -> str:
        """Refuse what only makes the engine tell more: a launch with it cures nothing, and it would stay."""
        facts = [self.fact(name) for name in (*change.names, *change.variables)]
        telling = bool(change.set_env) and all(fact is not None and fact.diagnostic for fact in facts)
        return f"{next(iter(change.set_env))} makes the engine tell more, it mends nothing" if telling else ""

    def _foreign(self, change: Change) -> str:
        if not self.others:
            return ""
        flags = [f"--{n}" for n in change.set if self.names.canonical(n) not in self.given]
        named = [*flags, *(n for n in change.set_env if n not in self.given_env)]
        return f"protected: {named[0]} was not given, and [protect] others = true" if named else ""

    def _unknown(self, change: Change) -> str:
        missing = [n for n in change.set if not self.names.has(n)]
        return f"this engine has no --{missing[0]}" if missing else ""

    def _out_of_bounds(self, change: Change) -> str:
        bad = [n for n, v in change.set.items() if self.beyond(n, v)]
        return f"--{bad[0]} would leave its bounds" if bad else ""

    def _too_many(self, change: Change) -> str:
        counts = {n: self.names.value(n, v) for n, v in change.set.items() if (f := self.fact(n)) and f.cards}
        bad = [n for n, v in counts.items() if self.cards and isinstance(v, int) and v > self.cards]
        return f"--{bad[0]} would ask for more than the {self.cards} cards" if bad else self._too_much(change)

    def _too_much(self, change: Change) -> str:
        sizes = {n: self.names.value(n, v) for n, v in change.set.items() if (f := self.fact(n)) and f.host_memory}
        bad = [n for n, v in sizes.items() if self.share and isinstance(v, int | float) and v > self.share]
        return f"--{bad[0]} would ask for more host memory than the {self.share:g} GiB per card" if bad else ""

    def beyond(self, name: str, value: FlagValue) -> bool:
        """Say whether a number leaves the bounds that are known for the flag."""
        fact = self.fact(name)
        if fact is None or fact.bounds is None or isinstance(value, bool):
            return False
        number = self.names.value(name, value)
        return isinstance(number, int | float) and not fact.bounds[0] <= number <= fact.bounds[1]

    def fact(self, name: str) -> FlagFact | None:
        """Return what is known about a flag or variable."""
        return self.facts.get(self.names.canonical(name))

    def unsuspected(self, name: str) -> bool:
        """Say whether only failures that speak of the flag are a reason to change it."""
        fact = self.fact(name)
        return fact is not None and fact.unsuspected

    def alters_answers(self, change: Change) -> bool:
        """Say whether the change can alter what the server answers."""
        facts = (self.fact(name) for name in (*change.names, *change.variables))
        return any(fact.alters_answers for fact in facts if fact)


def guard_of(
    playbook: Playbook,
    overrides: Change,
    names: Names,
    knowledge: Knowledge,
    cards: int | None = None,
    share: float | None = None,
) -> Guard:
    """Return the guard of a playbook: what is always protected less [allow], [protect], and the overrides."""
    firsts = names.canonical
    levers = [v for lever in playbook.levers for v in lever.variants]
    spare = playbook.fallback or Settings()
    given = {*playbook.flags, *spare.flags, *overrides.set, *(n for v in levers for n in v.flags)}
    return Guard(
        names,
        always=tuple(f.name for f in knowledge.facts.values() if f.always_protected),
        allowed=frozenset(firsts(n) for n in playbook.allow_flags),
        flags=frozenset(firsts(n) for n in (*playbook.protect_flags, *overrides.names)),
        env=playbook.protect_env | overrides.variables,
        others=playbook.protect_others,
        given=frozenset(firsts(n) for n in given),
        given_env=frozenset({*playbook.env, *spare.env, *overrides.set_env, *(n for v in levers for n in v.env)}),
        facts={firsts(name): fact for name, fact in knowledge.facts.items()},
        cards=cards,
        share=share,
    )
