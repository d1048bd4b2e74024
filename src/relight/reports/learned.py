"""What a run learned not to work, in words short enough to read."""

from collections.abc import Iterable, Sequence

from relight.reports.blocks import Code, Prose, Table
from relight.reports.prose import prose, sure, value
from relight.words.attempt import Attempt, Nogood, Record, Term

_FEW = 4


def nogoods_table(record: Record) -> Table | None:
    """Return what is now known not to work: the shortest conditions of each attempt first, none of them twice."""
    told: dict[tuple[str, str, str], tuple[Nogood, Prose]] = {}
    for nogood in sorted(record.nogoods, key=lambda n: (_number(n, record), -n.confidence, len(n.terms))):
        when = _when(nogood, record)
        told.setdefault((nogood.because, nogood.kind, repr(when)), (nogood, when))
    if not told:
        return None
    rows = tuple((when, (n.kind,), prose(n.because), (_proof(n),)) for n, when in told.values())
    return Table("Combinations that cannot work, from what was seen", ("when", "kind", "seen in", "how sure"), rows)


def _number(nogood: Nogood, record: Record) -> int:
    seen = _seen_in(nogood, record)
    return seen.n if seen else 0


def _seen_in(nogood: Nogood, record: Record) -> Attempt | None:
    return next((a for a in record.attempts if nogood.because == f"attempt {a.n}"), None)


def _when(nogood: Nogood, record: Record) -> Prose:
    """Say when it holds; a condition about as long as the settings it was seen with is those settings."""
    seen = _seen_in(nogood, record)
    given = len(seen.settings.flags) + len(seen.settings.env) if seen else 0
    exact = [term for term in nogood.terms if term.op == "="]
    if given > _FEW and len(exact) >= given - 1:
        return _as_a_whole(nogood, exact)
    return prose(nogood.when)


def _as_a_whole(nogood: Nogood, exact: Sequence[Term]) -> Prose:
    names = {term.name for term in exact}
    without = [term for term in nogood.terms if term.op == "!=" or (term.op == "unset" and term.name not in names)]
    return (f"the settings of {nogood.because}, as a whole", *(_unless(without) if without else ()))


def _unless(terms: Iterable[Term]) -> Prose:
    """Say what takes settings out of a condition: one of the changes that were not made."""
    ways = [Code(_way(term)) for term in terms]
    parts = [part for i, way in enumerate(ways) for part in ((", or ", way) if i else (way,))]
    return (", without ", *parts)


def _way(term: Term) -> str:
    name = term.name if term.env else f"--{term.name}"
    held = tuple(term.value) if isinstance(term.value, list | tuple) else (term.value,)
    said = "" if term.op == "unset" or held == (True,) else " " + " | ".join(value(v) for v in held)
    return f"{name}{said}"


def _proof(nogood: Nogood) -> str:
    return "proved" if nogood.hard else sure(nogood.confidence)
