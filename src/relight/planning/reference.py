"""Settings known to work, as points of the search: of earlier runs, the playbook's own, and halfway back to them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from relight.planning.ground import Ground, Node
from relight.planning.history import History
from relight.planning.names import View
from relight.planning.passing import signature_of
from relight.planning.settings import keeps
from relight.words.attempt import Attempt
from relight.words.settings import Origin, Repair, Settings

EARLIER = "these settings were healthy in an earlier run"
PLAYBOOKS = "these settings are the playbook's [fallback]"
COST_PER_CHANGE = 0.1
COST_OF_FALLBACK = 1.0


def known_good(history: History) -> Iterator[Node]:
    """Yield the settings that were healthy in an earlier run, if they leave what is protected alone."""
    good = history.ground.world.known_good
    if good is not None:
        node = _node_of(good, history.ground, EARLIER)
        if node is not None:
            yield node


def fallback(ground: Ground) -> Iterator[Node]:
    """Yield the settings that the playbook says work: dear, because they undo what nothing may be wrong with."""
    settings = _fallback(ground)
    node = _node_of(settings, ground, PLAYBOOKS, "isolation", COST_OF_FALLBACK) if settings else None
    if node is not None:
        yield node


def _fallback(ground: Ground) -> Settings | None:
    """Return the playbook's fallback with what is protected, and the host's variables, added to it."""
    given = ground.playbook.fallback
    if given is None or ground.start is None:
        return None
    start, named = ground.settings(ground.start), {ground.names.canonical(n) for n in given.flags}
    flags = {
        n: v for n, v in start.flags.items() if ground.guard.protected(n) and ground.names.canonical(n) not in named
    }
    env = {n: v for n, v in start.env.items() if n in ground.guard.env or n in ground.world.host_env}
    return Settings({**flags, **given.flags}, {**env, **given.env})


def _node_of(
    settings: Settings, ground: Ground, why: str, origin: Origin = "operator", cost: float = COST_PER_CHANGE
) -> Node | None:
    node = Node(tuple(_position(i, settings, ground) for i in range(len(ground.levers))))
    repair = _priced(_difference(ground.settings(node), settings, ground), why, origin, cost)
    if not repair:
        return node
    # Flags of ours that the engine no longer has are dropped by the refusal, and with them the whole proposal.
    return None if ground.guard.refusal(repair) else node.plus(repair)


def _position(lever: int, settings: Settings, ground: Ground) -> int | None:
    """Return the position of the variant that `settings` hold most of, off if they hold none."""
    fit = [p for p in ground.positions[lever] if p is not None]
    held = [p for p in fit if keeps(ground.variant(lever, p), settings, ground.names)]
    best = max(held, key=lambda p: _likeness(lever, p, settings, ground), default=None)
    return best if best is not None or None in ground.positions[lever] else fit[0]


def _likeness(lever: int, position: int, settings: Settings, ground: Ground) -> tuple[int, int]:
    variant = ground.variant(lever, position)
    view = ground.names.view(settings)
    same = sum(view.flags.get(ground.names.canonical(n)) == ground.names.value(n, v) for n, v in variant.flags.items())
    return same - len(variant.flags), -position


def _priced(repair: Repair, why: str, origin: Origin, cost: float) -> Repair:
    size = len(repair.names) + len(repair.variables)
    return replace(repair, why=why, origin=origin, cost=size * cost)


def _difference(ours: Settings, theirs: Settings, ground: Ground) -> Repair:
    a, b = ground.names.view(ours), ground.names.view(theirs)
    written = {ground.names.canonical(n): v for n, v in theirs.flags.items()}
    return Repair(
        set={ground.names.spell(n): written[n] for n in b.flags if a.flags.get(n) != b.flags[n]},
        unset=tuple(ground.names.spell(n) for n in a.flags if n not in b.flags),
        set_env={n: theirs.env[n] for n in b.env if a.env.get(n) != b.env[n]},
        unset_env=tuple(n for n in a.env if n not in b.env),
    )


def known_to_work(history: History) -> Settings | None:
    """Return settings that were healthy in an earlier run, or else the playbook's fallback."""
    return history.ground.world.known_good or _fallback(history.ground)


def suspects_halved(history: History) -> Iterator[Node]:
    """Yield, after a failure nobody could name, settings that go halfway back to those known to work."""
    last, good = history.last, known_to_work(history)
    if last is None or good is None or last not in history.failures or _named(last, history.ground):
        return
    suspects = _suspects(last, good, history)
    half = suspects[: (len(suspects) + 1) // 2]
    node = _halfway(last, good, half, history.ground) if half else None
    if node is not None:
        yield node


def _named(attempt: Attempt, ground: Ground) -> bool:
    """Say whether a failure points at something: what only fits its kind does not."""
    cause, signature = attempt.diagnosis.cause if attempt.diagnosis else None, signature_of(attempt, ground)
    told = cause is not None and bool(cause.blames or cause.blames_env)
    return told or (signature is not None and not signature.generic)


def _suspects(last: Attempt, good: Settings, history: History) -> list[tuple[str, bool]]:
    """Return the flags and (True) variables that differ from the good settings in every failure of this kind.

    Those that steer the place of the failure come first.
    """
    theirs, now = _values(history.ground.names.view(good)), _values(history.view(last))
    alike = [_values(history.view(a)) for a in history.failures if _print(a) == _print(last)]
    cause = last.diagnosis.cause if last.diagnosis else None
    near = {history.ground.names.canonical(n) for n in (cause.suspects if cause else ())}
    free = [n for n in {*now, *theirs} if not _protected(n, history.ground)]
    names = sorted(free, key=lambda n: (n[0] not in near, n[1], n[0]))
    return [n for n in names if now.get(n) != theirs.get(n) and all(f.get(n) == now.get(n) for f in alike)]


def _protected(name: tuple[str, bool], ground: Ground) -> bool:
    return name[0] in ground.guard.env if name[1] else ground.guard.protected(name[0])


def _values(view: View) -> dict[tuple[str, bool], Any]:
    return {(n, False): v for n, v in view.flags.items()} | {(n, True): v for n, v in view.env.items()}


def _print(attempt: Attempt) -> str:
    cause = attempt.diagnosis.cause if attempt.diagnosis else None
    return cause.fingerprint if cause else str(attempt.outcome)


def _halfway(last: Attempt, good: Settings, names: list[tuple[str, bool]], ground: Ground) -> Node | None:
    choice = tuple(last.choice.get(lever.name) for lever in ground.levers)
    written = {ground.names.canonical(n): v for n, v in good.flags.items()}
    flags, env = [n for n, is_env in names if not is_env], [n for n, is_env in names if is_env]
    repair = Repair(
        set={ground.names.spell(n): written[n] for n in flags if n in written},
        unset=tuple(ground.names.spell(n) for n in flags if n not in written),
        set_env={n: good.env[n] for n in env if n in good.env},
        unset_env=tuple(n for n in env if n not in good.env),
        why="half of what differs from the settings known to work",
        origin="operator",
        cost=0.0,
    )
    return None if ground.guard.refusal(repair) else Node(choice, (*last.changes, repair))
