"""What the failures of a run teach: conditions under which settings are known to fail."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from relight.planning import terms
from relight.planning.blame import blamed, late, named_by, not_made, touches
from relight.planning.cards import lacking
from relight.planning.ground import Ground
from relight.planning.history import PORT, WEIGHTS, History, reached
from relight.planning.names import View
from relight.planning.ports import elsewhere, holders, spent
from relight.words.attempt import Attempt, Nogood, Term
from relight.words.condition import Condition
from relight.words.diagnosis import Cause, Constraint
from relight.words.settings import Repair

# A diagnosis is never quite sure; only validation and exact conditions are.
SUREST = 0.97
UNNAMED = 0.7
# How much room weights take depends on little, and is the same each time.
SURE_OF_SIZE = 0.99
TOLD = frozenset({PORT, WEIGHTS})
"""Kinds that are never laid on what the settings happen to share."""
SUSPECTED = 0.5
# What repetition can lose again: each failure it should explain and does not raises the doubt by this factor.
CONFIRMED_ONCE = 0.8
CONTRADICTED = 1.5
# So many failures of one kind, each blamed on another value, say that the blame is wrong.
MANY = 5
UNRECOGNIZED, LACKING = "args.unrecognized", "kernel.unsupported_arch"
KNOWN = 0.85
# What an attempt changed that got past a failure, where it changed little.
LITTLE = 4
PASSED = 0.9
# What stayed while the rest of a condition changed and it failed all the same.
RECURS = 0.9
# Ways out of a failure that a later run is told of.
REMEMBERED = 6


@dataclass(frozen=True)
class Lesson:
    """A nogood in the making.

    `core` is the condition itself; `undone` says which repairs were not made when it was seen: settings with one of
    them are not condemned yet. `attempts` have seen it, `repairs` were proposed for it. `whole` marks the settings of
    one attempt as they are, which planning knows by their key and only a later run needs as a condition. `fails` is a
    check of the engine: it decides, and `core` holds what it reads with the values that broke it. What is `told` is
    knowledge that no failure taught: it is no news to a later run. What is `guessed` only held in every failure.
    """

    core: tuple[Term, ...]
    kind: str
    confidence: float
    undone: tuple[Term, ...] = ()
    hard: bool = False
    attempts: tuple[int, ...] = ()
    repairs: tuple[Repair, ...] = ()
    fingerprint: str = ""
    because: str = ""
    whole: bool = False
    fails: Condition | None = None
    told: bool = False
    guessed: bool = False

    @property
    def terms(self) -> tuple[Term, ...]:
        """Return all terms together."""
        return (*self.core, *self.undone)

    def holds(self, view: View, ground: Ground) -> bool:
        """Say whether settings are condemned."""
        if self.fails is not None:
            return ground.broken(self.fails, view)
        return all(terms.holds(term, view, ground.names) for term in self.terms)

    def nogood(self) -> Nogood:
        """Return the lesson in the words of the record."""
        because = self.because or f"attempt{'s' if len(self.attempts) > 1 else ''} " + ", ".join(
            map(str, self.attempts)
        )
        when = self.fails.words if self.fails else terms.in_words(self.terms)
        ways = [r for i, r in enumerate(self.repairs) if r not in self.repairs[:i]][:REMEMBERED]
        return Nogood(
            when, because, self.kind, round(self.confidence, 4), self.hard, self.terms, self.fails, tuple(ways)
        )


def lessons_of(history: History) -> tuple[Lesson, ...]:
    """Return all that is known to fail, from this run and from earlier ones, surest first."""
    single = [_narrowed(lesson, history) for a in history.failures for lesson in _taught(a, history)]
    merged = _settled(_merged(single), history.ground)
    shared = [*_shared(history, merged), *_recurring(history, single), *_passed(history)]
    learned = [_learned(n) for n in history.ground.world.learned]
    learned += [Lesson((t,), LACKING, KNOWN, because=why, told=True) for t, why in lacking(history.ground)]
    good = history.ground.world.known_good
    known = [history.ground.names.view(good)] if good is not None else []
    healthy = [history.view(a) for a in history.healthy]
    tested = [
        *(_weighed(lesson, history) for lesson in merged),
        *(_tested(lesson, healthy, history.ground) for lesson in shared),
        *(_tested(lesson, [*healthy, *known], history.ground) for lesson in learned),
    ]
    return tuple(sorted((t for t in tested if t.confidence > 0), key=lambda t: (not t.hard, -t.confidence)))


def _learned(nogood: Nogood) -> Lesson:
    core = tuple(terms.thawed(t) for t in nogood.terms)
    because = f"an earlier run, {nogood.because}"
    known = Lesson(core, nogood.kind, nogood.confidence, hard=nogood.hard, because=because, fails=nogood.fails)
    return replace(known, repairs=nogood.repairs)


def _taught(attempt: Attempt, history: History) -> list[Lesson]:
    """Return what one failure teaches by itself."""
    ground, view = history.ground, history.view(attempt)
    if attempt.rung == "parse":
        return _of_parser(attempt, ground, view)
    found = _of_diagnosis(attempt, ground, view)
    cause = attempt.diagnosis.cause if attempt.diagnosis else None
    fingerprint = cause.fingerprint if cause else (attempt.outcome or "")
    kind = cause.kind if cause else "unknown"
    every = _whole(view, kind, rejected=attempt.outcome == "rejected" and ground.world.oracle_trusted)
    proposed = attempt.diagnosis.repairs if attempt.diagnosis else ()
    every = replace(every, undone=not_made(proposed, (), ground, view))
    return [replace(t, attempts=(attempt.n,), fingerprint=fingerprint) for t in (*found, every)]


def _of_parser(attempt: Attempt, ground: Ground, view: View) -> list[Lesson]:
    return [
        Lesson(core, UNRECOGNIZED if core[0].op == "set" else "args.invalid_value", 1.0, hard=True,
               attempts=(attempt.n,), repairs=finding.repairs)
        for finding in ground.findings(attempt.settings)
        for core in [_refused(finding.name, finding.fault, ground, view)]
    ]  # fmt: skip


def _refused(name: str, fault: str, ground: Ground, view: View) -> tuple[Term, ...]:
    first = ground.names.canonical(name)
    return (terms.same(first, view, ground.names),) if fault == "value" else (Term(first, "set"),)


def _whole(view: View, kind: str, *, rejected: bool) -> Lesson:
    core = (*(Term(n, "=", (v,)) for n, v in sorted(view.flags.items())),
            *(Term(n, "=", (v,), env=True) for n, v in sorted(view.env.items())))  # fmt: skip
    return Lesson(core, kind, 1.0 if rejected else 0.6, whole=True)


def _of_diagnosis(attempt: Attempt, ground: Ground, view: View) -> list[Lesson]:
    diagnosis = attempt.diagnosis
    if diagnosis is None or diagnosis.cause is None:
        return []
    cause = diagnosis.cause
    if diagnosis.constraint and (diagnosis.constraint.flags or diagnosis.constraint.env):
        return _of_constraint(diagnosis.constraint, cause, diagnosis.repairs, ground, view)
    if cause.kind == UNRECOGNIZED and (gone := _unrecognized(cause, diagnosis.repairs, ground, view)):
        return gone
    if holders(cause, view) == ():
        # Whatever is set, it is taken, until the ranks meet elsewhere.
        moved = elsewhere(diagnosis.repairs, ground)
        return [Lesson((), cause.kind, min(SUREST, cause.confidence), not_made(moved, (), ground, view), repairs=moved)]
    own = blamed(cause, attempt.effective, ground, view)
    core, guessed = own or named_by(diagnosis.repairs, ground, view), not own or late(cause, ground)
    if not core:
        return []
    confidence = min(SUREST, cause.confidence * (1.0 if cause.signature else UNNAMED))
    confidence = SURE_OF_SIZE if cause.kind == WEIGHTS and cause.signature else confidence
    undone = not_made(diagnosis.repairs, core, ground, view)
    cores = [core, *_as_resolved(core, ground, view)]
    return [Lesson(c, cause.kind, confidence, undone, repairs=diagnosis.repairs, guessed=guessed) for c in cores]


def _unrecognized(cause: Cause, repairs: tuple[Repair, ...], ground: Ground, view: View) -> list[Lesson]:
    """Return a condition for each flag that the engine's own parser does not know: it fails whatever its value."""
    gone = dict.fromkeys(ground.names.canonical(n) for r in repairs for n in r.unset)
    own = {n: tuple(r for r in repairs if n in map(ground.names.canonical, r.unset)) for n in gone if n in view.flags}
    return [Lesson((Term(n, "set"),), cause.kind, 1.0, hard=True, repairs=found) for n, found in own.items()]


def _as_resolved(core: tuple[Term, ...], ground: Ground, view: View) -> list[tuple[Term, ...]]:
    """Return the condition for a number the engine chose itself: a bound says nothing about a flag not given."""
    chosen = {t for t in core if t.op in {"<=", ">="} and terms.current(t, view, ground.names) is None}
    return [tuple(Term(t.name, "unset") if t in chosen else t for t in core)] if chosen else []


def _of_constraint(
    constraint: Constraint, cause: Cause, repairs: tuple[Repair, ...], ground: Ground, view: View
) -> list[Lesson]:
    """Return the condition as far as it could be read, and else the values it failed with.

    Hard is what settings alone decide: where the source hides nothing and the engine did not rewrite a value.
    """
    flags = [terms.same(ground.names.canonical(n), view, ground.names) for n in constraint.flags]
    core = (*flags, *(terms.same(n, view, ground.names, env=True) for n in constraint.env))
    exact = not constraint.opaque and all(_as_given(t, constraint.values, ground) for t in flags)
    sure, fails = min(SUREST, cause.confidence), constraint.fails
    undone = () if exact else not_made(repairs, core, ground, view)
    found = [Lesson(core, cause.kind, 1.0 if exact else sure, undone, hard=exact, repairs=repairs)]
    if fails is None or not ground.broken(fails, view):
        return found
    hard = exact and fails.exact
    known = Lesson(core, cause.kind, 1.0 if hard else sure, hard=hard, repairs=repairs, fails=fails)
    return [known, *(found if exact and not hard else ())]


def _as_given(term: Term, values: Mapping[str, Any], ground: Ground) -> bool:
    held = {ground.names.canonical(n.replace("_", "-")): v for n, v in values.items()}
    if term.name not in held:
        return False
    value = held[term.name]
    return (None if value is None else ground.names.value(term.name, value)) in term.value


def _merged(lessons: Iterable[Lesson]) -> list[Lesson]:
    """Join what several attempts teach alike: each repeats the evidence, each crosses off repairs that did not help."""
    groups: dict[tuple[object, bool], list[Lesson]] = {}
    for lesson in lessons:
        about = frozenset(lesson.core) if lesson.fails is None else repr(lesson.fails)
        groups.setdefault((about, lesson.whole), []).append(lesson)
    return [_joined(group) for group in groups.values()]


def _joined(group: list[Lesson]) -> Lesson:
    left = [t for t in group[0].undone if all(t in other.undone for other in group)]
    doubt = prod(1 - lesson.confidence for lesson in group)
    return replace(
        group[0],
        confidence=1 - doubt,
        undone=tuple(left),
        hard=any(lesson.hard for lesson in group),
        attempts=tuple(sorted({n for lesson in group for n in lesson.attempts})),
        repairs=tuple(r for lesson in group for r in lesson.repairs),
    )


def _settled(lessons: Sequence[Lesson], ground: Ground) -> list[Lesson]:
    """Take for proved that a port stays taken: whatever is set where no flag holds it, or with any port of a flag."""
    taken = [t for t in lessons if t.kind == PORT and not t.whole]
    none_left = [Lesson((term,), PORT, 1.0, hard=True) for term in spent((t.core for t in taken), ground)]
    return [*(replace(t, hard=True) if t in taken and not t.terms else t for t in lessons), *none_left]


def _shared(history: History, lessons: list[Lesson]) -> list[Lesson]:
    """Return, for a failure seen with several settings that nothing explains at once, what those have in common."""
    groups: dict[str, list[Attempt]] = {}
    for attempt in history.failures:
        cause = attempt.diagnosis.cause if attempt.diagnosis else None
        told = cause is not None and cause.kind in TOLD
        if attempt.launched and not told and (cause is not None or attempt.outcome == "hung"):
            groups.setdefault(cause.fingerprint if cause else "hung", []).append(attempt)
    return [t for print_, group in groups.items() if (t := _common(print_, group, history, lessons))]


def _recurring(history: History, lessons: list[Lesson]) -> Iterator[Lesson]:
    """Yield, for a condition that failed again with some of its terms changed, what stayed: it is likely enough."""
    read = {a.n for a in history.failures if a.diagnosis and a.diagnosis.constraint}
    groups: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        if not lesson.whole and lesson.fails is None and read.issuperset(lesson.attempts):
            groups.setdefault(lesson.fingerprint, []).append(lesson)
    for group in groups.values():
        stayed = frozenset.intersection(*(frozenset(lesson.core) for lesson in group))
        if stayed and all(stayed < set(lesson.core) for lesson in group):
            core = tuple(t for t in group[0].core if t in stayed)
            yield replace(_joined(group), core=core, confidence=RECURS, hard=False, undone=())


def _passed(history: History) -> Iterator[Lesson]:
    """Yield, for a failure that blames nothing and that some attempt got past by changing little, what that changed."""
    for attempt in filter(_blames_nothing, history.failures):
        mine = history.view(attempt)
        past = [b for b in (*history.failures, *history.healthy) if _got_past(b, attempt, history)]
        changed = [terms.differing(mine, history.view(b), history.ground.names) for b in past]
        core = min((c for c in changed if c), key=len, default=())
        if 0 < len(core) <= LITTLE:
            cause = attempt.diagnosis.cause if attempt.diagnosis else None
            kind, print_ = (cause.kind, cause.fingerprint) if cause else ("unknown", "")
            repairs = attempt.diagnosis.repairs if attempt.diagnosis else ()
            yield Lesson(core, kind, PASSED, attempts=(attempt.n,), repairs=repairs, fingerprint=print_)


def _blames_nothing(attempt: Attempt) -> bool:
    found = attempt.diagnosis
    read = found is not None and found.constraint is not None
    cause = found.cause if found else None
    return attempt.launched and not read and not (cause and (cause.blames or cause.blames_env))


def _got_past(other: Attempt, attempt: Attempt, history: History) -> bool:
    if not other.launched or other.n == attempt.n:
        return False
    return other.outcome == "healthy" or reached(other, history) > reached(attempt, history) >= 0


def _common(fingerprint: str, group: list[Attempt], history: History, lessons: list[Lesson]) -> Lesson | None:
    views = [history.view(a) for a in group]
    named = len(group) < MANY and all(_has_own(a, lessons) for a in group)
    # What a sum or a check of the engine explains is not laid on what the attempts happen to share.
    named = named or any(_understood(a, lessons) for a in group)
    if named or len({v.key for v in views}) < 2 or _explained(views, lessons, history.ground):
        return None
    guard = history.ground.guard
    free = [n for n in views[0].flags if not guard.protected(n) and not guard.unsuspected(n)]
    flags = [n for n in free if _alike(n, [v.flags for v in views])]
    env = [n for n in views[0].env if n not in guard.env and _alike(n, [v.env for v in views])]
    core = (*(Term(n, "=", (views[0].flags[n],)) for n in flags),
            *(Term(n, "=", (views[0].env[n],), env=True) for n in env))  # fmt: skip
    cause = group[0].diagnosis.cause if group[0].diagnosis else None
    kind, confidence = cause.kind if cause else "hang.startup", min(0.8, SUSPECTED + 0.05 * len(views))
    numbers, touched = tuple(a.n for a in group), {(t.name, t.env) for t in core}
    repairs = tuple(r for a in group if a.diagnosis for r in a.diagnosis.repairs if touches(r, touched, history.ground))
    lesson = Lesson(core, kind, confidence, attempts=numbers, repairs=repairs, fingerprint=fingerprint, guessed=True)
    return lesson if core else None


def _has_own(attempt: Attempt, lessons: list[Lesson]) -> bool:
    return any(attempt.n in t.attempts and not t.whole for t in lessons)


def _understood(attempt: Attempt, lessons: list[Lesson]) -> bool:
    own = [t for t in lessons if attempt.n in t.attempts]
    return any(t.fails is not None or any(c.op in {"<=", ">="} for c in t.core) for t in own)


def _alike(name: str, given: list[Mapping[str, Any]]) -> bool:
    return all(name in g and g[name] == given[0][name] for g in given)


def _explained(views: list[View], lessons: list[Lesson], ground: Ground) -> bool:
    one = [t for t in lessons if not t.whole]
    return any(all(_of_core(t, v, ground) for v in views) for t in one)


def _of_core(lesson: Lesson, view: View, ground: Ground) -> bool:
    held = (terms.holds(c, view, ground.names) for c in lesson.core)
    return all(held) if lesson.fails is None else lesson.holds(view, ground)


def _tested(lesson: Lesson, healthy: Sequence[View], ground: Ground) -> Lesson:
    """Hold an earlier run's or a shared lesson against what did not fail: healthy settings refute it."""
    if lesson.hard or not any(lesson.holds(view, ground) for view in healthy):
        return lesson
    return replace(lesson, confidence=0.0)


def _weighed(lesson: Lesson, history: History) -> Lesson:
    """Take back what repetition added where as many failures it should explain were diagnosed as something else."""
    if lesson.hard or lesson.whole or lesson.fails is not None or lesson.confidence <= CONFIRMED_ONCE:
        return lesson
    if not _about_the_playbook(lesson, history.ground):
        # Every launch repeats it, whatever it changes; that proves nothing.
        lesson = replace(lesson, confidence=min(lesson.confidence, SUREST))
    ends = {reached(a, history) for a in history.failures if a.n in lesson.attempts}
    others = [a for a in history.failures if a.launched and a.n not in lesson.attempts and reached(a, history) in ends]
    against = sum(lesson.holds(history.view(a), history.ground) for a in others)
    doubt = (1 - lesson.confidence) * CONTRADICTED**against
    return replace(lesson, confidence=max(CONFIRMED_ONCE, 1 - doubt))


def _about_the_playbook(lesson: Lesson, ground: Ground) -> bool:
    """Say whether a condition names anything that the playbook gives or a lever can give."""
    base = {(ground.names.canonical(n), False) for n in ground.playbook.flags}
    given = base | {(n, True) for n in ground.playbook.env} | set(ground.mentioned)
    return any((t.name, t.env) in given for t in lesson.core)


def _narrowed(lesson: Lesson, history: History) -> Lesson:
    """Hold what one failure teaches against settings that got further: it takes more than the lesson says.

    What distinguishes the failed settings from those that got further becomes part of the condition.
    """
    if lesson.fails is not None:
        return _refuted(lesson, history)
    if lesson.hard or lesson.whole:
        return lesson
    mine = next(history.view(a) for a in history.failures if a.n in lesson.attempts)
    for attempt in (*history.healthy, *_beyond(lesson, history)):
        theirs = history.view(attempt)
        if lesson.holds(theirs, history.ground):
            lesson = replace(lesson, core=(*lesson.core, *terms.differing(mine, theirs, history.ground.names)))
    return lesson


def _refuted(lesson: Lesson, history: History) -> Lesson:
    """Take back a condition that settings break which got past it: it was not read right."""
    past = (*history.healthy, *_beyond(lesson, history))
    wrong = any(lesson.holds(history.view(a), history.ground) for a in past)
    return replace(lesson, confidence=0.0, hard=False) if wrong else lesson


def _beyond(lesson: Lesson, history: History) -> list[Attempt]:
    """Return the attempts that failed later in the start than the lesson's own."""
    ends = [reached(a, history) for a in history.failures if a.n in lesson.attempts]
    if not ends or -1 in ends:
        return []
    return [a for a in history.failures if reached(a, history) > max(ends)]
