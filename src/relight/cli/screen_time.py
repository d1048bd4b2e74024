"""How long a start goes on: by history, by this run's own launches, and by the progress at hand. Pure."""

from relight.cli.screen_state import View

_SLOWER = 1.25
_SLOWER_BY = 15.0
_TOO_EARLY = 5.0


def left(view: View, now: float) -> float | None:
    """Return the seconds until this start is healthy; None without a history that knows the phase at hand."""
    usual = dict(view.expected)
    if not view.alive or view.furthest not in usual:
        return None
    order = [name for name, _ in view.expected]
    rest = sum(view.lengths.get(name, usual[name]) for name in order[order.index(view.furthest) + 1 :])
    return rest + max(_left_of_furthest(view, now), left_in_phase(view, now) or 0.0)


def _left_of_furthest(view: View, now: float) -> float:
    """Return what is left until a phase that is new begins; a second model goes through old ones meanwhile."""
    if view.phase == view.furthest:
        return 0.0
    return max(0.0, (usually(view, view.furthest) or 0.0) - (now - view.reached))


def left_in_phase(view: View, now: float) -> float | None:
    """Return the seconds until the next phase, None where neither the past nor any progress tells.

    The more is done, the more its pace counts and the less what was usual: a first shard out of a cold cache, or out
    of a warm one, says little about the others.
    """
    usual = usually(view, view.phase) if view.phase == view.furthest else None
    rest = None if usual is None else max(0.0, usual - (now - view.reached))
    passed = now - view.since
    done, total = view.step or (0, 0)
    if not done or passed < _TOO_EARLY:
        return rest
    paced = passed * (total - done) / done
    weight = min(1.0, done / total)
    return paced if rest is None else paced * weight + rest * (1 - weight)


def usually(view: View, name: str) -> float | None:
    """Return how many seconds a phase took before: in this run, else in the last healthy start."""
    return view.lengths.get(name, dict(view.expected).get(name))


def slower(view: View, now: float) -> float | None:
    """Return how long the phase at hand took before, where it takes notably longer now."""
    usual = usually(view, view.phase) if view.since == view.reached else None
    passed = now - view.since
    return usual if usual is not None and passed > max(usual * _SLOWER, usual + _SLOWER_BY) else None
