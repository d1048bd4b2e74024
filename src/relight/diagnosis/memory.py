"""Memory sums: the legal interval of the memory fraction, from the lines a start prints.

Sizes are GiB per rank. P is what was free before the weights, A what was free after them, f the fraction of P that
weights and pools may fill, so R = P (1 - f) is what is left for everything else, and A - R is left for the pools.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil, log2
from typing import Any

from relight.diagnosis.graphs import SERVING, of_prefill, reserve, to_come
from relight.logs.progress import Progress
from relight.words.settings import FlagValue, Repair

MARGIN = 0.7
"""GiB kept free beyond what is known to be needed."""

STEP = 0.02
INSIDE = 0.005
"""How far inside a bound the fraction stays."""
MOST = 0.97
"""The largest fraction there is, where nothing else is known."""
LEAST_POOL = 0.02
"""The part of P below which pools are not worth a server."""
POOL = 0.05
"""The part of P that is asked for where weights have to leave the card for the pools."""
FULL_FROM = 0.95
"""Weights that fill so much of P leave no room for a server, whatever the fraction."""
FULL_BESIDE = 0.85
"""The same where weights are kept in host memory anyhow: a few more there cost less than a server without room."""
HALF = 0.5
"""The part of P that leaves the card where nothing says by how much the weights are too large."""
GUESS = 32
"""The same in GiB, where P is not known either."""
GRAIN = 4
"""GiB in which weights leave the card."""
LARGE = 1.0
"""GiB from which on what a step asked for at once is most of what it needs."""
MOST_HALVINGS = 5
DRAFT = 2.0
"""GiB of a draft model, as engines reckon that load it after the pools."""
COST = 0.8
COST_OF_POOL = 5.0
"""What a lower fraction costs, and what it costs more for the whole of the pools."""

CAPTURE, DRAFTING, WEIGHTS = "oom.gpu.graph_capture", "oom.gpu.draft", "oom.gpu.weights"
STATES, TAKEN, FULL = "states", "taken", "full"
"""Why no fraction gives the KV pool room: signatures ask for them as if they were phases."""
PREFILL = "prefill graphs"
"""What was captured, for signatures that ask for it in the same way."""
UP = {"oom.gpu.kv_pool", "oom.gpu.mamba_cache", "oom.gpu.kv_runtime"}
PROPORTIONAL = {CAPTURE, "oom.gpu.activation"}
"""What asks for memory in proportion to the requests or tokens that are worked on at once."""
SLIGHT = 0.1
DOWN = {CAPTURE, "oom.gpu.activation", DRAFTING, "oom.gpu.comm", "oom.gpu.unspecified"}


@dataclass(frozen=True)
class Room:
    """P, A and f, None where they are not known, the largest fraction, and the part of P that weights may fill."""

    before: float | None = None
    after: float | None = None
    fraction: float | None = None
    most: float = MOST
    full: float = FULL_FROM

    @property
    def low(self) -> float | None:
        """Return the fraction below which nothing is left for the pools."""
        return 1 - self.after / self.before if self.before and self.after is not None else None

    @property
    def pool(self) -> float | None:
        """Return the GiB that the fraction leaves for the pools."""
        if self.before is None or self.low is None or self.fraction is None:
            return None
        return (self.fraction - self.low) * self.before


@dataclass(frozen=True)
class Sums:
    """What the sums say: bounds of the fraction (None: not known) and the arithmetic in sentences.

    `why` says why no fraction helps, `lost` what part of the pools the fraction at `high` takes away, `aim`
    what should be tried below `high`, `floor` below which a fraction that falls leaves no pool.
    """

    low: float | None = None
    high: float | None = None
    fraction: float | None = None
    sentences: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    lost: float = 0.0
    aim: float | None = None
    floor: float | None = None

    @property
    def hopeless(self) -> bool:
        """Say whether no fraction can work."""
        return bool(self.why) or (self.low is not None and self.high is not None and self.low > self.high)


def sums(
    kind: str,
    facts: Mapping[str, Any],
    progress: Progress,
    fraction: float | None,
    most: float = MOST,
    *,
    drafts: bool = False,
    offloads: bool = False,
) -> Sums:
    """Return bounds of the fraction for a memory failure of this kind.

    `drafts` where a draft model is loaded too, `offloads` where weights are kept in host memory.
    """
    before, after = _least(progress, "load_begin", "avail"), _least(progress, "load_end", "avail")
    room = Room(before, after, _number(facts.get("fraction")) or fraction or _left_over(before, progress), most)
    room = replace(room, full=FULL_BESIDE) if offloads else room
    up = direction(kind, facts)
    if kind == WEIGHTS:
        return _too_large(room, _number(facts.get("total_gib")))
    if up is None:
        return Sums()
    if not up:
        more = _to_come(kind, facts, progress)
        return _with_reserve(_lower(facts, room, more), _beyond(kind, facts, progress, drafts=drafts), room)
    return _stated(facts, room) or _beyond_the_fraction(room, progress) or _raise(room)


def _to_come(kind: str, facts: Mapping[str, Any], progress: Progress) -> tuple[float, str] | None:
    """Return the GiB that the failing step would have asked for next, with words for it, None where nothing says so."""
    if kind == DRAFTING:
        return _of_the_target(facts, progress)
    return to_come(progress, _number(facts.get("asked_gib"))) if kind == CAPTURE else None


def _left_over(before: float | None, progress: Progress) -> float | None:
    """Return the fraction that the engine chose itself: what pools left free is what it does not give them."""
    left = _least(progress, "pool_end", "avail")
    return round(1 - left / before, 3) if before and left is not None and left < before else None


def _beyond(kind: str, facts: Mapping[str, Any], progress: Progress, *, drafts: bool) -> float:
    """Return the GiB that should be free beyond what is proved to be missing, for all that comes after the failure."""
    if kind == CAPTURE:
        draft = DRAFT if drafts and _second(progress, "load_end") is None else 0.0
        return draft + reserve(progress, _number(facts.get("asked_gib")))
    return SERVING - MARGIN + (_rest_of_draft(facts, progress) if kind == DRAFTING else 0.0)


def _rest_of_draft(facts: Mapping[str, Any], progress: Progress) -> float:
    """Return the GiB of a draft model that were not yet asked for when memory ran out."""
    begun, free = _second(progress, "load_begin"), _number(facts.get("free_gib"))
    taken = begun - free if begun is not None and free is not None else 0.0
    return max(DRAFT - max(taken, 0.0), 0.0)


def _of_the_target(facts: Mapping[str, Any], progress: Progress) -> tuple[float, str] | None:
    """Return the GiB a draft model still asks for that is loaded as a second target, with words for it.

    It is one where a piece of it is larger than the whole of what drafts are.
    """
    begun, ended = _second(progress, "load_begin"), _second(progress, "load_end")
    before, after = _least(progress, "load_begin", "avail"), _least(progress, "load_end", "avail")
    asked, free = _number(facts.get("asked_gib")), _number(facts.get("free_gib"))
    if ended is not None or before is None or after is None or asked is None or free is None or asked <= DRAFT:
        return None
    more = before - after - asked - max((begun or free) - free, 0.0)
    words = f"; a draft with pieces of that size is as large as the target, and some {more:.1f} GiB more of it follow"
    return (more, words) if more > 0 else None


def _second(progress: Progress, mark: str) -> float | None:
    """Return the least that was free at a mark which ranks came to a second time: with the draft model."""
    first = progress.first.get(mark, {})
    values = [_number(f.get("avail")) for rank, f in progress.facts.get(mark, {}).items() if f is not first[rank]]
    return min((v for v in values if v is not None), default=None)


def situation(kind: str, found: Sums, progress: Progress) -> str:
    """Return what signatures may ask for beside the kind, "" where nothing is special."""
    if kind == CAPTURE:
        return PREFILL if of_prefill(progress) else ""
    return found.why if kind == "oom.gpu.kv_pool" else ""


def direction(kind: str, facts: Mapping[str, Any]) -> bool | None:
    """Say whether the fraction has to rise, None where it is not what matters.

    Where a pool had its share and the card had less than that, the share was too large.
    """
    if kind in UP:
        return not {"asked_gib", "free_gib"} <= facts.keys()
    return False if kind in DOWN else None


def right_way(repairs: Iterable[Repair], up: bool | None, found: Sums, flag: str) -> tuple[Repair, ...]:
    """Return the repairs without those that move `flag`, the fraction, the wrong way or not far enough."""
    return tuple(r for r in repairs if flag not in r.set or up is None or not _wrong(r.set[flag], found, up=up))


def _wrong(wanted: FlagValue, found: Sums, *, up: bool) -> bool:
    value, now = _number(wanted), found.fraction
    if found.hopeless or value is None:
        return found.hopeless
    if up:
        return any(bound is not None and value <= bound for bound in (now, found.low))
    too_low = found.floor is not None and value <= found.floor
    return too_low or any(bound is not None and value >= bound for bound in (now, found.high))


def _least(progress: Progress, mark: str, fact: str) -> float | None:
    # A draft model is loaded after the target, into what the pools left: the first load tells what was there.
    values = [_number(f.get(fact)) for f in progress.first.get(mark, {}).values()]
    return min((v for v in values if v is not None), default=None)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _beyond_the_fraction(room: Room, progress: Progress) -> Sums | None:
    """Return sums that say why pools without room do not get it from the fraction, None where they may."""
    if room.before is None or room.after is None or room.low is None:
        return None
    if room.low > room.full:
        return _full(room, room.before, room.after, room.low)
    if room.pool is None or room.fraction is None:
        return None
    more = max(room.most - room.fraction, 0.0) * room.before
    if room.pool < max(more, LEAST_POOL * room.before):
        return None
    said = (
        f"Of {room.after:g} GiB free after the weights the fraction leaves {room.pool:.1f} GiB for the pools.",
        f"Something else took all of it: the fraction can add {more:.1f} GiB more at most, so it is not what lacks.",
    )
    why = STATES if "states" in progress.facts else TAKEN
    return Sums(fraction=room.fraction, sentences=said, facts={"taken_gib": round(room.pool, 2)}, why=why)


def _too_large(room: Room, total: float | None) -> Sums:
    """Return sums for weights that did not load: nothing tells by how much they are too large."""
    before = room.before or total
    if before is None:
        return Sums(facts={"spill_gib": GUESS})
    spill = ceil(before * HALF / GRAIN) * GRAIN
    said = f"Before the weights {before:g} GiB were free, and not all were loaded: {spill} GiB of them go elsewhere."
    return Sums(fraction=room.fraction, sentences=(said,), facts={"spill_gib": spill})


def _full(room: Room, before: float, after: float, low: float) -> Sums:
    """Return sums for weights that fill the card, with the GiB of them that have to go elsewhere."""
    said = (
        f"Before the weights {before:g} GiB were free, after them {after:g} GiB.",
        f"Pools would get something only above 1 - {after:g}/{before:g} = {low:.3f}: the weights fill the card.",
    )
    if room.fraction is None:
        return Sums(sentences=said, why=FULL)
    lack = before * (1 - room.fraction + POOL) - after
    spill = ceil(lack / GRAIN) * GRAIN
    more = f"Beside {room.fraction:g} of it and {POOL:.0%} for the pools, {lack:.1f} GiB of the weights are too many."
    return Sums(fraction=room.fraction, sentences=(*said, more), facts={"spill_gib": spill}, why=FULL)


def _stated(facts: Mapping[str, Any], room: Room) -> Sums | None:
    """Return sums from what the message itself says is missing, None where it says nothing or less than is given."""
    above, rest, fraction = _number(facts.get("above")), _number(facts.get("rest")), room.fraction
    if above is not None and (fraction is None or above > fraction):
        return _bounded(room, above, None, (f"The engine asks for a fraction above {above:g}.",))
    if rest is None or rest >= 0 or not room.before or fraction is None:
        return None
    low = fraction - rest / room.before
    said = (
        f"{-rest:g} GiB are missing: the fraction must be above {fraction:g} + {-rest:g}/{room.before:g} = {low:.3f}."
    )
    return replace(_bounded(room, low, None, (said,)), why=STATES if low > room.most else "")


def _raise(room: Room) -> Sums:
    if room.before is None or room.after is None or room.low is None:
        return Sums(fraction=room.fraction)
    said = (
        f"Before the weights {room.before:g} GiB were free, after them {room.after:g} GiB.",
        f"The pools get something only above 1 - {room.after:g}/{room.before:g} = {room.low:.3f}.",
    )
    return _bounded(room, room.low, None, said)


def _lower(facts: Mapping[str, Any], room: Room, more: tuple[float, str] | None) -> Sums:
    asked, free = _number(facts.get("asked_gib")), _number(facts.get("free_gib"))
    if not room.before or room.fraction is None or asked is None or free is None:
        return Sums(fraction=room.fraction, floor=room.low)
    further, words = more or (0.0, "")
    lack = max(asked + further - free, 0.0) + MARGIN
    high = room.fraction - lack / room.before
    said = (
        f"{asked:g} GiB were asked for, {free:g} GiB were free{words}: {lack:.2f} GiB are missing, {MARGIN:g} GiB"
        " to spare included.",
        f"Of {room.before:g} GiB the fraction may fill {room.fraction:g} - {lack:.2f}/{room.before:g} = {high:.3f}"
        " at most.",
    )
    least = None if room.low is None else room.low + LEAST_POOL
    if least is not None and least > high:
        fills = f"The weights alone fill {room.low:.3f} of it, so no fraction leaves room for both."
        return _bounded(room, least, high, (*said, fills))
    lost = lack / room.pool if room.pool and room.pool > 0 else 0.0
    found = _bounded(room, None, high, said)
    floor = {} if room.low is None else {"mem_fraction_low": round(room.low, 4)}
    return replace(found, lost=min(lost, 1.0), floor=room.low, facts={**found.facts, **floor})


def _with_reserve(found: Sums, extra: float, room: Room) -> Sums:
    """Return the sums with what should be free beyond the bound, which the bound itself does not prove."""
    if found.hopeless or found.high is None or not room.before:
        return found
    aim = found.high - extra / room.before
    if found.floor is not None:
        aim = min(max(aim, found.floor + LEAST_POOL), found.high)
    more = f"With {round(extra, 2):g} GiB more for what comes after it and to serve with, {aim:.3f}"
    said = f"{more}; a little below it, {_below(aim):g}."
    lost = found.lost + (extra / room.pool if room.pool and room.pool > 0 else 0.0)
    return replace(found, aim=aim, lost=min(lost, 1.0), sentences=(*found.sentences, said))


def halvings(kind: str, facts: Mapping[str, Any]) -> dict[str, int]:
    """Return how often what a step works on has to be halved for it to fit, where what it asked for says so."""
    asked, free = _number(facts.get("asked_gib")), _number(facts.get("free_gib"))
    if kind not in PROPORTIONAL or asked is None or free is None or asked < LARGE:
        return {}
    return {"halvings": min(max(ceil(log2(asked / max(free, SLIGHT))), 1), MOST_HALVINGS)}


def _bounded(room: Room, low: float | None, high: float | None, said: tuple[str, ...]) -> Sums:
    facts = {"mem_fraction_low": low, "mem_fraction_high": high, "mem_fraction": room.fraction}
    kept = {name: round(value, 4) for name, value in facts.items() if value is not None}
    return Sums(low, high, room.fraction, said, kept)


def memory_repairs(found: Sums, name: str | None) -> list[Repair]:
    """Return the change of the fraction that the sums ask for; none where they know no bound.

    Lowering it gives up a part of the pools, and costs the more the larger that part is.
    """
    value = _value(found)
    if name is None or value is None or found.hopeless:
        return []
    why = " ".join(found.sentences[-2:] if found.aim is not None else found.sentences[-1:])
    gives_up = "room for activations and graphs" if found.low is not None else "room in the KV pool"
    cost = round(COST + COST_OF_POOL * found.lost, 2)
    return [Repair(set={name: value}, why=why, origin="memory", cost=cost, gives_up=gives_up)]


def _value(found: Sums) -> float | None:
    if found.low is not None and found.low < 0.99:
        value = min(found.low + STEP, 0.99)
        return round(value, 3) if found.fraction is None or value > found.fraction else None
    if found.high is not None and found.high > 0.05:
        return _below(found.high if found.aim is None else found.aim)
    return None


def _below(bound: float) -> float:
    """Return the fraction to take where one has to stay below a bound."""
    return round(max(bound, 0.05) - INSIDE, 3)
