"""After healthy: restoring, starting again, and trying for a lever that was dropped on suspicion."""

from collections.abc import Iterator, Sequence

from relight.planning.ground import Node
from relight.planning.history import History
from relight.planning.lessons import Lesson
from relight.planning.passing import relaunch
from relight.words.attempt import Attempt
from relight.words.settings import Repair
from relight.words.step import Launch

RESTARTS = 2


def after_healthy(history: History, lessons: Sequence[Lesson]) -> Launch | None:
    """Return the launch that healthy settings of this run ask for, None if there are none."""
    if not history.healthy:
        return None
    best, last = history.healthy[-1], history.last
    if _gone(best, history):
        return None
    if last is not None and last.outcome != "healthy":
        return relaunch(best, history, "these settings were healthy; the try after them failed")
    if history.ground.world.died == best.n:
        return relaunch(best, history, "the server died; its settings were healthy")
    return win(history, lessons) or relaunch(best, history, "these settings were healthy")


def _gone(best: Attempt, history: History) -> bool:
    """Say whether healthy settings have failed too often since: then they are like any others."""
    since = [a for a in history.ended if a.n > history.healthy[0].n and history.key(a) == history.key(best)]
    died = [a for a in since if a.outcome != "healthy"]
    return len(died) >= RESTARTS


def win(history: History, lessons: Sequence[Lesson]) -> Launch | None:
    """Return the launch that tries for a dropped lever once more, None if no try is left or none is worth it."""
    best = history.healthy[-1]
    tries = len(
        [a for a in history.launches if a.n > history.healthy[0].n and not _same(a, history.healthy[0], history)]
    )
    if tries >= history.ground.playbook.budget.win_back:
        return None
    for node, name in _wanted(best, history):
        view = history.ground.view(node)
        proved = any(t.hard and t.holds(view, history.ground) for t in lessons)
        if not proved and view.key not in history.tried and not history.ground.findings(history.ground.settings(node)):
            return Launch(history.ground.candidate(node), "real", f"{name} was dropped on suspicion; it is tried again")
    return None


def _same(one: Attempt, other: Attempt, history: History) -> bool:
    return history.key(one) == history.key(other)


def _wanted(best: Attempt, history: History) -> Iterator[tuple[Node, str]]:
    """Yield healthy settings with one lever better, what is worth most first."""
    ground = history.ground
    choice = tuple(best.choice.get(lever.name) for lever in ground.levers)
    worth = sorted(range(len(choice)), key=lambda i: -ground.loss(i, choice[i]))
    for i in worth:
        better = [p for p in ground.positions[i] if ground.loss(i, p) < ground.loss(i, choice[i])]
        for position in better:
            yield Node(choice, best.changes).at(i, position), ground.levers[i].name
        undone = [r for r in best.changes if _undoes(r, i, choice[i], history)]
        if undone and not better:
            yield Node(choice, tuple(r for r in best.changes if r not in undone)), ground.levers[i].name


def _undoes(repair: Repair, lever: int, position: int | None, history: History) -> bool:
    first = history.ground.variant(lever, position).first_flag
    return first is not None and history.ground.names.canonical(first) in {
        history.ground.names.canonical(n) for n in repair.names
    }
