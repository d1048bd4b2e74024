"""Changes that made no difference to a failure: what they are worth, and what they need not be made for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, TypeAlias

from relight.planning.bounds import indifferent
from relight.planning.ground import Node
from relight.planning.history import WEIGHTS, History
from relight.planning.lessons import Lesson
from relight.planning.names import View
from relight.planning.passing import signature_of
from relight.planning.search import Found
from relight.words.attempt import Attempt
from relight.words.settings import Repair

Name: TypeAlias = tuple[str, bool]
NEAR = 0.02
"""Two lacks of memory that differ by less are the same lack."""
LEAST_LEVERS = 4
"""Fewer levers have so few combinations that all of them are tried."""


@dataclass(frozen=True)
class Idle:
    """What the failures of a run show of changes that did not help.

    Two launches that end in the same failure differ only in what does not matter to it. For each failure that is a
    value of each name that does not matter; settings that differ from a failed launch in nothing else fail alike.
    """

    history: History
    lessons: Sequence[Lesson] = ()

    @cached_property
    def values(self) -> dict[str, dict[Name, set[Any]]]:
        """Return, by failure, the values that were changed into each other and made no difference."""
        found: dict[str, dict[Name, set[Any]]] = {}
        for mark, group in self._groups.items():
            for one, other in combinations(group, 2):
                if _alike(one, other):
                    own = found.setdefault(mark, {})
                    for name, values in self._differing(one, other):
                        own.setdefault(name, set()).update(values)
        for own in found.values():
            self._with_variants(own)
        return found

    def _with_variants(self, own: dict[Name, set[Any]]) -> None:
        """Add, of a lever whose being off made no difference, all its variants: none of them takes away more."""
        for lever in self._idle_levers(own):
            for view in (self.history.ground.view(node) for node in self._moved(lever)):
                for name, values in _differing(view, self._start):
                    own.setdefault(name, set()).update(values)

    def _moved(self, lever: int) -> Iterator[Node]:
        ground = self.history.ground
        yield from (ground.start.at(lever, p) for p in ground.positions[lever]) if ground.start else ()

    @cached_property
    def _start(self) -> View:
        ground = self.history.ground
        return ground.view(ground.start) if ground.start else View({}, {})

    def _idle_levers(self, own: Mapping[Name, set[Any]]) -> list[int]:
        """Return the levers that made no difference when they were off."""
        return [i for i in self._leavable if _within(self._off(i), self._start, own)]

    @cached_property
    def _leavable(self) -> list[int]:
        ground = self.history.ground
        return [i for i, p in enumerate(ground.positions) if None in p and p[0] is not None] if ground.start else []

    def _off(self, *levers: int) -> View:
        return self.history.ground.view(self._without_levers(levers))

    def _without_levers(self, levers: Iterable[int]) -> Node:
        node = self.history.ground.start or Node(())
        for lever in levers:
            node = node.at(lever, None)
        return node

    @property
    def probes(self) -> tuple[Node, ...]:
        """Return settings with many levers off, once a failure came again with each of them off alone.

        The cheaper half of them first: where two have to go together, no more is given up than that. Then all: one
        launch says whether any lever has to do with it. Then all with each repair that did not help alone.
        """
        levers, ground = self._leavable, self.history.ground
        blind = {m for m, own in self.values.items() if set(levers) <= set(self._idle_levers(own))}
        if len(levers) < LEAST_LEVERS or not blind:
            return ()
        if blind & self.proved:
            return tuple(self._with_repairs(blind & self.proved))
        if any(self._all_off(a) for mark in blind for a in self._groups[mark]):
            return (self._without_levers(levers),)
        cheap = sorted(levers, key=lambda i: ground.loss(i, None))[: (len(levers) + 1) // 2]
        return tuple(self._without_levers(some) for some in (cheap, levers))

    def _all_off(self, attempt: Attempt) -> bool:
        """Say whether an attempt had every lever off that may be off."""
        return all(attempt.choice.get(self.history.ground.levers[i].name) is None for i in self._leavable)

    def _with_repairs(self, marks: Iterable[str]) -> Iterator[Node]:
        """Yield, for each repair that made no difference, all levers off it is not about, then all, and the repair."""
        tried = self.history.tried
        made = [r for mark in marks for a in self._groups[mark] if len(a.changes) == 1 for r in a.changes]
        for repair in made:
            others = [i for i in self._leavable if i not in self._about_lever(repair)]
            nodes = (self._without_levers(some).plus(repair) for some in (others, self._leavable))
            yield from (node for node in nodes if self.history.ground.view(node).key not in tried)

    def _about_lever(self, repair: Repair) -> set[int]:
        """Return the levers whose flags or variables a repair changes."""
        ground = self.history.ground
        flags = ((ground.names.canonical(n), False) for n in repair.names)
        names = (*flags, *((n, True) for n in repair.variables))
        return {i for name in names for i in ground.mentioned.get(name, ())}

    @cached_property
    def proved(self) -> frozenset[str]:
        """Return the failures that came again with every lever off: no lever has to do with them."""
        if len(self._leavable) < LEAST_LEVERS:
            return frozenset()
        key = self._off(*self._leavable).key
        return frozenset(m for m, group in self._groups.items() if any(self.history.key(a) == key for a in group))

    @cached_property
    def _groups(self) -> dict[str, list[Attempt]]:
        """Return the launches by what they failed of; a condition that was read says more than what came again."""
        groups: dict[str, list[Attempt]] = {}
        for attempt in self.history.failures:
            cause = attempt.diagnosis.cause if attempt.diagnosis else None
            read = attempt.diagnosis is not None and attempt.diagnosis.constraint is not None
            if attempt.launched and cause is not None and not read and (mark := self._mark(attempt)):
                groups.setdefault(mark, []).append(attempt)
        return {mark: group for mark, group in groups.items() if len(group) > 1}

    def _mark(self, attempt: Attempt) -> str:
        """Return what names a failure: its signature where that is a specific one, however its lines differed."""
        signature, cause = signature_of(attempt, self.history.ground), attempt.diagnosis and attempt.diagnosis.cause
        if signature is None or signature.generic or not cause:
            return cause.fingerprint if cause else ""
        return f"{signature.id} in {cause.phase}"

    def _about(self, lesson: Lesson, marks: set[str]) -> bool:
        """Say whether a lesson was taught by some of these failures alone."""
        taught = [a for a in self.history.failures if a.n in lesson.attempts]
        return bool(taught) and all(self._mark(a) in marks for a in taught)

    def _differing(self, one: Attempt, other: Attempt) -> Iterator[tuple[Name, set[Any]]]:
        yield from _differing(self.history.view(one), self.history.view(other))

    def again(self, view: View) -> Attempt | None:
        """Return the failed launch that settings differ from only in what did not matter to it."""
        return next((a for mark in self.values for a in self._repeated(view, mark, self.values[mark])), None)

    def surely_again(self, view: View) -> Attempt | None:
        """Return a failed launch than which settings only have more levers on, of failures no lever has to do with.

        A lever's later variants are ways of their own, and so are repairs: together with something else they may help
        where they did not alone.
        """
        found = (a for mark in self.proved for a in self._groups[mark])
        return next((a for a in found if self._asks_more(view, self.history.view(a))), None)

    def _asks_more(self, view: View, than: View) -> bool:
        """Say whether settings differ only in levers that are as asked in them and off in the others."""
        off = self._off(*self._leavable)
        names = [name for name, _ in _differing(view, than)]
        return all(_of(view, n) == _of(self._start, n) and _of(than, n) == _of(off, n) for n in names)

    def _repeated(self, view: View, mark: str, own: Mapping[Name, set[Any]]) -> Iterator[Attempt]:
        return (a for a in self._groups[mark] if _within(view, self.history.view(a), own))

    def without(self, found: Found) -> Found:
        """Return what was found without the changes that only failures speak for to which they made no difference."""
        for node in _simpler(found.node, self.history):
            slim = self._taken(node, found)
            if slim is not None:
                return self.without(slim)
        return found

    def _taken(self, node: Node, found: Found) -> Found | None:
        """Return a simpler node where nothing but failures that the difference does not matter to speaks against it."""
        history, ground = self.history, self.history.ground
        settings = ground.settings(node)
        view = ground.names.view(settings)
        indifferent = self._indifferent(view, found.view)
        if not indifferent or self._known(view) or ground.findings(settings) or history.resolved_as(settings):
            return None
        against = [t for t in self.lessons if t.holds(view, ground)]
        if any(t.hard or t.fails or not self._about(t, indifferent) for t in against):
            return None
        return Found(node, settings, view)

    def _known(self, view: View) -> bool:
        answer = self.history.answers.get(view.key)
        tried = view.key in self.history.tried or view.key in self.history.rejected
        return tried or (answer is not None and answer.refused) or self.again(view) is not None

    def _indifferent(self, view: View, other: View) -> set[str]:
        """Return the failures to which the difference of two settings does not matter."""
        marks = self.values.items() if view.key != other.key else ()
        return {mark for mark, own in marks if _within(view, other, own, loose=True)}


def _of(view: View, name: Name) -> Any:
    return (view.env if name[1] else view.flags).get(name[0])


def _idle(values: set[Any], seen: set[Any], *, loose: bool) -> bool:
    """Say whether a change is among those that made no difference; with `loose`, any number where two numbers did."""
    numbers = loose and sum(map(_is_number, seen)) > 1
    return all(v in seen or (numbers and _is_number(v)) for v in values) or indifferent(values, seen)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _within(view: View, other: View, own: Mapping[Name, set[Any]], *, loose: bool = False) -> bool:
    """Say whether two settings differ only in values that are known to make no difference."""
    return all(_idle(values, own.get(name, set()), loose=loose) for name, values in _differing(view, other))


def _differing(view: View, other: View) -> Iterator[tuple[Name, set[Any]]]:
    for env, (a, b) in ((False, (view.flags, other.flags)), (True, (view.env, other.env))):
        for name in sorted({*a, *b}):
            if a.get(name) != b.get(name):
                yield (name, env), {a.get(name), b.get(name)}


def _alike(one: Attempt, other: Attempt) -> bool:
    """Say whether two launches failed alike: of memory only if they lacked as much of it."""
    lacks = [_lack(a) for a in (one, other)]
    causes = [a.diagnosis.cause for a in (one, other) if a.diagnosis and a.diagnosis.cause]
    if all(cause.family != "oom" for cause in causes):
        return True
    first, second = lacks
    return first is not None and second is not None and abs(first - second) <= NEAR * max(abs(first), abs(second))


def _lack(attempt: Attempt) -> float | None:
    cause = attempt.diagnosis.cause if attempt.diagnosis else None
    facts = cause.facts if cause and cause.kind != WEIGHTS else {}
    if isinstance(facts.get("spill_gib"), int | float):
        return float(facts["spill_gib"])
    asked, free = facts.get("asked_gib"), facts.get("free_gib")
    return float(asked) - float(free) if isinstance(asked, int | float) and isinstance(free, int | float) else None


def _simpler(node: Node, history: History) -> Iterator[Node]:
    """Yield a node with one repair less, and with one lever where it was asked to be."""
    for repair in node.repairs:
        yield Node(node.choice, tuple(r for r in node.repairs if r is not repair))
    start = history.ground.start
    for lever, position in enumerate(node.choice):
        if start is not None and position != start.choice[lever]:
            yield node.at(lever, start.choice[lever])
