"""What a failure blames, as the condition under which it comes again."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from relight.planning import bounds, terms
from relight.planning.ground import Ground
from relight.planning.names import View
from relight.planning.ports import holders
from relight.words.attempt import Term
from relight.words.diagnosis import Cause
from relight.words.settings import Repair
from relight.words.signature import Remedy

MEMORY = "oom"


def blamed(cause: Cause, effective: Mapping[str, Any], ground: Ground, view: View) -> tuple[Term, ...]:
    """Return what the cause blames, a bound where its sums give one."""
    limits = bounds.terms_of(cause.facts, effective, ground, view)
    bounded = {t.name for t in limits}
    holding = holders(cause, view)
    named = cause.blames if holding is None else holding
    firsts = _nearest([ground.names.canonical(n) for n in named if ground.names.has(n)], cause, ground)
    firsts = _not_as_remedied(firsts, cause, ground, view)
    flags = [
        _worse(terms.same(n, view, ground.names, resolved=_resolved(n, effective, ground)), cause, ground)
        for n in firsts
        if n not in bounded
    ]
    if late(cause, ground):
        flags += [terms.same(n, view, ground.names) for n in _of_variants(firsts, ground, view)]
    return (*limits, *flags, *(terms.same(n, view, ground.names, env=True) for n in cause.blames_env))


def late(cause: Cause, ground: Ground) -> bool:
    """Say whether a failure shows some time after what it is blamed on: that is a guess."""
    return any(fnmatchcase(cause.kind, pattern) for pattern in ground.world.knowledge.areas.late)


def _of_variants(firsts: list[str], ground: Ground, view: View) -> list[str]:
    """Return what tells the variants of blamed levers from their others that have the blamed value too.

    Those may work: only this variant is known to fail.
    """
    found: dict[str, None] = {}
    for lever, positions in enumerate(ground.positions):
        variants = [ground.firsts_of(lever, p) for p in positions if p is not None]
        mine = next((v for v in variants if v and v.items() <= view.flags.items()), {})
        alike = [v for v in variants if v != mine and any(n in mine and v.get(n) == mine[n] for n in firsts)]
        found |= dict.fromkeys(n for v in alike for n in mine if v.get(n) != mine[n] and n not in firsts)
    return list(found)


def _nearest(firsts: list[str], cause: Cause, ground: Ground) -> list[str]:
    """Return of the blamed flags those that steer the place of the failure, all where none of them does."""
    near = {ground.names.canonical(n) for n in cause.suspects}
    return [n for n in firsts if n in near] or firsts


def _not_as_remedied(firsts: list[str], cause: Cause, ground: Ground, view: View) -> list[str]:
    """Return of the blamed flags those that no remedy would leave as they are, all where there are none."""
    own = (s.remedies for s in ground.world.knowledge.signatures if s.id == cause.signature)
    wanted = {(ground.names.canonical(n), ground.names.value(n, v)) for rs in own for r in rs for n, v in r.set.items()}
    return [n for n in firsts if (n, view.flags.get(n)) not in wanted] or firsts


def _worse(term: Term, cause: Cause, ground: Ground) -> Term:
    """Add to a value that ran out of memory those that need more of it: what no remedy moves towards."""
    fact, now = ground.guard.fact(term.name), term.value[0]
    up = _way(term.name, cause, ground)
    if up is None or fact is None or not _is_number(now):
        return term
    steps = [ground.names.value(term.name, v) for v in fact.ladder]
    worse = [v for v in steps if _is_number(v) and ((v < now) if up else (v > now))]
    return Term(term.name, term.op, (*term.value, *worse), term.env)


def _way(first: str, cause: Cause, ground: Ground) -> bool | None:
    """Say whether the remedies of a memory failure move a number up, None where they do not move it one way."""
    if cause.family != MEMORY:
        return None
    own = (s.remedies for s in ground.world.knowledge.signatures if s.id == cause.signature)
    moves = {up for remedies in own for r in remedies for up in _moves(first, r, ground)}
    return moves.pop() if len(moves) == 1 else None


def _moves(first: str, remedy: Remedy, ground: Ground) -> list[bool]:
    added = [by > 0 for n, by in remedy.add.items() if ground.names.canonical(n) == first]
    return added + [by > 1 for n, by in remedy.scale.items() if ground.names.canonical(n) == first]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _resolved(first: str, effective: Mapping[str, Any], ground: Ground) -> Any:
    known = ground.names.parser.find(first) if ground.names.parser else None
    value = effective.get(known.dest if known else first.replace("-", "_"))
    return None if value is None else ground.names.value(first, value)


def named_by(repairs: tuple[Repair, ...], ground: Ground, view: View) -> tuple[Term, ...]:
    """Return the given flags and variables that the repairs would change: all a failure without blame points at."""
    flags = dict.fromkeys(ground.names.canonical(n) for r in repairs for n in (*r.set, *r.unset))
    env = dict.fromkeys(n for r in repairs for n in (*r.set_env, *r.unset_env))
    return (
        *(terms.same(n, view, ground.names) for n in flags if n in view.flags),
        *(terms.same(n, view, ground.names, env=True) for n in env if n in view.env),
    )


def not_made(repairs: tuple[Repair, ...], core: tuple[Term, ...], ground: Ground, view: View) -> tuple[Term, ...]:
    """Return, for each repair that does not touch what `core` names, a term that says it was not made."""
    named = {(t.name, t.env) for t in core}
    found = [t for r in repairs if (t := terms.not_done(r, view, ground.names)) and not touches(r, named, ground)]
    return tuple(dict.fromkeys(found))


def touches(repair: Repair, named: set[tuple[str, bool]], ground: Ground) -> bool:
    """Say whether a repair changes one of the flags or, with True, variables `named`."""
    flags = {(ground.names.canonical(n), False) for n in repair.names}
    return bool(named & (flags | {(n, True) for n in repair.variables}))
