"""The least that must be given up, by trying everything."""

from collections.abc import Iterator, Mapping
from itertools import product

from planning_spaces.engine import first_fault
from planning_spaces.spaces import BACKENDS, Space
from relight.words.playbook import Lever
from relight.words.settings import Repair, Settings

WEIGHT = {"message": 0.25, "memory": 0.25, "isolation": 1.0}


def loss(space: Space, choice: tuple[int, ...]) -> float:
    """Return what a choice of variants (positions from 0, the last is off) gives up."""
    parts = zip(space.playbook.levers, choice, strict=True)
    return sum(lv.keep if lv.variants[p].off else lv.keep * p / len(lv.variants) for lv, p in parts)


def lost(space: Space, flags: Mapping[str, object]) -> float:
    """Return what launched flags give up of the levers, changes of base flags left out."""
    return loss(space, tuple(_position(lever, flags) for lever in space.playbook.levers))


def _position(lever: Lever, flags: Mapping[str, object]) -> int:
    given = (all(flags.get(n) == v for n, v in variant.flags.items()) for variant in lever.variants)
    return next(i for i, there in enumerate(given) if there)


def choices(space: Space) -> Iterator[tuple[int, ...]]:
    """Yield all choices of variants."""
    yield from product(*(range(len(lever.variants)) for lever in space.playbook.levers))


def flags_of(space: Space, choice: tuple[int, ...]) -> dict[str, object]:
    """Return the flags of a choice, without repairs."""
    flags: dict[str, object] = dict(space.playbook.flags)
    for lever, position in zip(space.playbook.levers, choice, strict=True):
        flags.update(lever.variants[position].flags)
    return flags


def optimum(space: Space) -> float | None:
    """Return the least that healthy settings give up, None if nothing is healthy."""
    best: float | None = None
    for lost, choice in sorted((loss(space, c), c) for c in choices(space)):
        if best is not None and lost >= best:
            return best
        cost = _mended(space, flags_of(space, choice), best, lost)
        best = cost if best is None or (cost is not None and cost < best) else best
    return best


def _mended(space: Space, flags: dict[str, object], best: float | None, cost: float) -> float | None:
    """Return the least cost of repairs that make `flags` healthy, on top of `cost`."""
    fault = first_fault(space, Settings(flags))
    if fault is None:
        return cost
    found: list[float] = []
    for repair in (*fault.proposed(flags), *_steps(fault.blames, flags)):
        price = cost + repair.cost * WEIGHT[repair.origin]
        if best is None or price < best:
            after = Settings(flags).changed(repair).flags
            deeper = _mended(space, dict(after), best, price) if after != flags else None
            found += [deeper] if deeper is not None else []
    return min(found, default=None)


def _steps(blames: tuple[str, ...], flags: dict[str, object]) -> Iterator[Repair]:
    """Yield the other values of a blamed base flag."""
    if "backend" in blames and flags.get("backend") in BACKENDS:
        below = BACKENDS[BACKENDS.index(str(flags["backend"])) + 1 :]
        for i, value in enumerate(below):
            yield Repair({"backend": value}, origin="isolation", cost=round(1.0 + i * 0.1, 3))
        yield Repair(unset=("backend",), origin="isolation", cost=1.0 + len(below) * 0.1)
