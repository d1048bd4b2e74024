"""A plan without a launch: what would come first, and what after each failure that is likely."""

from collections.abc import Iterator
from typing import Any

from relight.planning.ground import Ground, ground_of
from relight.planning.options import in_short
from relight.planning.plan import next_step
from relight.planning.settings import version_fits
from relight.planning.world import World
from relight.words.attempt import Attempt, Record
from relight.words.diagnosis import Cause, Diagnosis
from relight.words.playbook import Playbook
from relight.words.settings import Repair, Settings
from relight.words.signature import Remedy, Signature
from relight.words.step import Candidate, Launch, Reject, Step

MOST_REFUSALS = 50


def plan(playbook: Playbook, world: World) -> list[dict[str, Any]]:
    """Return the first steps of a run, then for each likely failure of the first launch the step after it.

    Each entry is ready for JSON: `when` ("first" or the failure's title), `step`, `because`, and for launches
    `settings`, `changes` and `levers`. A failure is likely if its signature blames what the first launch is given.
    Raise UsageError as `next_step` does.
    """
    ground = ground_of(playbook, world)
    attempts, entries = list[Attempt](), list[dict[str, Any]]()
    step = _step(attempts, playbook, world)
    while isinstance(step, Reject) and len(attempts) < MOST_REFUSALS:
        entries.append(_entry("first", step))
        attempts.append(_attempt(step.candidate, len(attempts) + 1, step))
        step = _step(attempts, playbook, world)
    entries.append(_entry("first", step))
    if isinstance(step, Launch):
        entries += _after(step, attempts, ground)
    return entries


def _step(attempts: list[Attempt], playbook: Playbook, world: World) -> Step:
    # A dry run asks nobody: what validation would refuse shows in the real run.
    asked_nobody = World(**{**vars(world), "can_ask": False})
    record = Record("", "", playbook.name, "", (), attempts=tuple(attempts))
    return next_step(record, playbook, asked_nobody).step


def _after(first: Launch, before: list[Attempt], ground: Ground) -> Iterator[dict[str, Any]]:
    settings = first.candidate.settings
    for signature in ground.world.knowledge.signatures:
        if _likely(signature, settings, ground):
            failed = _attempt(first.candidate, len(before) + 1, first, _supposed(signature, settings, ground))
            step = _step([*before, failed], ground.playbook, ground.world)
            yield {"signature": signature.id, "kind": signature.kind, **_entry(signature.title, step)}


def _likely(signature: Signature, settings: Settings, ground: Ground) -> bool:
    if signature.role != "root" or not version_fits(signature.versions, ground.world.version):
        return False
    given = {ground.names.canonical(n) for n in settings.flags}
    flags = {ground.names.canonical(n) for n in signature.blames}
    return bool(flags & given or set(signature.blames_env) & set(settings.env))


def _supposed(signature: Signature, settings: Settings, ground: Ground) -> Diagnosis:
    family, summary = signature.kind.partition(".")[0], signature.summary or signature.title
    cause = Cause(family, signature.kind, signature.id, signature.id, None, "", None, None, 0.9,
                  summary, blames=signature.blames, blames_env=signature.blames_env)  # fmt: skip
    repairs = tuple(r for m in signature.remedies for r in _repairs(m, settings, ground))
    return Diagnosis("", "failed", cause=cause, repairs=repairs, action=signature.action)


def _repairs(remedy: Remedy, settings: Settings, ground: Ground) -> Iterator[Repair]:
    """Yield a remedy as a repair, unless it needs facts that only a log gives."""
    needs = all(ground.names.has(n) for n in remedy.needs) and version_fits(remedy.versions, ground.world.version)
    moved = {n: _moved(n, by, settings, ground) for n, by in remedy.add.items()}
    values = {**remedy.set, **moved}
    open_ = any("{" in str(v) for v in (*values.values(), *remedy.set_env.values())) or None in values.values()
    if needs and not open_:
        yield Repair({n: v for n, v in values.items() if v is not None}, remedy.unset, remedy.set_env, remedy.unset_env,
                     why=remedy.why, cost=remedy.cost, gives_up=remedy.gives_up)  # fmt: skip


def _moved(name: str, by: float, settings: Settings, ground: Ground) -> float | None:
    value = ground.names.view(settings).flags.get(ground.names.canonical(name))
    return round(value + by, 6) if isinstance(value, int | float) else None


def _attempt(candidate: Candidate, n: int, step: Launch | Reject, found: Diagnosis | None = None) -> Attempt:
    return Attempt(n, step.rung, candidate.settings, changes=candidate.changes, choice=candidate.choice,
                   outcome="rejected" if isinstance(step, Reject) else "crashed", diagnosis=found)  # fmt: skip


def _entry(when: str, step: Step) -> dict[str, Any]:
    entry: dict[str, Any] = {"when": when, "step": type(step).__name__.lower(), "because": getattr(step, "because", "")}
    if isinstance(step, Launch | Reject):
        candidate = step.candidate
        entry |= {
            "rung": step.rung,
            "settings": {"flags": dict(candidate.settings.flags), "env": dict(candidate.settings.env)},
            "changes": [in_short(r) for r in candidate.changes],
            "levers": dict(candidate.choice),
        }
    return entry
