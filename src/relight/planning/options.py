"""The table behind "exhausted": every option, and what became of it."""

from collections.abc import Iterator, Sequence

from relight.planning.ground import Ground, Node
from relight.planning.history import History
from relight.planning.lessons import Lesson
from relight.planning.terms import in_words
from relight.words.attempt import Attempt, Option
from relight.words.settings import Repair


def options_of(history: History, lessons: Sequence[Lesson]) -> tuple[Option, ...]:
    """Return every way the settings could be changed: tried, excluded, rejected, protected or untried."""
    return (*_levers(history, lessons), *_repairs(history, lessons), *_base(history, lessons))


def _levers(history: History, lessons: Sequence[Lesson]) -> Iterator[Option]:
    ground = history.ground
    for i, lever in enumerate(ground.levers):
        for j, variant in enumerate(lever.variants, 1):
            change = f"{lever.name}: " + ("off" if variant.off else f"variant {j}")
            if (i, j) in ground.unfit:
                yield Option(change, "excluded", ground.unfit[i, j])
            else:
                yield _lever(change, i, None if variant.off else j, history, lessons)


def _lever(change: str, lever: int, position: int | None, history: History, lessons: Sequence[Lesson]) -> Option:
    name = history.ground.levers[lever].name
    having = [a for a in history.ended if a.choice.get(name) == position]
    launched = [a for a in having if a.launched]
    if launched:
        return Option(change, "tried", _numbers(launched))
    if having:
        return Option(change, "rejected", _numbers(having))
    return _excluded(change, lever, position, history.ground, lessons)


def _excluded(change: str, lever: int, position: int | None, ground: Ground, lessons: Sequence[Lesson]) -> Option:
    node = ground.start.at(lever, position) if ground.start else None
    view = ground.view(node) if node else None
    against = [t for t in lessons if view is not None and not t.whole and t.holds(view, ground)]
    if not against:
        return Option(change, "untried")
    nogood = against[0].nogood()
    return Option(change, "excluded", f"{nogood.when} ({nogood.because})")


def _numbers(attempts: Sequence[Attempt]) -> str:
    by_rung = {a.rung for a in attempts} & {"parse", "validate"}
    rung = f" (refused by {', '.join(sorted(by_rung))})" if by_rung else ""
    return f"attempt{'s' if len(attempts) > 1 else ''} {', '.join(str(a.n) for a in attempts)}{rung}"


def _repairs(history: History, lessons: Sequence[Lesson]) -> Iterator[Option]:
    seen: dict[str, Option] = {}
    for attempt in history.failures:
        for repair in attempt.diagnosis.repairs if attempt.diagnosis else ():
            seen.setdefault(in_short(repair), _repair(repair, attempt, history, lessons))
    yield from seen.values()


def _repair(repair: Repair, attempt: Attempt, history: History, lessons: Sequence[Lesson]) -> Option:
    change, refusal = in_short(repair), history.ground.guard.refusal(repair)
    if refusal:
        return Option(change, "protected" if refusal.startswith("protected") else "excluded", refusal)
    made = [a for a in history.ended if _has(a, repair, history)]
    if any(a.launched for a in made):
        return Option(change, "tried", _numbers([a for a in made if a.launched]))
    if made:
        return Option(change, "rejected", _numbers(made))
    return _unmade(change, repair, attempt, history, lessons)


def _unmade(change: str, repair: Repair, attempt: Attempt, history: History, lessons: Sequence[Lesson]) -> Option:
    """Return why a proposed repair was made nowhere: it would undo a lever, what is known excludes it, or nothing."""
    ground, node = history.ground, _with(repair, attempt, history)
    if ground.breaks_a_lever(node, ground.touched(node)):
        return Option(change, "protected", 'its lever has no "off": one of its variants is always kept')
    view = ground.view(node)
    nogood = next((t.nogood() for t in lessons if not t.whole and t.holds(view, ground)), None)
    if nogood:
        return Option(change, "excluded", f"{nogood.when} ({nogood.because})")
    return Option(change, "untried", f"proposed for attempt {attempt.n}: {repair.why}")


def _with(repair: Repair, attempt: Attempt, history: History) -> Node:
    choice = tuple(attempt.choice.get(lever.name) for lever in history.ground.levers)
    return Node(choice, attempt.changes).plus(repair)


def never_made(history: History, lessons: Sequence[Lesson]) -> Iterator[Node]:
    """Yield, for each repair that was proposed and that nothing speaks against, the failed settings with it."""
    for attempt in history.failures:
        for repair in attempt.diagnosis.repairs if attempt.diagnosis else ():
            if _repair(repair, attempt, history, lessons).status == "untried":
                yield _with(repair, attempt, history)


def _has(attempt: Attempt, repair: Repair, history: History) -> bool:
    names = history.ground.names
    before = names.view(attempt.settings)
    return before == names.view(attempt.settings.changed(_spelled(repair, history)))


def _spelled(repair: Repair, history: History) -> Repair:
    spell = history.ground.names.spell
    return Repair({spell(n): v for n, v in repair.set.items()}, tuple(map(spell, repair.unset)),
                  repair.set_env, repair.unset_env)  # fmt: skip


def in_short(repair: Repair) -> str:
    """Return a repair in one line, as it would be typed."""
    parts = [
        *(f"--{n} {v}" if v is not True else f"--{n}" for n, v in repair.set.items()),
        *(f"unset --{n}" for n in repair.unset),
        *(f"{n}={v}" for n, v in repair.set_env.items()),
        *(f"unset {n}" for n in repair.unset_env),
    ]
    return ", ".join(parts)


def _base(history: History, lessons: Sequence[Lesson]) -> Iterator[Option]:
    ground = history.ground
    for name in ground.playbook.flags:
        first = ground.names.canonical(name)
        if ground.guard.protected(name):
            yield Option(f"--{name}", "protected", "never changed")
            continue
        changed = [a for a in history.ended if any(first in _firsts(r, ground) for r in a.changes)]
        if changed:
            yield Option(f"--{name}", "tried" if any(a.launched for a in changed) else "rejected", _numbers(changed))
        else:
            yield _unchanged(name, first, lessons)


def _firsts(repair: Repair, ground: Ground) -> set[str]:
    return {ground.names.canonical(n) for n in repair.names}


def _unchanged(name: str, first: str, lessons: Sequence[Lesson]) -> Option:
    named = [t for t in lessons if not t.whole and any(c.name == first for c in t.core)]
    if not named:
        return Option(f"--{name}", "excluded", "no failure depends on it")
    return Option(f"--{name}", "excluded", f"no other value is known; {in_words(named[0].terms)} fails")
