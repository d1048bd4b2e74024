"""What restarters and tuners do: a fixed list of single changes, random settings, Optuna's TPE."""

import importlib.util
from collections.abc import Iterator
from random import Random

from planning_spaces.engine import first_fault
from planning_spaces.optimum import choices, flags_of
from planning_spaces.spaces import BACKENDS, Space
from relight.words.settings import Settings

MOST = 60
FIXED: tuple[tuple[str, tuple[object, ...]], ...] = (
    ("memory", (0.85, 0.8, 0.75)),
    ("batch", (64, 8)),
    ("backend", BACKENDS[1:]),
)


def healthy(space: Space, flags: dict[str, object]) -> bool:
    """Say whether a launch with these flags ends well."""
    return first_fault(space, Settings(flags)) is None


def one_flag_list(space: Space) -> list[dict[str, object]]:
    """Return the launches of a fixed list of changes, each on top of the ones before, least wanted levers first."""
    launched: list[dict[str, object]] = []
    for flags in _fallbacks(space):
        launched.append(flags)
        if healthy(space, flags):
            break
    return launched


def _fallbacks(space: Space) -> Iterator[dict[str, object]]:
    choice = [0] * len(space.playbook.levers)
    extra: dict[str, object] = {}
    yield flags_of(space, tuple(choice))
    for name, values in FIXED:
        for value in values:
            extra[name] = value
            yield flags_of(space, tuple(choice)) | extra
    for i in sorted(range(len(choice)), key=lambda i: space.playbook.levers[i].keep):
        for position in range(1, len(space.playbook.levers[i].variants)):
            choice[i] = position
            yield flags_of(space, tuple(choice)) | extra


def at_random(space: Space) -> list[dict[str, object]]:
    """Return the launches of a search that draws settings it did not have yet."""
    random = Random(space.seed)
    pool = [(c, m, b) for c in choices(space) for m in (0.9, 0.85, 0.8, 0.75) for b in BACKENDS]
    launched: list[dict[str, object]] = []
    for choice, memory, backend in random.sample(pool, min(MOST, len(pool))):
        flags = flags_of(space, choice) | {"memory": memory, "backend": backend}
        launched.append(flags)
        if healthy(space, flags):
            break
    return launched


def tpe(space: Space) -> list[dict[str, object]] | None:
    """Return the launches of Optuna's TPE with a crash as the worst value; None where Optuna is not installed."""
    if importlib.util.find_spec("optuna") is None:
        return None
    import optuna  # noqa: PLC0415  optional: only this rival needs it

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=space.seed, n_startup_trials=5))
    launched: list[dict[str, object]] = []

    def objective(trial: "optuna.Trial") -> float:
        levers = space.playbook.levers
        choice = tuple(trial.suggest_int(lv.name, 0, len(lv.variants) - 1) for lv in levers)
        memory = trial.suggest_categorical("memory", (0.9, 0.85, 0.8, 0.75))
        flags = flags_of(space, choice) | {"memory": memory, "backend": trial.suggest_categorical("backend", BACKENDS)}
        launched.append(flags)
        if healthy(space, flags):
            study.stop()
            return 0.0
        return 1e6

    study.optimize(objective, n_trials=MOST)
    return launched
