"""What may be to blame for a failure that names nothing, how likely it is, and what takes it away."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from relight.planning import moves, terms
from relight.planning.cards import lacking
from relight.planning.ground import WEIGHT, Ground, Node
from relight.planning.history import History
from relight.planning.names import View
from relight.words.area import Area
from relight.words.attempt import Attempt
from relight.words.diagnosis import Cause
from relight.words.settings import Repair, Settings

NEAR = 6.0
"""So much likelier is what steers the place a failure showed."""
BLAMED = 2.0
"""So much likelier is what failures of the kind are blamed on."""
OWN = 24.0
"""So much likelier is what the failure's own signature would change: its remedies are for this very failure."""
BESIDE_LEVERS = 0.25
"""How likely what is set beside the levers is to blame, all of it, in shares of how likely the other suspects are."""
SAID = frozenset({"message", "source", "memory"})
MEMORY = "oom"


@dataclass(frozen=True)
class Cure:
    """One way to take a suspect away: a lever at another position, or a repair. `bit` stands for it in sets."""

    bit: int
    loss: float
    lever: int | None = None
    position: int | None = None
    repair: Repair | None = None

    def made(self, attempt: Attempt, view: View, ground: Ground) -> bool:
        """Say whether an attempt's settings have it."""
        if self.repair is not None:
            return terms.not_done(self.repair, view, ground.names) is None
        return self.lever is not None and attempt.choice.get(ground.levers[self.lever].name) == self.position

    def on(self, node: Node) -> Node:
        """Return a node with this cure."""
        if self.repair is not None:
            return node.plus(self.repair)
        return node if self.lever is None else node.at(self.lever, self.position)


@dataclass(frozen=True)
class Suspect:
    """What may be to blame: a lever, or what repairs would change. Of its cures each goes further than those before.

    What `alters` answers is changed after all else.
    """

    odds: float
    cures: tuple[Cure, ...]
    alters: bool = False

    @property
    def guilts(self) -> Iterator[tuple[int, float]]:
        """Yield what may be wrong with it: the bits any of which takes it away, and how likely that is.

        Most likely is that only what was asked for fails, so that anything else helps.
        """
        bits = [c.bit for c in self.cures]
        shares = [0.5 if i == 0 and len(bits) > 1 else 0.5 / max(1, len(bits) - 1) for i in range(len(bits))]
        for i, share in enumerate(shares):
            yield sum(bits[i:]), self.odds * (share if len(bits) > 1 else 1.0)


def names_nothing(attempt: Attempt, ground: Ground) -> bool:
    """Say whether a failed launch points at no flag: it is unknown, or of a kind whose place shows nothing."""
    if not attempt.launched or attempt.rung != "real":
        return False
    found, cause = attempt.diagnosis, attempt.diagnosis.cause if attempt.diagnosis else None
    if found is None or cause is None:
        return True
    said = found.constraint is not None or any(r.origin in SAID for r in found.repairs)
    blind = any(fnmatchcase(cause.kind, p) for p in ground.world.knowledge.areas.blind)
    return not said and cause.family != MEMORY and (blind or not (cause.blames or cause.blames_env))


def suspects_of(history: History, attempts: Sequence[Attempt], *, base: bool = False) -> tuple[Suspect, ...]:
    """Return what may be to blame for the failures of `attempts`: levers, and what their repairs would change.

    With `base` also every flag and variable of the playbook that may be taken back.
    """
    ground, cause = history.ground, _cause(attempts[-1])
    bits = iter(range(10_000))
    levers = [_lever(i, cause, ground, bits) for i in range(len(ground.levers))]
    groups: dict[frozenset[str], list[Repair]] = {}
    for repair in _repairs(history, attempts):
        groups.setdefault(repair.names | repair.variables, []).append(repair)
    found = tuple(s for s in (*levers, *(_changed(rs, cause, ground, bits) for rs in groups.values())) if s.cures)
    return (*found, *_given(found, groups.keys(), cause, ground, bits)) if base else found


def _given(
    others: Iterable[Suspect],
    known: Container[frozenset[str]],
    cause: Cause | None,
    ground: Ground,
    bits: Iterator[int],
) -> tuple[Suspect, ...]:
    """Return what the playbook sets beside the levers, all of it together as likely to blame as a few of `others`."""
    new = [r for r in _unsettings(ground) if r.names | r.variables not in known]
    found = [_changed([r], cause, ground, bits) for r in new]
    all_of_them = sum(s.odds for s in found) or 1.0
    share = BESIDE_LEVERS * sum(s.odds for s in others) / all_of_them
    return tuple(replace(s, odds=s.odds * share) for s in found)


def _lever(lever: int, cause: Cause | None, ground: Ground, bits: Iterator[int]) -> Suspect:
    positions = _with_kernels(lever, ground)
    first = ground.loss(lever, positions[0])
    cures = tuple(Cure(1 << next(bits), ground.loss(lever, p) - first, lever, p) for p in positions[1:])
    names = {n for variant in (ground.variant(lever, p) for p in positions) for n in (*variant.flags, *variant.env)}
    on = positions[0] is not None
    return Suspect(_odds(names, cause, ground), cures if on else ())


def _with_kernels(lever: int, ground: Ground) -> tuple[int | None, ...]:
    """Return the positions of a lever but for those whose kernels the cards lack: nothing is shown by them."""
    first, *others = ground.positions[lever]
    lacks = [term for term, _ in lacking(ground)]
    given = {p: ground.names.view(Settings(ground.variant(lever, p).flags)) for p in others}
    there = [p for p in others if not any(terms.holds(t, given[p], ground.names) for t in lacks)]
    return (first, *(there or others))


def _changed(repairs: Sequence[Repair], cause: Cause | None, ground: Ground, bits: Iterator[int]) -> Suspect:
    cures = tuple(Cure(1 << next(bits), r.cost * WEIGHT[r.origin], repair=r) for r in repairs)
    alters = any(r.alters_answers or ground.guard.alters_answers(r) for r in repairs)
    odds = _odds(repairs[0].names | repairs[0].variables, cause, ground)
    return Suspect(odds * (OWN if any(_own(r, cause, ground) for r in repairs) else 1.0), cures, alters)


def _own(repair: Repair, cause: Cause | None, ground: Ground) -> bool:
    """Say whether a repair is a remedy for this very failure: of the signature that named it, if that is specific."""
    known = ground.world.knowledge.signatures if cause else ()
    found = (s.remedies for s in known if cause and s.id == cause.signature and not s.generic)
    touched = repair.names | repair.variables
    return any(touched == {*r.set, *r.add, *r.scale, *r.unset, *r.set_env, *r.unset_env} for rs in found for r in rs)


def _repairs(history: History, attempts: Sequence[Attempt]) -> Iterator[Repair]:
    """Yield the repairs proposed for failures that may be made, change something and undo no lever."""
    ground = history.ground
    proposed = [r for a in attempts if a.diagnosis for r in a.diagnosis.repairs]
    new = (r for i, r in enumerate(proposed) if r not in proposed[:i])
    yield from (r for r in new if ground.guard.refusal(r) == "" and _undoes_none(r, ground))


def _unsettings(ground: Ground) -> Iterator[Repair]:
    """Yield the repairs that take back what the playbook sets beside the levers."""
    found = moves.unsettings(ground.view(ground.start), ground) if ground.start else ()
    yield from (r for r in found if _undoes_none(r, ground))


def _undoes_none(repair: Repair, ground: Ground) -> bool:
    """Say whether a repair changes what is asked for, and undoes no lever of it."""
    start = ground.start
    if start is None or ground.lost(start, ground.touched(Node((), (repair,)))) > ground.lost(start, {}):
        return False
    return terms.not_done(repair, ground.view(start), ground.names) is not None


def _odds(names: Iterable[str], cause: Cause | None, ground: Ground) -> float:
    """Return how likely what has these flags is to blame, 1 where nothing is known of it."""
    kind = cause.kind if cause else "unknown"
    known = {ground.names.canonical(n) for n in names}
    named = {*names, *known}
    found = [_said_of(area, kind) for area in ground.world.knowledge.areas.all if _steers(area, named)]
    near = known & {ground.names.canonical(n) for n in (cause.suspects if cause else ())}
    blamed = known & {ground.names.canonical(n) for n in (cause.blames if cause else ())}
    return max(found, default=1.0) * (NEAR if near else 1.0) * (BLAMED if blamed else 1.0)


def _steers(area: Area, names: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in (*area.flags, *area.on, *area.variables))


def _said_of(area: Area, kind: str) -> float:
    return next((odds for pattern, odds in area.odds.items() if fnmatchcase(kind, pattern)), 1.0)


def _cause(attempt: Attempt) -> Cause | None:
    return attempt.diagnosis.cause if attempt.diagnosis else None
