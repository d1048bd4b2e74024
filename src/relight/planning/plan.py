"""The next step of a run, as a pure function of its record."""

from collections.abc import Sequence
from dataclasses import replace

from relight.planning import passing, win_back
from relight.planning.choose import Choice, choose
from relight.planning.ground import Ground, ground_of
from relight.planning.history import History, history_of, of_weights
from relight.planning.lessons import Lesson, lessons_of
from relight.planning.options import in_short, options_of
from relight.planning.search import Found
from relight.planning.typos import refuse_typos
from relight.planning.world import World
from relight.words.attempt import Option, Record, Rung
from relight.words.playbook import Playbook
from relight.words.settings import Repair
from relight.words.step import Ask, Candidate, Clean, Exhausted, Launch, Person, Plan, Reject, Spent, Step, Wait

LONG_LOAD = 300.0  # seconds; below this a launch with dummy weights saves nothing


def next_step(record: Record, playbook: Playbook, world: World) -> Plan:
    """Return what to do next: Launch, Ask, Reject, Wait, Clean, Person, Exhausted or Spent.

    After a healthy attempt: Launch to win a lever back where the budget allows it, to restore the healthy settings
    after a failed try, or to start them again when their server died (`world.died`).
    Raise UsageError for a flag that no version of the engine knows, before anything was launched.
    """
    ground = ground_of(playbook, world)
    history = history_of(record, ground)
    if not history.launches:
        refuse_typos(playbook, world, ground)
    lessons = lessons_of(history)
    step = _step(history, lessons)
    options = options_of(history, lessons, proof=isinstance(step, Exhausted))
    return Plan(_within_budget(step, history, lessons), tuple(t.nogood() for t in lessons if not t.told), options)


def options_now(record: Record, playbook: Playbook, world: World) -> tuple[Option, ...]:
    """Return every way the settings could be changed and what became of it, as the record stands."""
    history = history_of(record, ground_of(playbook, world))
    return options_of(history, lessons_of(history))


def next_win(record: Record, playbook: Playbook, world: World) -> Launch | None:
    """Return the launch that tries to win a dropped lever back after a healthy attempt, None if none is left."""
    history = history_of(record, ground_of(playbook, world))
    return win_back.win(history, lessons_of(history)) if history.healthy else None


def _step(history: History, lessons: Sequence[Lesson]) -> Step:
    known = _real_after_dummy(history) or win_back.after_healthy(history, lessons)
    return known or passing.person(history) or passing.again(history) or _search(history, lessons)


def _real_after_dummy(history: History) -> Launch | None:
    last = history.last
    if last is None or last.rung != "dummy" or last.outcome != "healthy":
        return None
    return Launch(history.candidate(last), "real", "dummy weights passed")


def _search(history: History, lessons: Sequence[Lesson]) -> Step:
    choice = choose(history, lessons)
    if not choice.found:
        return _nothing_left(choice, history, lessons)
    first = choice.found[0]
    return _refused(first, history) or _asked(choice, history) or _launch(first, choice, history)


def _nothing_left(choice: Choice, history: History, lessons: Sequence[Lesson]) -> Step:
    if choice.cut:
        options = options_of(history, lessons)
        return Spent(options, "more combinations are left than can be weighed; protect flags or drop levers")
    options = options_of(history, lessons, proof=True)
    if history.ground.start is None:
        without = [lv.name for lv, p in zip(history.ground.levers, history.ground.positions, strict=True) if not p]
        return Exhausted(options, f"no variant of {without[0]} fits this engine, and it may not be off")
    launches = len(history.launches)
    return Exhausted(options, f"every option was tried or is excluded, after {launches} launches")


def _refused(found: Found, history: History) -> Reject | None:
    """Return the record of a refusal that is known without a launch."""
    candidate = _candidate(found, history)
    if found.findings:
        return Reject(candidate, "parse", "; ".join(f.text for f in found.findings))
    answer = history.answers.get(found.view.key)
    if answer is None or not answer.refused or not history.ground.world.oracle_trusted:
        return None
    return Reject(candidate, "validate", f"{answer.type}: {answer.message}".strip(": "))


def _asked(choice: Choice, history: History) -> Ask | None:
    """Return the question to the host's validation about what comes first, and about what would come next."""
    if not history.ground.world.can_ask or choice.found[0].view.key in history.answers:
        return None
    new = [f for f in choice.found if f.view.key not in history.answers and not f.findings]
    return Ask(tuple(_candidate(f, history) for f in new), "the engine's own validation costs no launch")


def _launch(found: Found, choice: Choice, history: History) -> Launch:
    candidate = _candidate(found, history)
    because = choice.because or _because(candidate, history)
    return Launch(candidate, _rung(found, history), because)


def _because(candidate: Candidate, history: History) -> str:
    last = history.last
    if last is None:
        return "as the playbook asks" if not candidate.changes else "; ".join(r.why for r in candidate.changes)
    moved = [r.why for r in candidate.changes if r not in last.changes]
    levers = [
        f"{name} {'off' if p is None else f'at variant {p}'}"
        for name, p in candidate.choice.items()
        if last.choice.get(name) != p
    ]
    return "; ".join(dict.fromkeys([*moved, *levers])) or "gives up least of what is not known to fail"


def _candidate(found: Found, history: History) -> Candidate:
    answer = history.answers.get(found.view.key)
    passed = answer is not None and answer.passed
    repairs = tuple(replace(r, confirmed=True) if passed else r for r in found.node.repairs)
    return history.ground.candidate(found.node, _marked(repairs, history.ground))


def _marked(repairs: tuple[Repair, ...], ground: Ground) -> tuple[Repair, ...]:
    return tuple(replace(r, alters_answers=True) if ground.guard.alters_answers(r) else r for r in repairs)


def _rung(found: Found, history: History) -> Rung:
    """Return dummy where the playbook allows it, loading takes long, and the failure at hand is not about weights."""
    world, last = history.ground.world, history.last
    slow = history.ground.playbook.budget.dummy and (world.load_seconds or 0.0) > LONG_LOAD
    if not slow or last is None or last.outcome not in {"crashed", "hung"}:
        return "real"
    cause = last.diagnosis.cause if last.diagnosis else None
    if cause is None or of_weights(cause) or cause.phase == "serving":
        return "real"
    passed = any(
        a.rung == "dummy" and a.outcome == "healthy" and history.key(a) == found.view.key for a in history.ended
    )
    return "real" if passed else "dummy"


def _within_budget(step: Step, history: History, lessons: Sequence[Lesson]) -> Step:
    """Return `step`, or Spent where it would cost what is no longer there."""
    if isinstance(step, Exhausted | Spent | Person):
        return step
    budget, world = history.ground.playbook.budget, history.ground.world
    deadline = budget.deadline if world.deadline is None else world.deadline
    attempts = budget.attempts if world.max_attempts is None else world.max_attempts
    if world.spent_seconds >= deadline:
        return Spent(options_of(history, lessons), f"{deadline:g} s are over; next: {_next(step, history)}")
    if isinstance(step, Launch | Wait | Clean) and len(history.launches) >= attempts and not _restores(step, history):
        return Spent(
            options_of(history, lessons), f"the {attempts} launches allowed are used up; next: {_next(step, history)}"
        )
    return step


def _restores(step: Step, history: History) -> bool:
    """Say whether a step brings healthy settings back: that is owed, whatever the budget says."""
    healthy = [history.key(a) for a in history.healthy]
    return isinstance(step, Launch) and history.ground.names.view(step.candidate.settings).key in healthy


def _next(step: Step, history: History) -> str:
    """Say what would come next: the repairs that are new in it, and why."""
    because = str(getattr(step, "because", ""))
    if not isinstance(step, Launch | Reject):
        return because
    made = history.last.changes if history.last else ()
    new = "; ".join(in_short(r) for r in step.candidate.changes if r not in made)
    return f"{new} ({because})" if new and because else new or because or "the settings as asked for"
