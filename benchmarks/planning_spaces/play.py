"""A run of the planner in a space, and what it cost."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from time import process_time

from planning_spaces.engine import diagnosed, first_fault, wrong
from planning_spaces.spaces import Space
from relight.planning.equal import key
from relight.planning.plan import next_step
from relight.planning.world import World
from relight.words.attempt import Attempt, Nogood, Record
from relight.words.diagnosis import Diagnosis
from relight.words.settings import Settings
from relight.words.step import Answer, Ask, Launch, Plan, Reject

MOST_STEPS = 600


@dataclass
class Played:
    """One run: how it ended, what it launched and gave up, and what it did that it must not do."""

    space: Space
    end: str = ""
    given_up: float = 0.0
    launched: list[Settings] = field(default_factory=list)
    rungs: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    repeats: int = 0
    condemned: int = 0
    rejected: int = 0
    nogoods: tuple[Nogood, ...] = ()

    @property
    def launches(self) -> int:
        """Count the launches."""
        return len(self.launched)


def play(space: Space, *, wrongly: float = 0.0, ask: bool = False, world: World | None = None) -> Played:
    """Run the planner until it ends; `wrongly` is the share of diagnoses replaced by wrong ones."""
    random = Random(space.seed + 1)
    played, attempts = Played(space), list[Attempt]()
    world = world or World(
        parser=space.parser, version="1.0", knowledge=space.knowledge, can_ask=ask, load_seconds=600.0
    )
    record = Record("r", "f", "p", "h", ("h",))

    def tell(settings: Settings) -> Diagnosis | None:
        fault = first_fault(space, settings)
        if fault is None:
            return None
        mistaken = random.random() < wrongly
        return wrong(fault, settings, random) if mistaken else diagnosed(fault, settings)

    for _ in range(MOST_STEPS):
        began = process_time()
        plan = next_step(replace(record, attempts=tuple(attempts)), space.playbook, world)
        played.seconds.append(process_time() - began)
        world = _carried_out(plan, played, attempts, world, tell)
        if played.end:
            return played
    played.end = "no end"
    return played


def _carried_out(
    plan: Plan, played: Played, attempts: list[Attempt], world: World, tell: Callable[[Settings], Diagnosis | None]
) -> World:
    step = plan.step
    played.nogoods = plan.nogoods
    if isinstance(step, Launch):
        _launched(plan, step, played, attempts, tell)
    elif isinstance(step, Ask):
        answers = tuple((c.settings, _answer(played.space, c.settings)) for c in step.candidates)
        return replace(world, answers=(*world.answers, *answers))
    elif isinstance(step, Reject):
        played.rejected += 1
        attempts.append(_attempt(step, len(attempts) + 1, step.rung, tell(step.candidate.settings), "rejected"))
    else:
        played.end = type(step).__name__.lower()
    return world


def _answer(space: Space, settings: Settings) -> Answer:
    fault = first_fault(space, settings)
    return Answer(fault is None or fault.phase > 0, "ValueError", "refused")


def _launched(
    plan: Plan, step: Launch, played: Played, attempts: list[Attempt], tell: Callable[[Settings], Diagnosis | None]
) -> None:
    settings, n = step.candidate.settings, len(attempts) + 1
    mine = key(settings, played.space.parser)
    played.repeats += any(key(s, played.space.parser) == mine for s in played.launched)
    played.condemned += any(_hit(nogood, settings) for nogood in plan.nogoods if nogood.hard)
    played.launched.append(settings)
    played.rungs.append(step.rung)
    found = tell(settings)
    attempts.append(_attempt(step, n, step.rung, found, "crashed" if found else "healthy"))
    if found is None and step.rung == "real":
        played.end, played.given_up = "healthy", step.candidate.cost


def _hit(nogood: Nogood, settings: Settings) -> bool:
    """Say whether settings match a nogood; only equality, lack and presence occur among hard ones here."""
    return all(_true(t.op, settings.flags.get(t.name), t.value) for t in nogood.terms)


def _true(op: str, value: object, wanted: object) -> bool:
    values = [str(w) for w in wanted] if isinstance(wanted, tuple) else [str(wanted)]
    tests = {"=": str(value) in values, "!=": str(value) not in values, "set": value is not None}
    return tests.get(op, value is None)


def _attempt(step: Launch | Reject, n: int, rung: str, found: Diagnosis | None, outcome: str) -> Attempt:
    candidate = step.candidate
    return Attempt(n, rung, candidate.settings, changes=candidate.changes, outcome=outcome, diagnosis=found,
                   choice=candidate.choice)  # type: ignore[arg-type]  # fmt: skip
