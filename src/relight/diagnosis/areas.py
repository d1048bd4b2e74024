"""Where in the engine a failure happened, and which repairs fit that place and what is in use."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from relight.diagnosis.candidates import Candidate
from relight.diagnosis.evidence import NEAR, Evidence
from relight.diagnosis.given import Given
from relight.diagnosis.match import bounded
from relight.diagnosis.remedies import repairs_from
from relight.diagnosis.traceback import Block
from relight.words.area import Area, Areas
from relight.words.kinds import family
from relight.words.settings import Repair
from relight.words.signature import Signature

ARGS = "args"
NEVER = {"", "none", "null", "false"}
"""Values with which no flag switches anything on."""
_WORD = re.compile(r"(?<![\w.-])[a-z]\w+\b(?!\.\w)")
"""A word by itself: what is a part of a dotted name (a weight, a module) is a name of something else."""
INNER = 2
NEARER = 0.001
NEAREST = 2
"""Repairs of the nearest area that come before the first of the next."""
MOST = 8
ENOUGH = 3
"""Remedies of a signature beside which those of the place are not needed."""
LIKELIER = 2
"""How much more a repair may give up that the message speaks of, and still be tried first."""
BEHIND = 3.0
"""What a repair of the place costs more than it gives up where the failure's own are known: those are tried first."""


@dataclass(frozen=True)
class Place:
    """Where a failure happened: the areas it names, the nearest first, among all there are.

    `inside` are those that frames show. `seen` is what the log says elsewhere.
    """

    areas: Areas
    given: Given
    found: tuple[Area, ...] = ()
    inside: tuple[Area, ...] = ()
    message: str = ""
    text: str = ""
    seen: str = ""
    kind: str = "unknown"
    frames: tuple[str, ...] = ()

    @property
    def told(self) -> tuple[Area, ...]:
        """Return the areas that the message itself speaks of."""
        return tuple(a for a in self.found if _any(a.text, self.text))

    @property
    def sure(self) -> bool:
        """Say whether what failed is what the frames show: some faults show later, elsewhere."""
        return not (_among(self.kind, self.areas.late) or _any(self.areas.asynchronous, self.text))

    @property
    def compiled(self) -> bool:
        """Say whether a compiler tells why."""
        return _among(self.kind, self.areas.compiled)

    @property
    def bare_carrier(self) -> bool:
        """Say whether the innermost frame shows what carries layers to have failed by itself."""
        raising = [a for a in self.inside if _any(a.frames, self.frames[0])]
        graphs = any(a.excludes for a in self.inside) and not any(a.layer for a in self.inside)
        return self.sure and graphs and any(a.excludes or a.parts for a in raising)

    @property
    def late(self) -> bool:
        """Say whether the failure was only noticed where it is reported: what failed ran before."""
        told = _any(self.areas.asynchronous, self.text) and not _any(self.areas.on_device, self.message)
        return told and _among(self.kind, self.areas.blind) and not self.waited

    @property
    def unseen(self) -> bool:
        """Say whether the log leaves open which kernel failed."""
        return self.late or (_among(self.kind, self.areas.blind) and _any(self.areas.on_device, self.message))

    @property
    def waited(self) -> bool:
        """Say whether every call waited for its kernel."""
        wanted = self.given.platform.waiting if self.given.platform else {}
        return bool(wanted) and all(self.given.env.get(name) == value for name, value in wanted.items())

    @property
    def known(self) -> bool:
        """Say whether the launch is known, so that what nothing speaks of is probably not in use."""
        return bool(self.given.flags or self.given.fields)

    @property
    def curable(self) -> bool:
        """Say whether flags of an area may cure this kind."""
        return _among(self.kind, self.areas.kinds)

    def without_carriers(self) -> "Place":
        """Return the place without what only carried a layer that failed: it would fail the same anywhere."""
        layered = any(a.layer for a in self.inside) and self.sure
        return replace(self, found=tuple(a for a in self.found if not a.carrier)) if layered else self

    @property
    def refused(self) -> bool:
        """Say whether something was refused or is missing, so that other kernels change nothing."""
        return _among(self.kind, self.areas.refused) or _any(self.areas.refusals, self.message)

    @property
    def blamed(self) -> tuple[str, ...]:
        """Return the flags of the command that ask for what is missing."""
        asked = [n for a in self.found for n in a.on if _switches(self.given.value(n), a.off)] if self.bare else []
        return tuple(dict.fromkeys(n for name in asked if (n := self.given.written(name))))

    def steered(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the flags that steer the nearest part of the engine, () where a failure may show elsewhere."""
        near = (self.inside or self.found)[:1] if self.sure else ()
        patterns = [p for area in near for p in (*area.on, *area.flags)]
        return tuple(n for n in dict.fromkeys(names) if _among(n, patterns))

    @property
    def bare(self) -> bool:
        """Say whether only what can be switched off is spoken of."""
        return _among(self.kind, self.areas.bare)


def place_of(root: Candidate, evidence: Evidence, given: Given, areas: Areas) -> Place:
    """Return the place of a failure."""
    kind = root.claim.signature.kind if root.claim else "unknown"
    block = root.block or (_asking(root, evidence) if _among(kind, areas.compiled) else None)
    frames = block.places.split("\n")[::-1] if block else []
    seen = f"{bounded(root.text)}\n{evidence.around(root.index)}"
    used = [area for area in areas.all if in_use(area, given, seen) is not False]
    text = "\n".join(map(bounded, (root.text, evidence.after(root.index), *_sources(root))))
    if not any("sglang/" in frame for frame in frames):
        # A library's own frames do not say what called it; lines of an abridged traceback nearby may.
        frames = [*frames, *evidence.files_near(root.index)]
    named = _named_by_value(root.text, given)
    scores = {a.name: _told(a, text) + 2 * any(_among(n, a.flags) for n in named) + _depth(a, frames) for a in used}
    scores = _with_parts(used, scores)
    found = sorted((a for a in used if scores[a.name]), key=lambda a: -scores[a.name])
    inside = tuple(a for a in found if _depth(a, frames))
    place = Place(areas, given, tuple(found), inside, bounded(root.text), text, seen, kind, tuple(frames))
    return place.without_carriers()


def _asking(root: Candidate, evidence: Evidence) -> Block | None:
    """Return the first traceback below a compiler's line: in it ended the call that asked for what was compiled."""
    blocks = (chain[0] for chain in evidence.chains if chain[0].frames)
    return next((b for b in blocks if 0 < evidence.index(b.start.number) - root.index <= NEAR), None)


def _with_parts(areas: Iterable[Area], scores: Mapping[str, float]) -> dict[str, float]:
    """Return scores in which a part that is named stands just before the area it is a part of."""
    parts = {part: scores[a.name] + NEARER for a in areas for part in a.parts if scores.get(part)}
    return {name: max(score, parts.get(name, 0.0)) for name, score in scores.items()}


def _sources(root: Candidate) -> Iterator[str]:
    """Yield the source of the innermost frames: what it computes with has telling names."""
    yield from (frame.text for frame in reversed(root.block.frames[-INNER:])) if root.block else ()


def _named_by_value(text: str, given: Given) -> list[str]:
    """Return the flags one of whose values a message names, by names that no sentence holds by chance."""
    words = {word for word in _WORD.findall(text) if "_" in word}
    flags = given.parser if given.parser and words else ()
    return [flag.name for flag in flags if words & set(flag.choices)]


def _told(area: Area, text: str) -> float:
    """Say how much a message is about an area: what it speaks of first is what it is about."""
    first = min((m.start() for regex in _compiled(area.text) if (m := regex.search(text))), default=None)
    return 0.0 if first is None else 2 + 1 / (2 + first / len(text) * 2)


def _depth(area: Area, frames: Sequence[str]) -> float:
    """Say how far inside the frames an area is."""
    depth = next((n for n, frame in enumerate(frames) if _any(area.frames, frame)), None)
    return 0.0 if depth is None else 1 + 1 / (1 + depth)


def _any(patterns: tuple[str, ...], text: str) -> bool:
    return any(regex.search(text) for regex in _compiled(patterns))


@lru_cache(maxsize=512)
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(p) for p in patterns)


def _among(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def in_use(area: Area, given: Given, seen: str) -> bool | None:
    """Say whether an area is in use in this launch, None where nothing tells."""
    if _asked(area, given):
        return True
    if area.on and (given.flags or given.fields):
        return False
    if not (area.on or area.words) or _any(area.words, seen):
        return True
    named = " ".join(str(v) for v in (*given.flags.values(), given.fields.get("model_path", "")))
    return True if not area.on and _any(area.words, named) else None


def _asked(area: Area, given: Given) -> bool:
    return any(_switches(given.value(name), area.off) for name in area.on)


def _switches(value: Any, off: tuple[str, ...]) -> bool:
    text = str(value).lower()
    return value is not None and text not in NEVER and text not in off


def fitting(own: Sequence[Repair], place: Place) -> tuple[list[Repair], list[Repair]]:
    """Return repairs without those for what is not in use or for another layer; apart from them those in doubt."""
    doubts = [(_doubt(repair, place), repair) for repair in own]
    fit, doubted = ([r for doubt, r in doubts if doubt == wanted] for wanted in (0, 1))
    return fit, doubted


def _doubt(repair: Repair, place: Place) -> int:
    """Return 0 for a repair that fits the place, 1 where that is in doubt, 2 where it cannot help."""
    owners = _owners(repair, place)
    if _asks_for_what_runs(repair, owners, place):
        return 2
    if _excluded(owners, place):
        return 2 if place.sure else 1
    if not owners or any(a in place.found for a in owners):
        return 0
    used = [in_use(a, place.given, place.seen) for a in owners]
    asked = bool(repair.set or repair.set_env)
    if asked and not any(u is not False for u in used) and not any(n in a.on for a in owners for n in repair.set):
        return 2
    own, inside = {a.layer for a in owners}, {a.layer for a in place.inside if a.layer}
    if inside and "" not in own and not own & inside:
        return 2 if place.sure else 1
    return 0 if any(used) or (asked and not place.known) else 1


def _owners(repair: Repair, place: Place) -> list[Area]:
    return [a for a in place.areas.all if _steers(a, repair)]


def _excluded(owners: Sequence[Area], place: Place) -> bool:
    """Say whether frames show what the area of a repair has no part in."""
    out = {name for area in place.inside for name in area.excludes}
    return any(a.name in out and a not in place.inside for a in owners)


def _asks_for_what_runs(repair: Repair, owners: Sequence[Area], place: Place) -> bool:
    """Say whether a repair names the very backend whose code the frames show: that would change nothing."""
    inside = [frame for frame in place.frames if any(_any(area.frames, frame) for area in owners)]
    words = [re.escape(value) for value in repair.set.values() if isinstance(value, str) and value]
    of = "/{0}(?:_\\w+)?_(?:backend|kernels?)\\.py |/{0}_ops/|_runner/{0}\\.py "
    return any(re.search(of.format(word), frame) for word in words for frame in inside)


def area_repairs(
    place: Place, facts: Mapping[str, Any], version: str | None, own: Sequence[Repair] = ()
) -> list[Repair]:
    """Return the repairs of the areas a failure names: two of the nearest, then one of each in turn.

    Those that a signature has for the nearest area, `own`, count as its first.
    What was refused, or lacks a module, is not in need of other kernels: there a feature is switched off.
    """
    if not place.curable:
        return []
    refused = place.refused
    lists = [_repairs(area, place, facts, version, off=refused) for area in place.found if area.on or not place.bare]
    if lists:
        mine = [r for r in own if _steers(place.found[0], r)]
        lists[0] = [*mine, *(r for r in lists[0] if not _repeated(r, mine))]
    nearest = 1 if refused else NEAREST
    near, further = (lists[0][:nearest], [lists[0][nearest:], *lists[1:]]) if lists else ([], [])
    turns = [r for turn in zip_longest(*further[1:], *further[:1]) for r in turn if r]
    asked, hinted = _suspects(place, facts, version)
    return [*near, *asked, *turns, *hinted][:MOST]


def _suspects(place: Place, facts: Mapping[str, Any], version: str | None) -> tuple[list[Repair], list[Repair]]:
    """Return what leaves away each feature in use that is known for such failures: asked for, or only spoken of."""
    if not _among(place.kind, place.areas.blind):
        return [], []
    fresh = [a for a in place.areas.all if a.suspect and a not in place.found]
    asked = [a for a in fresh if place.known and _asked(a, place.given)]
    hinted = [a for a in fresh if not place.sure and a not in asked and in_use(a, place.given, place.seen)]
    made = ([_repairs(a, place, facts, version, off=True)[:1] for a in areas] for areas in (asked, hinted))
    first, second = (sorted((r for own in lists for r in own), key=lambda r: r.cost) for lists in made)
    return first, second


def _repairs(
    area: Area, place: Place, facts: Mapping[str, Any], version: str | None, *, off: bool = False
) -> list[Repair]:
    """Return an area's repairs, with `off` those that switch it off, where it is a feature that can be."""
    made = repairs_from(area.remedies, facts, place.given, version)
    made = [r for r in made if not (_asks_for_what_runs(r, [area], place) or _excluded(_owners(r, place), place))]
    names = {name for flag in area.on for name in (place.given.name(flag), flag)}
    return [r for r in made if not (off and area.on) or r.names & names]


def ordered(
    signature: Signature | None, own: Sequence[Repair], place: Place, facts: Mapping[str, Any], version: str | None
) -> list[Repair]:
    """Return a signature's repairs that fit the place, and those of the place: what is known of the very failure first.

    Where enough is known of a failure that shows where it happens, the place adds only what the message speaks of;
    where the signature knows what a person has to do, it adds nothing.
    """
    running = {name for r in own if _asks_for_what_runs(r, _owners(r, place), place) for name in r.set}
    fit, doubted = fitting(own, place)
    spoken = [a for a in place.areas.all if not a.carrier and _any(a.text, place.message)]
    fit = _forward(fit, [r for r in fit if any(_steers(a, r) for a in spoken)])
    own = [*fit, *doubted]
    if signature is None or signature.generic:
        near = area_repairs(place, facts, version, own)
        return [*near, *(r for r in own if not _repeated(r, near))]
    if (signature.next and not (signature.remedies or place.bare)) or (fit and family(signature.kind) == ARGS):
        # What the engine refuses before it starts is settled by the flags it names.
        return own
    near = [r for r in area_repairs(place, facts, version) if not _repeated(r, own)]
    behind = BEHIND if own else 0.0
    more = [replace(r, cost=r.cost + behind, doubt=behind) for r in near]
    named = [r for r in more if _said(r, own[:ENOUGH], place)][:1] or _asked_for(more, place)[:1]
    enough = len(signature.remedies) >= ENOUGH and bool(fit) and place.sure
    shown = sorted((r for r in more if r not in named and _shown(r, place)), key=lambda r: r.cost)
    rest = [*doubted, *([] if enough else [r for r in more if r not in [*named, *shown]])]
    if place.bare_carrier and not any(_shown(r, place) for r in fit):
        return [*named, *shown, *fit, *rest]
    instead = [r for r in shown if running & r.set.keys()][:1]
    shown = [] if enough else shown
    return [*instead, *fit[: ENOUGH - 1], *named, *fit[ENOUGH - 1 :], *(r for r in shown if r not in instead), *rest]


def _forward(repairs: Sequence[Repair], told: Sequence[Repair]) -> list[Repair]:
    """Return repairs with those that a message speaks of before others, but before none that gives up far less."""
    out: list[Repair] = []
    for repair in repairs:
        at = len(out)
        while repair in told and at and out[at - 1] not in told and out[at - 1].cost * LIKELIER >= repair.cost:
            at -= 1
        out.insert(at, repair)
    return out


def _asked_for(repairs: Sequence[Repair], place: Place) -> list[Repair]:
    """Return what leaves away a suspect that the command asks for, where a failure may show elsewhere."""
    asked = [a for a in place.areas.all if a.suspect and place.known and _asked(a, place.given)]
    return [r for r in repairs if r.unset and not place.sure and any(_steers(a, r) for a in asked)]


def _said(repair: Repair, others: Sequence[Repair], place: Place) -> bool:
    """Say whether the message itself speaks of what a repair steers, and none of the others does."""
    areas = [a for a in place.told if _steers(a, repair) and not a.carrier]
    return bool(areas) and not any(_steers(a, other) for a in areas for other in others)


def _shown(repair: Repair, place: Place) -> bool:
    """Say whether frames show what a repair steers."""
    return any(_steers(area, repair) for area in place.inside)


def _steers(area: Area, change: Repair) -> bool:
    flags = any(_among(name, area.flags) for name in change.names)
    return flags or any(_among(name, area.variables) for name in change.variables)


def _repeated(repair: Repair, others: Sequence[Repair]) -> bool:
    """Say whether a repair does what another does already, but for what it leaves away beside it.

    Another value of the same variables is no other repair: the signature knows better how much is needed.
    """
    same = (r for r in others if r.set == repair.set and r.set_env.keys() == repair.set_env.keys())
    return any(repair.set or repair.set_env or set(r.unset) & set(repair.unset) for r in same)
