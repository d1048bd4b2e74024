"""A plan without a launch: what would follow on each failure that is likely."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from relight.planning.ground import Ground, ground_of
from relight.planning.plan import next_step
from relight.planning.settings import version_fits
from relight.planning.world import World
from relight.words.attempt import Attempt, Record
from relight.words.diagnosis import Cause, Diagnosis
from relight.words.playbook import Playbook
from relight.words.settings import Repair, Settings
from relight.words.signature import Remedy, Signature
from relight.words.step import Launch, Step


@dataclass(frozen=True)
class IfFailed:
    """A failure a launch may meet, and the step that would follow on it."""

    title: str
    kind: str
    signature: str
    step: Step


def after_failure(first: Launch, before: Sequence[Attempt], playbook: Playbook, world: World) -> tuple[IfFailed, ...]:
    """Return the step after each likely failure of `first`, which follows on the attempts `before`.

    A failure is likely if its signature is a specific one and blames what the launch is given. Nobody is asked: what
    validation would refuse shows in the real run. Remedies that need facts only a log gives are left out.
    """
    ground = ground_of(playbook, replace(world, can_ask=False))
    settings = first.candidate.settings
    return tuple(
        IfFailed(signature.title, signature.kind, signature.id, _step(first, before, signature, ground))
        for signature in ground.world.knowledge.signatures
        if _likely(signature, settings, ground)
    )


def _step(first: Launch, before: Sequence[Attempt], signature: Signature, ground: Ground) -> Step:
    candidate = first.candidate
    failed = Attempt(len(before) + 1, first.rung, candidate.settings, changes=candidate.changes,
                     choice=candidate.choice, outcome="crashed",
                     diagnosis=_supposed(signature, candidate.settings, ground))  # fmt: skip
    record = Record("", "", ground.playbook.name, "", (), attempts=(*before, failed))
    return next_step(record, ground.playbook, ground.world).step


def _likely(signature: Signature, settings: Settings, ground: Ground) -> bool:
    if signature.role != "root" or signature.generic or not version_fits(signature.versions, ground.world.version):
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
