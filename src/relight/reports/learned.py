"""What a run learned not to work, in words short enough to read: what is proved apart from what is believed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from relight.reports.blamed import Blamed, blamed, numbers_of, seen_in, was_read
from relight.reports.blocks import Block, Code, Para, Prose, Table
from relight.reports.culprit import Culprit, culprit
from relight.reports.prose import count, numbered, prose, sure, value
from relight.reports.verdict import progress
from relight.words.attempt import Attempt, Nogood, Record, Term

_Reached: TypeAlias = Mapping[int, tuple[bool, int]]
_FEW = 4
_LONG = 9
_WEAK = 0.8
_BOUNDS = {"<=", ">="}
_WAYS = {"!=", "set"}
_EARLIER = "an earlier run, "


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

    That the settings of an attempt fail as a whole is told only where nothing sharper was learned from it, and what
    attempts merely had in common only where one of them is not explained otherwise.
    """
    reached = progress(record)
    told: dict[tuple[str, str, str], tuple[Nogood, Prose]] = {}
    for nogood in sorted(record.nogoods, key=lambda n: (_number(n), -n.confidence, len(n.terms))):
        when = _when(nogood, record, reached)
        told.setdefault((nogood.because, nogood.kind, repr(when)), (nogood, when))
    sharp = {n.because for n, _ in told.values() if not _is_whole(n, record)}
    kept = [(n, when) for n, when in told.values() if not _is_whole(n, record) or _stands(n, sharp, record)]
    kept = [(n, when) for n, when in kept if not _is_explained(n, [other for other, _ in kept], record)]
    if not kept:
        return None
    found = culprit(record)
    rows: list[tuple[Prose, ...]]
    about = [n for n, _ in kept if found and _is_about(n, found)]
    rows = [
        (when, (n.kind,), prose(_where(n.because)), prose(_known(n, record, reached)))
        for n, when in kept
        if n not in about
    ]
    rows = [*([_shown(found, about)] if found and about else []), *rows]
    return Table("What fails, and how that is known", ("fails", "kind", "seen in", "how it is known"), tuple(rows))


def _is_about(nogood: Nogood, found: Culprit) -> bool:
    """Say whether a condition is of the failure that one change mended, and names what was changed."""
    seen = found.failed.diagnosis.cause if found.failed.diagnosis else None
    alike = seen is not None and nogood.kind == seen.kind and not nogood.hard
    # Where a number begins to fail is reckoned, not shown.
    return alike and not found.several and bool(found.names & {t.name for t in nogood.terms if t.op not in _BOUNDS})


def _shown(found: Culprit, about: Sequence[Nogood]) -> tuple[Prose, ...]:
    """Return the one row for conditions of which a healthy launch has shown what matters in them."""
    numbers = sorted(set().union(*(numbers_of(n.because) for n in about)))
    terms = {in_words(t): t for n in about for t in n.terms if t.name in found.names and t.op not in _WAYS}
    when = _joined([Code(said) for said in terms], " and ") or prose(found.was or found.took)
    where = numbered(f"attempts {', '.join(map(str, numbers))}") if len(numbers) > 1 else about[0].because
    return when, (about[0].kind,), prose(where), prose(f"shown: {found.why}")


def _where(because: str) -> str:
    return numbered(because.removeprefix(_EARLIER))


def _is_explained(nogood: Nogood, others: Sequence[Nogood], record: Record) -> bool:
    """Say whether a condition is only what attempts had in common, and each has a surer one of its own."""
    surer = [n for n in others if n is not nogood and n.confidence > nogood.confidence]
    known = {number for n in surer for number in numbers_of(n.because)}
    return _is_common(nogood, record) and numbers_of(nogood.because) <= known


def _is_common(nogood: Nogood, record: Record) -> bool:
    """Say whether nothing but repetition speaks for a condition: no cause blames what it names."""
    seen = seen_in(nogood, record)
    if len(seen) < 2 or nogood.hard or nogood.confidence > _WEAK:
        return False
    causes = [a.diagnosis.cause for a in seen if a.diagnosis and a.diagnosis.cause]
    named = {name for c in causes for name in (*c.blames, *c.blames_env, *c.suspects)}
    return not any(was_read(a) for a in seen) and not named & {t.name for t in nogood.terms}


def _stands(nogood: Nogood, sharp: set[str], record: Record) -> bool:
    """Say whether a condition on all settings tells something: they are to blame, and nothing sharper is known."""
    seen = seen_in(nogood, record)
    outside = len(seen) == 1 and bool(seen[0].diagnosis and seen[0].diagnosis.action == "person")
    attempts = {number for because in sharp for number in numbers_of(because)}
    return not outside and nogood.because not in sharp and not attempts & numbers_of(nogood.because)


def _number(nogood: Nogood) -> int:
    return min(numbers_of(nogood.because), default=0)


def _is_whole(nogood: Nogood, record: Record) -> bool:
    """Say whether a condition is about as long as the settings it was seen with."""
    seen = seen_in(nogood, record)
    given = len(seen[0].settings.flags) + len(seen[0].settings.env) if len(seen) == 1 else _LONG
    return given > _FEW and sum(term.op == "=" for term in nogood.terms) >= given - 1


def _when(nogood: Nogood, record: Record, reached: _Reached) -> Prose:
    """Say when it holds; a condition about as long as the settings it was seen with is those settings."""
    if _is_whole(nogood, record):
        return _as_a_whole(nogood, [term for term in nogood.terms if term.op == "="])
    return _condition(blamed(nogood, record, reached)) if nogood.terms else prose(nogood.when)


def _condition(parts: Blamed) -> Prose:
    """Return a condition as a person reads it: what fails together, what was merely there, what may still help."""
    said = _joined([Code(in_words(term)) for term in parts.terms], " and ")
    beside = _joined([Code(in_words(term)) for term in parts.beside], ", ")
    there = ("\nseen only with ", *beside, "; whether that matters is not known") if beside else ()
    return (*(said or ("any settings",)), *there, *(_unless(parts.ways) if parts.ways else ()))


def in_words(term: Term) -> str:
    """Return one part of a condition as a person reads it: `--a = 1 or 2`, `--b not given`, `--c`."""
    name = term.name if term.env else f"--{term.name}"
    if term.op in {"set", "unset"}:
        return f"{name} {'given' if term.op == 'set' else 'not given'}"
    values = term.value if isinstance(term.value, list | tuple) else (term.value,)
    if len(values) == 1 and (values[0] is None or isinstance(values[0], bool)):
        return _switched(name, values[0], meant=term.op == "=")
    op = " not" if term.op == "!=" else "" if None in values else f" {term.op}"
    return f"{name}{op} {' or '.join(value(v) for v in values)}"


def _switched(name: str, held: bool | None, *, meant: bool) -> str:
    if held is None:
        return f"{name} not given" if meant else f"{name} given"
    return name if held is meant else f"{name} off"


def _joined(parts: Sequence[Code], word: str) -> Prose:
    return tuple(piece for i, part in enumerate(parts) for piece in ((word, part) if i else (part,)))


def _as_a_whole(nogood: Nogood, exact: Sequence[Term]) -> Prose:
    names = {term.name for term in exact}
    without = [term for term in nogood.terms if term.op == "!=" or (term.op == "unset" and term.name not in names)]
    return (
        f"the settings of {nogood.because.removeprefix(_EARLIER)}, as a whole",
        *(_unless(without) if without else ()),
    )


def _unless(terms: Iterable[Term]) -> Prose:
    """Say what takes settings out of a condition: one of the changes that were proposed and not made."""
    ways = [piece for term in terms for piece in (" or ", *_way(term))]
    return ("\nnot tried, so it may work ", *ways[1:])


def _way(term: Term) -> tuple[str, Code]:
    name = term.name if term.env else f"--{term.name}"
    if term.op == "set":
        return "without ", Code(name)
    held = tuple(term.value) if isinstance(term.value, list | tuple) else (term.value,)
    plain = term.op == "unset" or not held or held[0] is True or held[0] is None
    return "with ", Code(name + ("" if plain else " " + " | ".join(map(value, held))))


def _known(nogood: Nogood, record: Record, reached: _Reached) -> str:
    """Say what of a condition is proved, by whom, and what is belief, and how strong."""
    seen = seen_in(nogood, record)
    refused = sorted({a.rung for a in seen if a.outcome == "rejected"})
    if nogood.hard:
        return f"proved: {_prover(seen, refused)}"
    if nogood.confidence >= 1 and _is_whole(nogood, record):
        return "proved: the host's own validation refused these settings"
    past = blamed(nogood, record, reached).past
    proof = "; that these settings are refused is proved: the host's own validation refused them" if refused else ""
    after = f"; attempt {past.n} changed it and got past" if past else ""
    return f"belief, {sure(nogood.confidence)}: {_ground(nogood, seen, record)}{after}{proof}"


def _prover(seen: Sequence[Attempt], refused: Sequence[str]) -> str:
    if "parse" in refused:
        return "the host's own parser refuses it"
    said = "read from the engine's source" if any(map(was_read, seen)) else "an exact condition of the engine"
    return f"{said}, and the host's own validation refuses it" if refused else said


def _ground(nogood: Nogood, seen: Sequence[Attempt], record: Record) -> str:
    """Return what a belief rests on."""
    if not seen:
        return "an earlier run"
    if _is_whole(nogood, record):
        return "nothing sharper is known"
    if all(map(was_read, seen)):
        return "read from the engine's source, which could not be followed in every part"
    if _is_common(nogood, record):
        return "only what these attempts had in common"
    if any(term.op in _BOUNDS for term in nogood.terms):
        return "the memory sums"
    named = [a.diagnosis.cause.signature for a in seen if a.diagnosis and a.diagnosis.cause]
    signature = next((s for s in named if s), "")
    return f"what relight knows of this failure (`{signature}`)" if signature else "the diagnosis of what was seen"
