"""Memory sums: the legal interval of the memory fraction, from the lines a start prints.

Sizes are GiB per rank. P is what was free before the weights, A what was free after them, f the fraction of P that
weights and pools may fill, so R = P (1 - f) is what is left for everything else.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from relight.logs.progress import Progress
from relight.words.settings import Repair

MARGIN = 0.7
"""GiB kept free beyond what is known to be needed."""

STEP = 0.02
FRACTION = "mem-fraction-static"
UP = {"oom.gpu.kv_pool", "oom.gpu.mamba_cache", "oom.gpu.kv_runtime"}
DOWN = {"oom.gpu.graph_capture", "oom.gpu.activation", "oom.gpu.draft", "oom.gpu.comm", "oom.gpu.unspecified"}


@dataclass(frozen=True)
class Sums:
    """What the sums say: bounds of the fraction (None: not known) and the arithmetic in sentences."""

    low: float | None = None
    high: float | None = None
    fraction: float | None = None
    sentences: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Say whether no fraction can work."""
        return self.low is not None and self.high is not None and self.low > self.high


def sums(kind: str, facts: Mapping[str, Any], progress: Progress, fraction: float | None) -> Sums:
    """Return bounds of the fraction for a memory failure of this kind."""
    before, after = _least(progress, "load_begin", "avail"), _least(progress, "load_end", "avail")
    fraction = _number(facts.get("fraction")) or fraction
    up = direction(kind, facts)
    if up is None:
        return Sums()
    return _raise(facts, before, after, fraction) if up else _lower(facts, before, fraction)


def direction(kind: str, facts: Mapping[str, Any]) -> bool | None:
    """Say whether the fraction has to rise, None where it is not what matters.

    Where a pool had its share and the card had less than that, the share was too large.
    """
    if kind in UP:
        return not {"asked_gib", "free_gib"} <= facts.keys()
    return False if kind in DOWN else None


def right_way(repairs: Iterable[Repair], up: bool | None, fraction: float | None) -> tuple[Repair, ...]:
    """Return the repairs without those that would move the fraction away from where it has to go."""
    return tuple(r for r in repairs if up is None or fraction is None or not _wrong(r, fraction, up=up))


def _wrong(repair: Repair, fraction: float, *, up: bool) -> bool:
    value = _number(repair.set.get(FRACTION))
    return value is not None and (value <= fraction if up else value >= fraction)


def _least(progress: Progress, mark: str, fact: str) -> float | None:
    # A draft model is loaded after the target, into what the pools left: the first load tells what was there.
    values = [_number(f.get(fact)) for f in progress.first.get(mark, {}).values()]
    return min((v for v in values if v is not None), default=None)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _raise(facts: Mapping[str, Any], before: float | None, after: float | None, fraction: float | None) -> Sums:
    above = _number(facts.get("above"))
    if above is not None:
        said: tuple[str, ...] = (f"The engine asks for a fraction above {above:g}.",)
        return _sums(above, None, fraction, said)
    if before and after is not None:
        low = 1 - after / before
        said = (
            f"Before the weights {before:g} GiB were free, after them {after:g} GiB.",
            f"The pools get something only above 1 - {after:g}/{before:g} = {low:.3f}.",
        )
        return _sums(low, None, fraction, said)
    return Sums(fraction=fraction)


def _lower(facts: Mapping[str, Any], before: float | None, fraction: float | None) -> Sums:
    asked, free = _number(facts.get("asked_gib")), _number(facts.get("free_gib"))
    if not before or fraction is None or asked is None or free is None:
        return Sums(fraction=fraction)
    lack = max(asked - free, 0.0) + MARGIN
    high = fraction - lack / before
    said = (
        f"{asked:g} GiB were asked for, {free:g} GiB were free: {lack:.2f} GiB are missing, margin included.",
        f"Of {before:g} GiB the fraction may fill {fraction:g} - {lack:.2f}/{before:g} = {high:.3f} at most.",
    )
    return _sums(None, high, fraction, said)


def _sums(low: float | None, high: float | None, fraction: float | None, said: tuple[str, ...]) -> Sums:
    facts = {"mem_fraction_low": low, "mem_fraction_high": high, "mem_fraction": fraction}
    kept = {name: round(value, 4) for name, value in facts.items() if value is not None}
    return Sums(low, high, fraction, said, kept)


def memory_repairs(found: Sums, name: str | None) -> list[Repair]:
    """Return the change of the fraction that the sums ask for; none where they know no bound."""
    value = _value(found)
    if name is None or value is None or found.empty:
        return []
    why = found.sentences[-1] if found.sentences else ""
    gives_up = "room for activations and graphs" if found.low is not None else "room in the KV pool"
    return [Repair(set={name: value}, why=why, origin="memory", cost=0.8, gives_up=gives_up)]


def _value(found: Sums) -> float | None:
    if found.low is not None and found.low < 0.99:
        value = min(found.low + STEP, 0.99)
        return round(value, 3) if found.fraction is None or value > found.fraction else None
    if found.high is not None and found.high > 0.05:
        return round(found.high - 0.005, 3)
    return None
