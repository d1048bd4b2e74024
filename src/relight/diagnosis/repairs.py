"""All repairs for one cause, most trusted source first."""

from collections.abc import Iterable, Mapping
from typing import Any

from relight.diagnosis.areas import Place, ordered
from relight.diagnosis.candidates import Candidate
from relight.diagnosis.fields import field_repairs
from relight.diagnosis.given import Given
from relight.diagnosis.limits import limit_repairs, limits_of
from relight.diagnosis.match import bounded
from relight.diagnosis.message import message_repairs, refused
from relight.diagnosis.remedies import repairs_of
from relight.diagnosis.usage import usage_repairs
from relight.words.kinds import family
from relight.words.settings import Repair

GUESSABLE = {"args.conflict", "args.invalid_value", "assertion.args", "assertion.backend", "model.context_length"}


def repairs_for(
    root: Candidate,
    facts: Mapping[str, Any],
    given: Given,
    version: str | None,
    read: Iterable[Repair] = (),
    place: Place | None = None,
) -> tuple[Repair, ...]:
    """Return repairs in the order they are trusted: message, source, memory, signature and area.

    What source reading merely picks from a list of choices comes after what a signature knows of the same flag, and
    what may alter answers comes last.
    """
    signature = root.claim.signature if root.claim else None
    kind = signature.kind if signature else "unknown"
    told = usage_repairs(kind, facts, given) if family(kind) == "args" else []
    # The output of a build is no advice: its commands are full of flags and variables.
    text = bounded(root.record.body if place and place.compiled else root.text)
    spoken = family(kind) not in {"oom", "hardware", "hang"}
    if not told and spoken:
        told = message_repairs(text, given)
    own = repairs_of(signature, facts, given, version) if signature else []
    guessed = _guessed(root, given) if kind in GUESSABLE and not (told or own) else []
    own = ordered(signature, own, place, facts, version) if place else own
    stated = limit_repairs(limits_of(text, given), given) if spoken else []
    found = [*stated, *told, *_by_trust(tuple(read), [*guessed, *own])]
    against = refused(text, given) if spoken else {}
    found = [r for r in found if not any(str(value) in against.get(name, ()) for name, value in r.set.items())]
    return _agreeing(_different(sorted(found, key=lambda r: r.alters_answers and r.origin == "source")))


def _by_trust(read: tuple[Repair, ...], own: list[Repair]) -> list[Repair]:
    picked = {n for r in read for n, value in r.set.items() if isinstance(value, str)}
    known = [r for r in own if r.set.keys() & picked and not r.alters_answers]
    # What both propose stays where reading put it: it is doubly sure.
    agreed = [k.set for k in known]
    sure = [r for r in read if r.set in agreed or not any(r.set.keys() & k.keys() for k in agreed)]
    return [*sure, *known, *(r for r in read if r not in sure), *own]


def _guessed(root: Candidate, given: Given) -> list[Repair]:
    """Return repairs for fields that the message or the raising line names, where nothing better is known."""
    source = root.block.frames[-1].text if root.block and root.block.frames else ""
    return field_repairs(bounded(root.text), bounded(source), given)


def _different(found: Iterable[Repair]) -> tuple[Repair, ...]:
    seen: dict[str, Repair] = {}
    for repair in found:
        key = f"{sorted(repair.set.items(), key=str)}{repair.unset}{sorted(repair.set_env.items())}{repair.unset_env}"
        seen.setdefault(key, repair)
    return tuple(seen.values())


def _agreeing(found: Iterable[Repair]) -> tuple[Repair, ...]:
    """Return repairs without those that switch on what one before them leaves away."""
    away: set[str] = set()
    kept = []
    for repair in found:
        if not any(value is True and name in away for name, value in repair.set.items()):
            away |= {*repair.unset} - repair.set.keys()
            kept.append(repair)
    return tuple(kept)
