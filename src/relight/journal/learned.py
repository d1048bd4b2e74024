"""What is known across runs: one file per (GPU name x count, engine version, model)."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from relight.journal.codec import from_json
from relight.journal.files import locked, make_folder, read_json, write_json
from relight.words.attempt import Nogood
from relight.words.errors import RelightError
from relight.words.settings import Settings


@dataclass(frozen=True)
class Place:
    """What knowledge depends on: the cards, the engine's version, the model."""

    gpus: str
    version: str
    model: str


@dataclass(frozen=True)
class Learned:
    """What earlier runs found out at one place.

    `nogoods` say what cannot work; `healthy` are settings that did, newest first; `phases` how many seconds each
    phase of a start took the last time.
    """

    place: Place
    nogoods: tuple[Nogood, ...] = ()
    healthy: tuple[Settings, ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict)


def load(state: Path, place: Place) -> Learned:
    """Return what is known at `place`; nothing where there is no file or it cannot be read."""
    data = read_json(path_of(state, place))
    try:
        return from_json(Learned, data) if data else Learned(place)
    except RelightError:
        return Learned(place)


def add(state: Path, new: Learned) -> Learned:
    """Add to what is known at a place, under a lock, and return all of it. The same nogood is kept once."""
    make_folder(state / "learned")
    with locked(state / "learned" / ".lock", wait=True, what="what is learned"):
        old = load(state, new.place)
        both = Learned(
            new.place,
            nogoods=_once((*old.nogoods, *new.nogoods)),
            healthy=_recent((*new.healthy, *old.healthy)),
            phases={**old.phases, **new.phases},
        )
        write_json(path_of(state, new.place), both)
    return both


def forget(state: Path, place: Place) -> bool:
    """Forget what is known at `place`; say whether there was anything."""
    path = path_of(state, place)
    known = path.exists()
    path.unlink(missing_ok=True)
    return known


def path_of(state: Path, place: Place) -> Path:
    """Return the file of a place: a readable name, and a digest that tells similar places apart."""
    parts = (place.gpus, place.version, place.model)
    name = "_".join(re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-")[-40:] for part in parts)
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]
    return state / "learned" / f"{name}_{digest}.json"


def _once(nogoods: tuple[Nogood, ...]) -> tuple[Nogood, ...]:
    kept = {(n.when, n.kind, n.terms.__repr__()): n for n in nogoods}
    return tuple(kept.values())


def _recent(settings: tuple[Settings, ...], most: int = 5) -> tuple[Settings, ...]:
    kept = {repr(s): s for s in settings}
    return tuple(kept.values())[:most]
