"""A port that is taken: which flag holds it, and which other ports to take."""

from collections.abc import Iterable

from relight.planning.ground import Ground
from relight.planning.history import PORT
from relight.planning.names import View
from relight.words.attempt import Term
from relight.words.diagnosis import Cause
from relight.words.settings import Repair

APART = 1000
MOST = 2
"""So many other ports are tried in place of one: what takes them all takes the next one too."""


def holders(cause: Cause, view: View) -> tuple[str, ...] | None:
    """Return the given flags that hold the port a failure names; None where it is another kind, or names no port."""
    port = cause.facts.get("port")
    if cause.kind != PORT or not isinstance(port, int):
        return None
    return tuple(name for name, value in view.flags.items() if _port_of(value) == port)


def _port_of(value: object) -> int | None:
    """Return a flag's number, or that at the end of an address."""
    last = str(value).rpartition(":")[2]
    return int(last) if last.isdecimal() and not isinstance(value, bool) else None


def others(term: Term, ground: Ground) -> Iterable[Repair]:
    """Return ports far enough away that the block of ports behind each does not overlap."""
    for value in term.value if term.op == "=" and isinstance(term.value, tuple) else ():
        if isinstance(value, int) and not isinstance(value, bool) and term.name in _flags(ground):
            why = f"port {value} is taken"
            yield Repair(set={ground.names.spell(term.name): value + APART}, why=why, origin="message")


def elsewhere(repairs: Iterable[Repair], ground: Ground) -> tuple[Repair, ...]:
    """Return of the repairs those that choose another port."""
    return tuple(r for r in repairs if _flags(ground) & {ground.names.canonical(n) for n in r.names})


def _flags(ground: Ground) -> set[str]:
    """Return the flags that a taken port is blamed on."""
    own = (s for s in ground.world.knowledge.signatures if s.kind == PORT)
    return {ground.names.canonical(n) for s in own for n in s.blames}


def spent(cores: Iterable[tuple[Term, ...]], ground: Ground) -> list[Term]:
    """Return, for each flag of which several ports were taken, that it is given at all: the next one is taken too."""
    values: dict[str, set[object]] = {}
    for term in (core[0] for core in cores if len(core) == 1):
        if term.op == "=" and term.name in _flags(ground) and isinstance(term.value, tuple):
            values.setdefault(term.name, set()).update(v for v in term.value if v is not None)
    return [Term(name, "set") for name, taken in values.items() if len(taken) > MOST]
