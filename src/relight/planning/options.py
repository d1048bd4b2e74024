"""The table behind "exhausted": every option, and what became of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from relight.planning.ground import Ground, Node
from relight.planning.history import History
from relight.planning.lessons import Lesson
from relight.planning.names import View
from relight.words.attempt import Attempt, Option
from relight.words.settings import Repair

_FEW = 2
"""Kinds of failure that are named of one option."""


@dataclass(frozen=True)
class Basis:
    """What options are held against.

    `attempt` is the one whose settings stand: the healthy one, else the last that ended. `proof`: the search has found
    nothing, so whatever was not tried is excluded somewhere, and that is told.
    """

    history: History
    lessons: tuple[Lesson, ...]
    attempt: Attempt | None
    proof: bool

    @property
    def ground(self) -> Ground:
        """Return the ground of the run."""
        return self.history.ground

    @property
    def node(self) -> Node | None:
        """Return what an option is applied to."""
        return _node(self.attempt, self.history) if self.attempt else self.ground.start

    @property
    def healthy(self) -> bool:
        """Say whether the settings that stand are healthy."""
        return self.attempt is not None and self.attempt.outcome == "healthy"


def options_of(history: History, lessons: Sequence[Lesson], *, proof: bool = False) -> tuple[Option, ...]:
    """Return every way the settings could be changed: tried, excluded, rejected, protected or untried.

    What was not tried is held against the settings that stand: excluded is what with them is known to fail. With
    `proof` nothing is left, and what was not tried is told to be excluded where the search met it.
    """
    good = history.healthy[-1] if history.healthy and not proof else None
    basis = Basis(history, tuple(t for t in lessons if not t.whole), good or history.last, proof)
    repairs = {id(r): (r, a) for a in history.failures for r in (a.diagnosis.repairs if a.diagnosis else ())}
    pairs = [(_bare(r, a, history), a) for r, a in repairs.values()]
    named = {history.ground.names.canonical(n) for r, _ in pairs for n in r.names}
    return (*_once([*_levers(basis), *_repairs(pairs, basis)]), *_base(basis, named))


def _once(options: Iterable[Option]) -> tuple[Option, ...]:
    found: dict[str, Option] = {}
    for option in options:
        found.setdefault(option.change, option)
    return tuple(found.values())


def _levers(basis: Basis) -> Iterator[Option]:
    ground = basis.ground
    for i, lever in enumerate(ground.levers):
        for j, variant in enumerate(lever.variants, 1):
            change = f"{lever.name}: " + ("off" if variant.off else f"variant {j}")
            if (i, j) in ground.unfit:
                yield Option(change, "excluded", ground.unfit[i, j])
            else:
                yield _lever(change, i, None if variant.off else j, basis)


def _lever(change: str, lever: int, position: int | None, basis: Basis) -> Option:
    having = [a for a in basis.history.ended if _stood(a, lever, basis.history) == position]
    if having:
        return _made(change, having, basis)
    moved, start = (_moved(node, lever, position, basis) for node in (basis.node, basis.ground.start))
    return _unmade(change, moved, start, "", basis)


def _moved(node: Node | None, lever: int, position: int | None, basis: Basis) -> Node | None:
    """Return a node with a lever elsewhere, without the repairs that did nothing but move it."""
    if node is None:
        return None
    kept = tuple(r for r in node.repairs if lever not in _levers_of(r, basis))
    return Node(node.choice, kept).at(lever, position)


def _levers_of(repair: Repair, basis: Basis) -> list[int]:
    """Return the levers that name all that a repair changes."""
    ground = basis.ground
    names = {(ground.names.canonical(n), False) for n in repair.names} | {(n, True) for n in repair.variables}
    return [i for i in range(len(ground.levers)) if names and all(i in ground.mentioned.get(n, ()) for n in names)]


def _stood(attempt: Attempt, lever: int, history: History) -> int | None:
    """Return where a lever stood in an attempt, repairs that undid its variant or put another in its place included."""
    ground, node = history.ground, _node(attempt, history)
    held = ground.held(lever, node)
    if held is not None or node.choice[lever] is None:
        return held
    settings = ground.names.view(attempt.settings)
    others = (p for p in ground.positions[lever] if p is not None and p != node.choice[lever])
    return next((p for p in others if _is_at(settings, lever, p, ground)), None)


def _is_at(view: View, lever: int, position: int, ground: Ground) -> bool:
    variant = ground.variant(lever, position)
    flags = all(view.flags.get(ground.names.canonical(n)) == ground.names.value(n, v) for n, v in variant.flags.items())
    return flags and bool(variant.flags)


def _made(change: str, having: Sequence[Attempt], basis: Basis) -> Option:
    """Return an option that attempts had: what became of them, or that it stands."""
    launched = [a for a in having if a.launched]
    if basis.healthy and basis.attempt in having:
        return Option(change, "tried", f"in the healthy settings, since attempt {_since(launched, basis)}")
    if launched:
        return Option(change, "tried", f"{_numbers(launched)}{_ends(launched)}")
    return Option(change, "rejected", f"{_numbers(having)}{_rungs(having)}")


def _since(having: Sequence[Attempt], basis: Basis) -> int:
    """Return the launch from which on all, up to the one that stands, had an option."""
    first = basis.attempt.n if basis.attempt else 0
    for attempt in reversed([a for a in basis.history.launches if a.n < first]):
        if attempt not in having:
            break
        first = attempt.n
    return first


def _ends(attempts: Sequence[Attempt]) -> str:
    kinds = [a.diagnosis.cause.kind for a in attempts if a.diagnosis and a.diagnosis.cause]
    found = [*dict.fromkeys(["healthy"] * any(a.outcome == "healthy" for a in attempts) + kinds)]
    more = f" and {len(found) - _FEW} more" if len(found) > _FEW else ""
    return f": {', '.join(found[:_FEW])}{more}" if found else ""


def _rungs(attempts: Sequence[Attempt]) -> str:
    rungs = sorted({a.rung for a in attempts} & {"parse", "validate"})
    return f" (refused by {', '.join(rungs)})" if rungs else ""


def _numbers(attempts: Sequence[Attempt]) -> str:
    """Return which attempts: "attempt 3", "attempts 1 to 4 and 7"."""
    runs: list[list[int]] = []
    for n in (a.n for a in attempts):
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    told = [f"{r[0]} to {r[-1]}" if len(r) > _FEW else " and ".join(map(str, r)) for r in runs]
    return f"attempt{'s' if len(attempts) > 1 else ''} " + ", ".join(told)


def _repairs(pairs: Iterable[tuple[Repair, Attempt]], basis: Basis) -> Iterator[Option]:
    for repair, attempt in pairs:
        if not _is_a_move(repair, attempt, basis):
            yield _repair(repair, attempt, basis)


def _bare(repair: Repair, attempt: Attempt, history: History) -> Repair:
    """Return a repair without what the failed settings hold already: that is no part of the change."""
    names, settings = history.ground.names, attempt.settings
    view = names.view(settings)
    given = {names.canonical(n) for n in settings.flags}
    bare = replace(
        repair,
        set={n: v for n, v in repair.set.items() if view.flags.get(names.canonical(n)) != names.value(n, v)},
        unset=tuple(n for n in repair.unset if names.canonical(n) in given),
        set_env={n: v for n, v in repair.set_env.items() if settings.env.get(n) != v},
        unset_env=tuple(n for n in repair.unset_env if n in settings.env),
    )
    return bare if bare.names or bare.variables else repair


def _is_a_move(repair: Repair, attempt: Attempt, basis: Basis) -> bool:
    """Say whether a repair does what moving one lever does: it is told with the lever."""
    ground = basis.ground
    of = _levers_of(repair, basis)
    if not of:
        return False
    node = _node(attempt, basis.history)
    mended = ground.view(node.plus(repair)).key
    return any(ground.view(node.at(i, p)).key == mended for i in of for p in ground.positions[i])


def _repair(repair: Repair, attempt: Attempt, basis: Basis) -> Option:
    change, refusal = in_short(repair), basis.ground.guard.refusal(repair)
    if refusal:
        return Option(change, "protected" if refusal.startswith("protected") else "excluded", refusal)
    having = [a for a in basis.history.ended if _has(a, repair, basis.history)]
    if having:
        return _made(change, having, basis)
    proposed = _node(attempt, basis.history).plus(repair)
    here = basis.node.plus(repair) if basis.node else None
    return _unmade(change, here, proposed, f"proposed for attempt {attempt.n}: {repair.why}", basis)


def _unmade(change: str, node: Node | None, met: Node | None, said: str, basis: Basis) -> Option:
    """Return what speaks against an option that was made nowhere; `met` is where the search met it."""
    ground = basis.ground
    if node is None:
        return Option(change, "untried", said)
    if ground.breaks_a_lever(node, ground.touched(node)):
        return Option(change, "protected", 'its lever has no "off": one of its variants is always kept')
    view = ground.view(node)
    against = [t for t in basis.lessons if t.holds(view, ground)]
    before = ground.view(basis.node) if basis.node else None
    kept = [t for t in against if before is not None and t.holds(before, ground)]
    new = [t for t in against if t not in kept]
    if basis.proof:
        elsewhere = (t for t in basis.lessons if met is not None and t.holds(ground.view(met), ground))
        new = new or kept or [*elsewhere][:1]
    refused = _refused(node, view, basis)
    if new:
        return Option(change, "excluded", _known(new[0]))
    if refused:
        return Option(change, "rejected", refused)
    return Option(change, "untried", _alone(kept[0], basis) if kept else said)


def _refused(node: Node, view: View, basis: Basis) -> str:
    """Return why the host would not take the settings with an option; "" where it would, or was not asked."""
    history, ground = basis.history, basis.ground
    findings = ground.findings(ground.settings(node))
    if findings:
        return findings[0].text
    answer = history.answers.get(view.key)
    refused = answer is not None and answer.refused and ground.world.oracle_trusted
    return f"the host's own validation: {answer.type} {answer.message}".strip() if answer and refused else ""


def _known(lesson: Lesson) -> str:
    nogood = lesson.nogood()
    doubt = "" if nogood.hard else f", {min(nogood.confidence, 0.99):.0%} sure"
    return f"{nogood.when} ({nogood.because}{doubt})"


def _alone(lesson: Lesson, basis: Basis) -> str:
    number = basis.attempt.n if basis.attempt else 0
    return f"by itself it does not mend attempt {number}: {lesson.nogood().when}"


def _node(attempt: Attempt, history: History) -> Node:
    return Node(tuple(attempt.choice.get(lever.name) for lever in history.ground.levers), attempt.changes)


def never_made(history: History, lessons: Sequence[Lesson]) -> Iterator[Node]:
    """Yield, for each repair that was proposed and that nothing speaks against, the failed settings with it."""
    for attempt in history.failures:
        for repair in attempt.diagnosis.repairs if attempt.diagnosis else ():
            node = _node(attempt, history).plus(repair)
            if _is_open(repair, node, history, lessons):
                yield node


def _is_open(repair: Repair, node: Node, history: History, lessons: Sequence[Lesson]) -> bool:
    ground = history.ground
    if ground.guard.refusal(repair) or any(_has(a, repair, history) for a in history.ended):
        return False
    if ground.breaks_a_lever(node, ground.touched(node)):
        return False
    view = ground.view(node)
    return not any(not t.whole and t.holds(view, ground) for t in lessons)


def _has(attempt: Attempt, repair: Repair, history: History) -> bool:
    names = history.ground.names
    before = history.view(attempt)
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


def _base(basis: Basis, named: set[str]) -> Iterator[Option]:
    """Yield the playbook's flags that no repair and so no row above names."""
    ground = basis.ground
    for name in ground.playbook.flags:
        if ground.guard.protected(name):
            yield Option(f"--{name}", "protected", "never changed")
        elif ground.names.canonical(name) not in named:
            yield _unnamed(name, ground.names.canonical(name), basis)


def _unnamed(name: str, first: str, basis: Basis) -> Option:
    """Return a flag of the playbook for which nobody proposes another value."""
    blamed = next((t for t in basis.lessons if any(c.name == first for c in t.core)), None)
    if blamed is None:
        return Option(f"--{name}", "excluded", "no failure so far depends on it")
    known = f"; as it is, what is known fails: {_known(blamed)}" if basis.proof else ""
    return Option(f"--{name}", "excluded", f"no failure proposes another value{known}")
