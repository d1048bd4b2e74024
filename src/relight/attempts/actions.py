"""What to do next, as a pure function of the record and of what the host says now."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from relight.attempts.order import Mode
from relight.planning.options import in_short
from relight.words.attempt import Attempt, Record, State
from relight.words.step import Clean, Exhausted, Launch, Person, Plan, Reject, Spent, Step, Wait

FAILED = frozenset({"crashed", "hung", "sick", "rejected", "aborted"})


@dataclass(frozen=True)
class Follow:
    """Start attempt `n` (again: that is safe) and watch it to its verdict."""

    n: int


@dataclass(frozen=True)
class Stop:
    """Stop what runs or is left of attempt `n`: it failed, had dummy weights, or makes room for a lever."""

    n: int


@dataclass(frozen=True)
class Diagnose:
    """Name the cause of attempt `n`."""

    n: int


@dataclass(frozen=True)
class Carry:
    """Carry out a planned step."""

    plan: Plan


@dataclass(frozen=True)
class End:
    """End the run."""

    state: State
    reason: str
    next: str = ""
    plan: Plan | None = None


Action: TypeAlias = Follow | Stop | Diagnose | Carry | End


def next_action(
    record: Record,
    mode: Mode,
    stopped: frozenset[int],
    plan: Callable[[], Plan],
    win: Callable[[], Launch | None],
    died: int | None = None,
) -> Action:
    """Return the next action. `stopped` are the attempts known to have nothing left, `died` a healthy one that died.

    `plan` and `win` (a lever to be won back from a healthy server) are asked only where they are needed.
    """
    last = record.attempts[-1] if record.attempts else None
    unfinished = _unfinished(last, stopped, died)
    if unfinished:
        return unfinished
    if last and last.outcome == "healthy" and last.rung == "real" and last.n != died:
        return _healthy(last, stopped, win())
    if mode == "deploy" and last:
        return _end_of_deploy(last, plan())
    planned = plan()
    return _ending(planned) or Carry(planned)


def _healthy(last: Attempt, stopped: frozenset[int], win: Launch | None) -> Action:
    if win is None:
        return End("healthy", "the server answers correctly")
    return Carry(Plan(win)) if last.n in stopped else Stop(last.n)


def _unfinished(last: Attempt | None, stopped: frozenset[int], died: int | None) -> Action | None:
    if last is None:
        return None
    if last.launched and last.outcome is None:
        return Follow(last.n)
    failed = last.outcome in FAILED or last.n == died
    over = failed or (last.outcome == "healthy" and last.rung == "dummy")
    if over and last.launched and last.n not in stopped:
        return Stop(last.n)
    if failed and last.diagnosis is None:
        return Diagnose(last.n)
    return None


def _end_of_deploy(last: Attempt, plan: Plan) -> End:
    if isinstance(plan.step, Person):
        return End("person", plan.step.because, plan.step.next, plan)
    cause = last.diagnosis.cause if last.diagnosis else None
    return End("failed", cause.summary if cause else "the cause could not be named", described(plan.step), plan)


def _ending(plan: Plan) -> End | None:
    step = plan.step
    if isinstance(step, Person):
        return End("person", step.because, step.next, plan)
    if isinstance(step, Exhausted):
        return End("exhausted", step.because, "", plan)
    if isinstance(step, Spent):
        return End("budget", step.because, "", plan)
    return None


def described(step: Step) -> str:
    """Return the step as a sentence for the record of a `deploy`."""
    match step:
        case Launch(candidate, rung, because):
            changes = "; ".join(in_short(r) for r in candidate.changes)
            how = "launch with dummy weights" if rung == "dummy" else "launch"
            return f"{how}{f' with {changes}' if changes else ''}: {because}"
        case Reject(_, rung, because):
            return f"pass over what {rung} refuses, without a launch: {because}"
        case Wait(seconds, because):
            return f"wait {seconds:.0f} s and look again: {because}"
        case Clean(because):
            return f"clear what is left of failed attempts: {because}"
        case Exhausted(_, because):
            return f"nothing is left to try: {because}"
    return getattr(step, "because", "")
