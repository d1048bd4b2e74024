"""The next number of a flag that a message wants larger or smaller."""

from relight.diagnosis.given import Given

FACTOR = 2
STEP = 0.05


def stepped(name: str, given: Given, *, more: bool) -> int | float | None:
    """Return the flag's number one step up or down within its bounds; None where nothing tells what a step is."""
    fact, now = given.facts.get(name), given.in_effect(name)
    low, high = fact.bounds if fact and fact.bounds else (1, float("inf"))
    if isinstance(now, int | float) and not isinstance(now, bool):
        value = _moved(now, more=more)
        kept = min(max(value, low), high)
        return (int(kept) if isinstance(now, int) else round(kept, 3)) if kept != now else None
    steps = [v for v in (fact.ladder if fact else ()) if isinstance(v, int | float)]
    return (steps[0] if more else steps[len(steps) // 2]) if steps else None


def _moved(now: float, *, more: bool) -> float:
    if isinstance(now, float) and now <= 1:
        return now + STEP if more else now - STEP
    return now * FACTOR if more else now // FACTOR
