"""What would make a launch tell more: steps for the one who looks for a cause, which mend nothing."""

from collections.abc import Iterable
from dataclasses import replace

from relight.diagnosis.areas import Place
from relight.diagnosis.given import Given
from relight.words.settings import Repair

WAITING = "every call then waits for its kernel, so that the traceback shows the one that fails"


def last(repairs: Iterable[Repair], given: Given) -> tuple[Repair, ...]:
    """Return repairs, those that only make the engine tell more marked as such and behind the others."""
    found = list(repairs)
    telling = [r for r in found if _only_tells(r, given)]
    return (*(r for r in found if r not in telling), *(_marked(r) for r in telling))


def waiting(place: Place) -> tuple[Repair, ...]:
    """Return the step that shows which kernel failed, () where that is known or cannot be had."""
    platform = place.given.platform
    if platform is None or not platform.waiting or place.waited or not place.unseen:
        return ()
    return (Repair(set_env=platform.waiting, why=WAITING, gives_up="much speed, while it is set", telling=True),)


def _only_tells(repair: Repair, given: Given) -> bool:
    facts = [given.facts.get(name) for name in (*repair.names, *repair.variables)]
    return bool(repair.set_env) and all(fact is not None and fact.diagnostic for fact in facts)


def _marked(repair: Repair) -> Repair:
    return replace(repair, telling=True)
