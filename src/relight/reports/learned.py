"""What a run learned not to work, in words short enough to read."""

import re
from collections.abc import Iterable, Sequence

from relight.reports.blocks import Block, Code, Para, Prose, Table
from relight.reports.prose import count, prose, sure, value
from relight.words.attempt import Attempt, Nogood, Record, Term

_FEW = 4
_LONG = 9


def nogoods_blocks(record: Record) -> tuple[Block, ...]:
    """Return what is now known not to work, and how many weaker beliefs the record holds besides."""
    table = nogoods_table(record)
    if table is None:
        return ()
    left = len(record.nogoods) - len(table.rows)
    said = f"{count(left, 'weaker or equal belief is', 'weaker or equal beliefs are')} in the record (--format json)."
    return (table, Para((said,))) if left else (table,)


def nogoods_table(record: Record) -> Table | None:
    """Return what is now known not to work: of each attempt the shortest conditions first, none of them twice.

    That the settings of an attempt fail as a whole is told only where nothing sharper was learned from it.
    """
    told: dict[tuple[str, str, str], tuple[Nogood, Prose]] = {}
    for nogood in sorted(record.nogoods, key=lambda n: (_number(n, record), -n.confidence, len(n.terms))):
        when = _when(nogood, record)
        told.setdefault((nogood.because, nogood.kind, repr(when)), (nogood, when))
    sharp = {n.because for n, _ in told.values() if not _is_whole(n, record)}
    kept = [(n, when) for n, when in told.values() if not _is_whole(n, record) or _stands(n, sharp, record)]
    if not kept:
        return None
    rows = tuple((when, (n.kind,), prose(n.because), (_proof(n),)) for n, when in kept)
    return Table("Combinations that cannot work, from what was seen", ("when", "kind", "seen in", "how sure"), rows)


def _stands(nogood: Nogood, sharp: set[str], record: Record) -> bool:
    """Say whether a condition on all settings tells something: they are to blame, and nothing sharper is known."""
    seen = _seen_in(nogood, record)
    outside = bool(seen and seen.diagnosis and seen.diagnosis.action == "person")
    attempts = {number for because in sharp for number in _numbers(because)}
    return not outside and not attempts & _numbers(nogood.because)


def _numbers(because: str) -> set[str]:
    """Return which attempts of this run a belief rests on; none for one that an earlier run left."""
    return set(re.findall(r"\d+", because)) if because.startswith("attempt") else set()


def _number(nogood: Nogood, record: Record) -> int:
    seen = _seen_in(nogood, record)
    return seen.n if seen else min(map(int, _numbers(nogood.because)), default=0)


def _seen_in(nogood: Nogood, record: Record) -> Attempt | None:
    return next((a for a in record.attempts if nogood.because == f"attempt {a.n}"), None)


def _is_whole(nogood: Nogood, record: Record) -> bool:
    """Say whether a condition is about as long as the settings it was seen with."""
    seen = _seen_in(nogood, record)
    given = len(seen.settings.flags) + len(seen.settings.env) if seen else _LONG
    return given > _FEW and sum(term.op == "=" for term in nogood.terms) >= given - 1


def _when(nogood: Nogood, record: Record) -> Prose:
    """Say when it holds; a condition about as long as the settings it was seen with is those settings."""
    if _is_whole(nogood, record):
        return _as_a_whole(nogood, [term for term in nogood.terms if term.op == "="])
    return _condition(nogood.terms) if nogood.terms else prose(nogood.when)


def _condition(terms: Sequence[Term]) -> Prose:
    """Return a condition as a person reads it: what comes together, then what would take settings out of it."""
    without = [term for term in terms if term.op == "!="]
    said = _joined([Code(in_words(term)) for term in terms if term.op != "!="], " and ")
    return (*(said or ("any settings",)), *(_unless(without) if without else ()))


def in_words(term: Term) -> str:
    """Return one part of a condition as a person reads it: `--a = 1 or 2`, `--b not given`, `--c`."""
    name = term.name if term.env else f"--{term.name}"
    if term.op in {"set", "unset"}:
        return f"{name} {'given' if term.op == 'set' else 'not given'}"
    values = term.value if isinstance(term.value, list | tuple) else (term.value,)
    if len(values) == 1 and (values[0] is True or values[0] is None):
        return name if values[0] else f"{name} not given"
    return f"{name} {term.op} {' or '.join(value(v) for v in values)}"


def _joined(parts: Sequence[Code], word: str) -> Prose:
    return tuple(piece for i, part in enumerate(parts) for piece in ((word, part) if i else (part,)))


def _as_a_whole(nogood: Nogood, exact: Sequence[Term]) -> Prose:
    names = {term.name for term in exact}
    without = [term for term in nogood.terms if term.op == "!=" or (term.op == "unset" and term.name not in names)]
    return (f"the settings of {nogood.because}, as a whole", *(_unless(without) if without else ()))


def _unless(terms: Iterable[Term]) -> Prose:
    """Say what takes settings out of a condition: one of the changes that were not made."""
    return (", without ", *_joined([Code(_way(term)) for term in terms], ", or "))


def _way(term: Term) -> str:
    name = term.name if term.env else f"--{term.name}"
    held = tuple(term.value) if isinstance(term.value, list | tuple) else (term.value,)
    said = "" if term.op == "unset" or held[0] is True else " " + " | ".join(value(v) for v in held)
    return f"{name}{said}"


def _proof(nogood: Nogood) -> str:
    return "proved" if nogood.hard else sure(nogood.confidence)
