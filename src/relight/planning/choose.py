"""Which settings come next: what is open, then what is only doubted, then what was never tried."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from operator import is_
from typing import TypeAlias

from relight.planning.ground import Node
from relight.planning.history import History
from relight.planning.idle import Idle
from relight.planning.isolate import isolation_of
from relight.planning.lessons import SUSPECTED, Lesson
from relight.planning.names import View
from relight.planning.options import in_short, never_made
from relight.planning.reference import fallback, known_good, suspects_halved
from relight.planning.search import Found, Search
from relight.words.attempt import Attempt

# A nogood that rests on diagnoses counts as proved once the doubt left in it is this small.
DOUBT_LEFT = 0.015
ASK_AT_ONCE = 4
Again: TypeAlias = Callable[[View], Attempt | None]


@dataclass(frozen=True)
class Choice:
    """What to try next, best first; nothing if all is proved to fail. `cut`: the search did not see everything."""

    found: tuple[Found, ...] = ()
    because: str = ""
    cut: bool = False


def choose(history: History, lessons: Sequence[Lesson]) -> Choice:
    """Return the settings to try next."""
    active = [t for t in lessons if t.hard or (t.confidence >= SUSPECTED and not (t.whole and t.attempts))]
    idle = Idle(history, active)
    apart = _isolated(history, active)
    if apart.found:
        return apart
    most = ASK_AT_ONCE if history.ground.world.can_ask else 1
    found, cut = _search(history, active, most, distrusted=True, again=idle.again)
    if not found and idle.values:
        probe = _probe(history, active, idle)
        if probe.found:
            return probe
        # What only repeats a failure with idle changes comes after all else.
        found, cut = _search(history, active, most, distrusted=True, again=idle.surely_again)
    if found:
        slim = tuple({f.view.key: f for f in map(idle.without, found)}.values())
        return Choice((*_proven(slim[0], history, active), *slim))
    choice = _doubted(history, active, idle.surely_again)
    if choice.found:
        return replace(choice, found=tuple(map(idle.without, choice.found)))
    untried = _untried(history, active)
    return untried if untried.found else Choice(cut=cut or choice.cut)


def _isolated(history: History, active: Sequence[Lesson]) -> Choice:
    """Return settings without a set of suspects, where a failure names nothing."""
    isolation = isolation_of(history)
    lessons = [t for t in active if not isolation.taught(t)]
    for node in isolation.sets:
        search = Search(history, lessons)
        search.add([node])
        found = next(search.run(_moved_alike(node, history)), None)
        if found:
            return Choice(
                (found,), f"the failure names nothing; this shows whether the cause is {_left_away(node, history)}"
            )
    return Choice()


def _left_away(node: Node, history: History) -> str:
    """Say which suspects are left away in a node."""
    start = history.ground.start or node
    moved = [lever.name for lever, a, b in zip(history.ground.levers, node.choice, start.choice, strict=True) if a != b]
    named = [*moved, *map(in_short, node.repairs)]
    return f"among {', '.join(named)}" if len(named) > 1 else "".join(named)


def _moved_alike(node: Node, history: History) -> Callable[[Node], bool]:
    """Return whether a node has the levers that `node` moved, and its repairs."""
    start = history.ground.start or node
    moved = [(i, p) for i, p in enumerate(node.choice) if p != start.choice[i]]
    return lambda other: (
        all(other.choice[i] == p for i, p in moved) and set(map(id, node.repairs)) <= set(map(id, other.repairs))
    )


def _probe(history: History, active: Sequence[Lesson], idle: Idle) -> Choice:
    """Return settings with many levers off, where a failure came again with each of them off alone."""
    for node in idle.probes:
        search = Search(history, [t for t in active if t.hard])
        search.add([node])
        found = next(search.run(partial(is_, node)), None)
        if found:
            because = "the same failure with each lever off; with more of them off it shows whether any is to blame"
            return Choice((found,), because)
    return Choice()


def _proven(found: Found, history: History, active: Sequence[Lesson]) -> tuple[Found, ...]:
    """Return the settings an earlier run proved, where this run begins and what is wanted most is known to fail.

    What is known to work is not passed over for a guess; a lever it lacks can be won back after it.
    """
    start = history.ground.start
    if history.launches or start is None or history.ground.settings(start) == found.settings:
        return ()
    for node in known_good(history):
        search = Search(history, active)
        search.add([node])
        return tuple(islice(search.run(partial(is_, node)), 1))
    return ()


def _search(
    history: History,
    lessons: Sequence[Lesson],
    most: int = 1,
    *,
    distrusted: bool = False,
    again: Again = lambda _: None,
) -> tuple[tuple[Found, ...], bool]:
    ground = history.ground
    refused = frozenset(k for k, a in history.answers.items() if a.refused) - history.rejected
    avoid = refused if distrusted and not ground.world.oracle_trusted else frozenset()
    search = Search(history, lessons, avoid, again)
    search.add(_starts(history))
    return tuple(islice(search.run(), most)), search.cut


def _starts(history: History) -> Iterator[Node]:
    start = history.ground.start
    if start is not None:
        yield start
        yield from known_good(history)
        yield from suspects_halved(history)
        yield from fallback(history.ground)


def _doubted(history: History, active: Sequence[Lesson], again: Again) -> Choice:
    """Return the settings whose exclusion is doubted most."""
    soft = sorted((t for t in active if not t.hard and 1 - t.confidence > DOUBT_LEFT), key=lambda t: t.confidence)
    found, cut = _search(history, [t for t in active if t not in soft], again=again)
    if not soft or not found:
        return Choice(cut=cut)
    # The more is set aside the more is found, so the fewest that must be set aside are found by halving.
    none, enough = 0, len(soft)
    while enough - none > 1:
        half = (none + enough) // 2
        more, _ = _search(history, [t for t in active if t not in soft[:half]], again=again)
        none, enough, found = (none, half, more) if more else (half, enough, found)
    return Choice(found, _in_doubt(soft[enough - 1]), cut)


def _in_doubt(lesson: Lesson) -> str:
    nogood = lesson.nogood()
    return f"everything else failed; that {nogood.when} cannot work is {nogood.confidence:.0%} sure ({nogood.because})"


def _untried(history: History, active: Sequence[Lesson]) -> Choice:
    """Return settings that hold variants no launch had yet, as many at once as can be."""
    ground, hard = history.ground, [t for t in active if t.hard]
    left = [(i, p) for i, ps in enumerate(ground.positions) for p in ps if not _was_launched(history, i, p)]
    if ground.start is None or not left:
        return _never_made(history, active)
    together = ground.start
    for lever, position in dict(reversed(left)).items():
        together = together.at(lever, position)
    for node in (together, *(ground.start.at(i, p) for i, p in left)):
        search = Search(history, hard)
        search.add([node])
        found = next(search.run(_keeping(node, left)), None)
        if found:
            return Choice((found,), "everything else failed; this was never tried")
    return _never_made(history, active)


def _never_made(history: History, active: Sequence[Lesson]) -> Choice:
    """Return settings with a repair that was proposed and never made, though nothing speaks against it."""
    for node in never_made(history, active):
        search = Search(history, active)
        search.add([node])
        found = next(search.run(partial(is_, node)), None)
        if found:
            return Choice((found,), "everything else failed; this was proposed and never tried")
    return Choice()


def _keeping(node: Node, left: Sequence[tuple[int, int | None]]) -> Callable[[Node], bool]:
    held = [(i, p) for i, p in left if node.choice[i] == p]
    return lambda other: all(other.choice[i] == p for i, p in held)


def _was_launched(history: History, lever: int, position: int | None) -> bool:
    name = history.ground.levers[lever].name
    return any(a.choice.get(name) == position for a in history.launches if a.outcome is not None)
