"""Ways out of a conflict: the nodes next to one that is known to fail."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from relight.planning import bounds
from relight.planning.ground import Ground, Node
from relight.planning.history import PORT
from relight.planning.lessons import Lesson
from relight.planning.names import View
from relight.planning.parse_rung import Finding
from relight.planning.ports import others
from relight.words.attempt import Term
from relight.words.settings import FlagValue, Repair

COST_OF_REMEDY = 0.5
COST_OF_STEP = 0.1
# A base flag that nothing blames is changed on mere suspicion: only after the levers.
COST_OF_SUSPICION = 4.0


def out_of(lesson: Lesson, node: Node, view: View, ground: Ground, known: bounds.Known) -> Iterable[Node]:
    """Return the nodes that leave what `lesson` condemns: repairs, then levers and flags its terms name.

    `known` are the bounds of all lessons at hand, so that a number is not moved from one failure into another.
    """
    ports = (r for term in lesson.core if lesson.kind == PORT for r in others(term, ground))
    repairs = [*_repairs(lesson, known, ground), *ports]
    yield from (node.plus(r) for r in repairs if ground.guard.refusal(r) == "")
    for term in lesson.terms:
        yield from _lever_moves(term, node, ground)
    for term in lesson.core if not lesson.guessed else _worth_a_guess(lesson.core, ground):
        yield from (node.plus(r) for r in _of_term(term, view, ground))


def _worth_a_guess(core: Iterable[Term], ground: Ground) -> Iterable[Term]:
    """Return the terms that may be changed on mere suspicion: not the parts of levers, which move as a whole."""
    return [t for t in core if (t.name, t.env) not in ground.mentioned and not ground.guard.unsuspected(t.name)]


def _repairs(lesson: Lesson, known: bounds.Known, ground: Ground) -> Iterable[Repair]:
    if not lesson.repairs:
        yield from (_remembered(t, lesson, ground) for t in lesson.terms if t.op == "!=" and not t.env)
    names = {t.name for t in lesson.core if t.op in {"<=", ">="}}
    inside = {name: found for name in names if (found := bounds.between(name, known, ground))}
    kept = [r for r in lesson.repairs if not _fell_short(r, inside, known, ground)]
    yield from kept
    yield from (r for name, r in inside.items() if not any(bounds.met(k, name, known.terms, ground) for k in kept))


def _fell_short(repair: Repair, inside: Mapping[str, Repair], known: bounds.Known, ground: Ground) -> bool:
    """Say whether sums for a number this repair sets fell short before, and something that goes further is at hand."""
    stale = {ground.names.canonical(n) for r in known.repairs if r not in known.fresh for n in r.set}
    return any(n in stale and n in inside for n in map(ground.names.canonical, repair.set))


def _remembered(term: Term, lesson: Lesson, ground: Ground) -> Repair:
    """Return the repair that an earlier run's nogood still shows: what was not done when it failed."""
    values = term.value if isinstance(term.value, tuple) else (term.value,)
    change = {ground.names.spell(term.name): values[0]}
    return Repair(set=change, why=lesson.because, origin="signature", cost=COST_OF_REMEDY)


def _lever_moves(term: Term, node: Node, ground: Ground) -> Iterable[Node]:
    for lever in sorted(ground.mentioned.get((term.name, term.env), ())):
        yield from at_other_positions(node, lever, ground)


def at_other_positions(node: Node, lever: int, ground: Ground) -> Iterable[Node]:
    """Return the nodes that differ in one lever only."""
    yield from (node.at(lever, p) for p in ground.positions[lever] if p != node.choice[lever])


def _of_term(term: Term, view: View, ground: Ground) -> Iterable[Repair]:
    """Return the base moves out of a term; out of a bound only its own way, and what the engine may choose last."""
    if term.op not in {"<=", ">="}:
        return base_moves(term, view, ground)
    found = base_moves(term, view, ground, unknown=True)
    return [r for r in found if r.unset or bounds.met(r, term.name, (term,), ground)]


def base_moves(term: Term, view: View, ground: Ground, *, unknown: bool = False) -> Iterable[Repair]:
    """Return changes of one flag or variable that nobody proposed: the next values known for it, or unset."""
    found = (
        _of_variable(term, view, unknown=unknown) if term.env else _of_flag(term.name, view, ground, unknown=unknown)
    )
    return [r for r in found if ground.guard.refusal(r) == ""]


def _of_variable(term: Term, view: View, *, unknown: bool) -> list[Repair]:
    why = f"{term.name} is {'one of the suspects' if unknown else 'blamed'}"
    cost = 1.0 + (COST_OF_SUSPICION if unknown else 0.0)
    return [Repair(unset_env=(term.name,), why=why, origin="isolation", cost=cost)] if term.name in view.env else []


def _of_flag(first: str, view: View, ground: Ground, *, unknown: bool) -> list[Repair]:
    fact, spelled = ground.guard.fact(first), ground.names.spell(first)
    cost, alters = (fact.cost, fact.alters_answers) if fact else (1.0, False)
    cost += COST_OF_SUSPICION if unknown else 0.0
    gives_up = fact.gives_up if fact else ""
    why = f"--{spelled} is {'one of the suspects' if unknown else 'blamed'}"
    found = [
        Repair(set={spelled: value}, why=why, origin="isolation", cost=round(cost + i * COST_OF_STEP, 3),
               gives_up=gives_up, alters_answers=alters)
        for i, value in enumerate(_next_values(first, fact.ladder if fact else (), view, ground))
    ]  # fmt: skip
    if first in view.flags:
        last = cost + len(found) * COST_OF_STEP
        found.append(Repair(unset=(spelled,), why=why, origin="isolation", cost=last, gives_up=gives_up,
                            alters_answers=alters))  # fmt: skip
    return found


def _next_values(first: str, ladder: tuple[FlagValue, ...], view: View, ground: Ground) -> list[FlagValue]:
    """Return the values of a ladder below the one in use; all of them if that is none of its steps."""
    steps = [ground.names.value(first, v) for v in ladder]
    now: Any = view.flags.get(first, ground.names.default(first))
    if now in steps:
        return list(ladder[steps.index(now) + 1 :])
    numbers = isinstance(now, int | float) and not isinstance(now, bool)
    return [v for v, s in zip(ladder, steps, strict=True) if not numbers or (isinstance(s, int | float) and s < now)]


def anywhere(
    node: Node,
    view: View,
    repairs: Iterable[Repair],
    ground: Ground,
    suspects: Iterable[str] = (),
    *,
    base: bool = True,
) -> Iterable[Node]:
    """Return every node one change away from one that failed for a reason nobody could name.

    The levers that steer the place where it failed come first; of what costs the same, that decides. Base flags are
    suspected only with `base`.
    """
    yield from (node.plus(r) for r in repairs if ground.guard.refusal(r) == "")
    near = {i for n in suspects for i in ground.mentioned.get((ground.names.canonical(n), False), ())}
    for lever in sorted(range(len(ground.levers)), key=lambda i: i not in near):
        yield from at_other_positions(node, lever, ground)
    if base and not any(r.origin == "isolation" for r in node.repairs):
        yield from (node.plus(r) for r in unsettings(view, ground))


def unsettings(view: View, ground: Ground) -> list[Repair]:
    """Return a repair for each base flag and variable of the playbook that may be taken back."""
    flags = [Term(ground.names.canonical(n), "set") for n in ground.playbook.flags]
    env = [Term(n, "set", env=True) for n in ground.playbook.env]
    free = [t for t in (*flags, *env) if not ground.guard.unsuspected(t.name)]
    return [r for t in free for r in base_moves(t, view, ground, unknown=True) if r.unset or r.unset_env]


def past_the_parser(node: Node, findings: tuple[Finding, ...], ground: Ground) -> Iterable[Node]:
    """Return the nodes that mend everything the parser refuses, likeliest repairs first, and other variants."""
    ways = [[r for r in f.repairs if ground.guard.refusal(r) == ""] for f in findings]
    for repairs in _combined(ways):
        yield Node(node.choice, (*node.repairs, *repairs))
    for finding in findings:
        yield from _lever_moves(Term(ground.names.canonical(finding.name), "set"), node, ground)


def _combined(ways: list[list[Repair]]) -> Iterable[tuple[Repair, ...]]:
    """Return one repair per finding: all combinations while they are few, else one finding varied at a time."""
    few = 3
    if len(ways) <= few:
        return product(*ways)
    first = tuple(w[0] for w in ways if w)
    if len(first) < len(ways):
        return ()
    others = ((*first[:i], r, *first[i + 1 :]) for i, w in enumerate(ways) for r in w[1:])
    return (first, *others)
