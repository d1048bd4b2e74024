"""Failures that name nothing: which suspects to leave away together, so that few launches find what is to blame.

A launch that fails again clears what it left away; one that is healthy ends the run with all of that given up. So a
set is weighed by what it gives up and by how many launches it is likely to take from here on.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from heapq import nlargest
from itertools import combinations, islice, product
from math import inf, isfinite, prod
from operator import and_
from statistics import mean, median
from typing import TypeAlias

from relight.planning.ground import Node
from relight.planning.history import History, reached
from relight.planning.lessons import Lesson
from relight.planning.reference import known_to_work
from relight.planning.suspects import Cure, Suspect, names_nothing, suspects_of
from relight.words.attempt import Attempt

LAUNCH = 0.22
"""What a launch may cost, in levers of middling worth; of few levers, in the cheapest: none is given up for nothing."""
LAUNCH_TOGETHER = 0.25
"""The same, in levers of middling worth, once no suspect can be to blame alone: then there are many ways."""
LEAST_WORTH = 0.25
"""Of the middling worth: what is worth less than this says nothing about what a launch is worth."""
PAIR = 0.2
"""How much less likely two are to blame, each by itself, than one."""
TOGETHER = 0.5
"""How much less likely two are to blame that fail only together than one."""
NOTHING = 0.1
"""How likely, beside all suspects, none of them is to blame."""
BESIDE = 4.0
"""How much likelier it is that another failure in the same phase comes after one than that it hides it."""
MOST_GUILTS = 300
SEEDS = 3
FEW = 6
"""Fewer suspects are tried one by one."""
FEW_OF_THE_SICK = 3
MANY = 7
"""Going through fewer one by one takes few launches, so that one is worth less. After so many launches in vain what the
playbook sets beside the levers is suspected too."""
Guilt: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A failure that names nothing: who may be guilty of it by all that was launched, and how likely."""

    guilts: tuple[tuple[Guilt, float], ...]
    total: float

    def cured(self, made: int) -> float:
        """Return how likely a set of cures ends it."""
        return sum(w for guilt, w in self.guilts if _ended(guilt, made)) / self.total


@dataclass(frozen=True)
class Isolation:
    """The failures of a run that name nothing, and the suspects; with `base` also what is set beside the levers."""

    history: History
    base: bool = False
    _weights: dict[int, float] = field(default_factory=dict, compare=False)

    @cached_property
    def _groups(self) -> dict[str, list[Attempt]]:
        groups: dict[str, list[Attempt]] = {}
        for attempt in self.history.failures:
            if names_nothing(attempt, self.history.ground):
                groups.setdefault(_mark(attempt), []).append(attempt)
        return groups

    @cached_property
    def _all(self) -> tuple[Suspect, ...]:
        return suspects_of(self.history, [a for group in self._groups.values() for a in group], base=self.base)

    @cached_property
    def _suspects(self) -> tuple[Suspect, ...]:
        return tuple(s for s in self._all if not s.alters)

    @cached_property
    def _innocent(self) -> float:
        """Return how likely none of the suspects is to blame."""
        return sum(s.odds if s.alters else NOTHING * s.odds for s in self._all)

    @cached_property
    def _cures(self) -> tuple[Cure, ...]:
        return tuple(c for s in self._suspects for c in s.cures)

    @cached_property
    def _cases(self) -> list[Case]:
        """Return the failures some suspect may be to blame for."""
        return [case for case in self._every if case.guilts]

    @cached_property
    def _every(self) -> list[Case]:
        return [self._case(group) for group in self._groups.values()]

    @property
    def failures(self) -> int:
        """Return how many launches failed that way."""
        return sum(map(len, self._groups.values()))

    @property
    def explains(self) -> bool:
        """Say whether the suspects may be to blame for every failure."""
        return all(case.guilts for case in self._every)

    @cached_property
    def _guilts(self) -> list[tuple[Guilt, float]]:
        return list(_guilts(self._suspects))

    def _case(self, group: Sequence[Attempt]) -> Case:
        bad = [self._made(a) for a in group]
        past, beside = ([self._made(a) for a in self._past(group, beside=also)] for also in (False, True))
        fits = [(g, w if _fits(g, (), beside) else w / BESIDE) for g, w in self._guilts if _fits(g, bad, past)]
        likely = tuple(nlargest(MOST_GUILTS, fits or self._cure_to_blame(bad), key=lambda x: x[1]))
        return Case(likely, sum(w for _, w in likely) + self._innocent)

    def _cure_to_blame(self, bad: Sequence[int]) -> Iterator[tuple[Guilt, float]]:
        """Yield guilts for a failure that only came with cures: one of those that were always made brought it about."""
        always = reduce(and_, bad)
        for suspect in self._suspects:
            own = sum(c.bit for c in suspect.cures)
            if always & own:
                yield (-(always & own),), suspect.odds

    def _past(self, group: Sequence[Attempt], *, beside: bool) -> Iterator[Attempt]:
        """Yield the attempts that got past a failure; with `beside` also those that failed otherwise in its phase."""
        far, first = max(reached(a, self.history) for a in group), group[0].n
        for attempt in self.history.failures if far >= 0 else ():
            there = reached(attempt, self.history)
            other = beside and there == far and attempt.n > first and attempt not in group
            if attempt.launched and (there > far or other):
                yield attempt

    def _made(self, attempt: Attempt) -> int:
        view = self.history.view(attempt)
        return sum(c.bit for c in self._cures if c.made(attempt, view, self.history.ground))

    def taught(self, lesson: Lesson) -> bool:
        """Say whether nothing but these failures taught a lesson: it blames by a guess."""
        own = {a.n for group in self._groups.values() for a in group}
        return not lesson.hard and bool(lesson.attempts) and own.issuperset(lesson.attempts)

    @property
    def sets(self) -> Iterator[Node]:
        """Yield the settings to launch next, what is worth most first; none where no suspect is left."""
        start = self.history.ground.start
        if start is None or self.too_few or not self._cases:
            return
        weighed = {made: self._weighed(made) for made in map(self._improved, self._seeds())}
        for made in sorted((m for m in weighed if isfinite(weighed[m])), key=lambda m: weighed[m]):
            yield self._node(start, made)

    def _node(self, start: Node, made: int) -> Node:
        for cure in self._cures:
            start = cure.on(start) if made & cure.bit else start
        return start

    def _seeds(self) -> Iterator[int]:
        """Yield, for every way the likeliest guilts of all failures go together, the least that ends them."""
        likely = [nlargest(SEEDS, case.guilts, key=lambda x: x[1]) for case in self._cases]
        for together in islice(product(*likely), SEEDS * SEEDS):
            yield self._least([bits for guilt, _ in together for bits in guilt])
        yield self._least([s.cures[-1].bit for s in self._suspects])

    def _least(self, guilt: Iterable[int]) -> int:
        made = 0
        for bits in guilt:
            if bits > 0 and not made & bits:
                ways = [c for c in self._cures if c.bit & bits]
                made = self._with(made, min(ways, key=lambda c: c.loss))
        return made

    def _with(self, made: int, cure: Cure) -> int:
        """Return a set with one cure more, in place of the suspect's others."""
        return made & ~self._rivals[cure.bit] | cure.bit

    @cached_property
    def _rivals(self) -> dict[int, int]:
        return {c.bit: sum(other.bit for other in s.cures) for s in self._suspects for c in s.cures}

    def _improved(self, made: int) -> int:
        """Return the best set that single changes lead to."""
        while True:
            near = [self._with(made, c) if not made & c.bit else made & ~c.bit for c in self._cures]
            best = min(near, key=self._weighed)
            if self._weighed(best) >= self._weighed(made):
                return made
            made = best

    def _weighed(self, made: int) -> float:
        """Return what a set gives up and what the launches cost that it is likely to take."""
        if made not in self._weights:
            likely = prod(case.cured(made) for case in self._cases)
            lost = sum(c.loss for c in self._cures if made & c.bit)
            self._weights[made] = self._price / likely + lost if likely else inf
        return self._weights[made]

    @property
    def altering_left(self) -> bool:
        """Say whether a repair that was proposed and alters answers was not tried yet."""
        left = [s for s in self._all if s.alters]
        return any(not self._was_made(cure) for s in left for cure in s.cures)

    def _was_made(self, cure: Cure) -> bool:
        tried = (a for group in self._groups.values() for a in group)
        return any(cure.made(a, self.history.view(a), self.history.ground) for a in tried)

    @property
    def too_few(self) -> bool:
        """Say whether the suspects are tried one by one: fewer where a server was up, since much is proposed then."""
        if not self._groups:
            return True
        few = FEW_OF_THE_SICK if self.history.failures[-1].outcome == "sick" else FEW
        return len(self._suspects) < few

    @cached_property
    def _price(self) -> float:
        alone = any(len(guilt) == 1 for case in self._cases for guilt, _ in case.guilts)
        worth = [lever.keep for lever in self.history.ground.levers] or [1.0]
        if not alone:
            return LAUNCH_TOGETHER * mean(worth)
        few = min(1.0, len(self._suspects) / MANY) ** 4
        cheap = max(min(worth), LEAST_WORTH * median(worth))
        return few * LAUNCH * (mean(worth) if len(worth) >= MANY else cheap)


def isolation_of(history: History) -> Isolation:
    """Return the isolation of a run: of the levers first, of all that is set once they hardly can be all of it.

    Where settings are known to work, the way back to those is shorter. What was proposed and alters answers comes
    first.
    """
    levers = Isolation(history)
    enough = levers.failures < MANY and levers.explains
    if enough or levers.too_few or levers.altering_left or known_to_work(history) is not None:
        return levers
    return Isolation(history, base=True)


def _guilts(suspects: Sequence[Suspect]) -> Iterator[tuple[Guilt, float]]:
    """Yield who may be guilty: each suspect, each two of them, each by itself or together, and all."""
    total = sum(s.odds for s in suspects)
    for suspect in suspects:
        yield from (((bits,), odds) for bits, odds in suspect.guilts)
    for one, other in combinations(suspects, 2):
        for (a, p), (b, q) in product(one.guilts, other.guilts):
            yield (a, b), PAIR * p * q / total
            yield (a | b,), TOGETHER * p * q / total
    yield tuple(s.cures[-1].bit for s in suspects), PAIR * PAIR


def _fits(guilt: Guilt, bad: Iterable[int], good: Iterable[int]) -> bool:
    """Say whether a guilt explains every failure, and that others got past it."""
    return not any(_ended(guilt, made) for made in bad) and all(_ended(guilt, made) for made in good)


def _ended(guilt: Guilt, made: int) -> bool:
    """Say whether cures end a failure: one of each positive set of bits has to be made, and none of a negative one."""
    return all(made & bits if bits > 0 else not made & -bits for bits in guilt)


def _mark(attempt: Attempt) -> str:
    """Return what failures that are one share: of those that show late the kind alone."""
    cause = attempt.diagnosis.cause if attempt.diagnosis else None
    if cause is None:
        return str(attempt.outcome)
    return cause.fingerprint if attempt.outcome == "crashed" else f"{attempt.outcome} {cause.kind} {cause.phase}"
