"""Say in plain words which condition failed, on which flags, with which values."""

from collections.abc import Iterator
from typing import Any

from relight.diagnosis.source.evaluate import FAULT, UNKNOWN, Evaluation, truth
from relight.diagnosis.source.known import Known, Origin
from relight.diagnosis.source.reading import Guard, Reading
from relight.diagnosis.source.terms import Env, Field, Op, Opaque, Term, both, names, negate, walk
from relight.diagnosis.source.values import Values
from relight.diagnosis.source.wording import words
from relight.words.diagnosis import Constraint
from relight.words.parser import HostParser

SAID: dict[Origin, str] = {
    "message": "the message says so", "resolved": "resolved by the engine", "command": "command line",
    "environment": "environment", "default": "default", "model": "the model's configuration",
    "unknown": "",
}  # fmt: skip


def constraint(reading: Reading, values: Values, parser: HostParser | None) -> Constraint:
    """Return the reading as a constraint: fields become flags of `parser`, values say where they came from."""
    if reading.condition is None:
        return Constraint(reading.file, reading.line, reading.why, excerpt=reading.excerpt)
    known = Known(reading, values, parser)
    everything = (reading.condition, *(g.term for g in reading.guards))
    read = _names(everything)
    held, origins = _values(read, known)
    return Constraint(
        reading.file,
        reading.line,
        said(reading.condition, known),
        tuple(said(g.term, known) for g in reading.guards if _tells(g.term) and _matters(g, reading.condition)),
        _flags(read, known),
        tuple(t.name for t in read.values() if isinstance(t, Env)),
        held,
        operand(reading, known),
        tuple(_opaque(everything, known)),
        reading.excerpt,
        origins,
    )


def _tells(term: Term) -> bool:
    """Say whether a guard says more than that a module was run or that a constant is what it is."""
    return any(isinstance(t, Field | Env) or (isinstance(t, Opaque) and t.text != "__name__") for t in walk(term))


def _matters(guard: Guard, condition: Term) -> bool:
    """Say whether a guard is around the failing line, or reads what the condition reads: other checks passed do not."""
    return not guard.passed or bool(names(guard.term) & names(condition))


def said(term: Term, known: Known, *, holds: bool = True) -> str:
    """Return a condition in plain words, with the flags as this command line spells them."""
    return words(term, lambda field: _called(field, known), holds=holds)


def _called(field: str, known: Known) -> str:
    spelled = known.spelling(field)
    return f"--{spelled}" if spelled else field


def _names(terms: tuple[Term, ...]) -> dict[str, Field | Env]:
    return {t.name: t for t in walk(*terms) if isinstance(t, Field | Env)}


def _flags(read: dict[str, Field | Env], known: Known) -> tuple[str, ...]:
    found = (known.spelling(t.name) for t in read.values() if isinstance(t, Field))
    return tuple(dict.fromkeys(f for f in found if f))


def _values(read: dict[str, Field | Env], known: Known) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what the flags and variables held, and where each value comes from."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name, term in read.items():
        value, origin = known.variable(term) if isinstance(term, Env) else known.value(name)
        label = name if isinstance(term, Env) else known.spelling(name) or name
        if value is not UNKNOWN:
            values[label], origins[label] = value, SAID[origin]
    return values, origins


def _opaque(terms: tuple[Term, ...], known: Known) -> Iterator[str]:
    """Yield what could not be read: opaque parts, and names that no flag fills."""
    seen: set[str] = set()
    for term in walk(*terms):
        no_flag = isinstance(term, Field) and known.parser is not None and known.flag(term.name) is None
        text = term.text if isinstance(term, Opaque) else term.name if no_flag and isinstance(term, Field) else ""
        if text and text not in seen:
            seen.add(text)
            yield text


def operand(reading: Reading, known: Known) -> str:
    """Return the part of the condition that was false, in plain words, as far as the values tell."""
    if reading.condition is None:
        return ""
    evaluation = known.evaluation()
    false = list(_false(reading.condition, evaluation, True))
    return "; ".join(said(term, known, holds=holds) for term, holds in false[:4])


def _false(term: Term, evaluation: Evaluation, wanted: bool) -> Iterator[tuple[Term, bool]]:
    """Yield the smallest parts of a condition that are not as wanted, with how they should be."""
    if isinstance(term, Op) and term.name == "not":
        yield from _false(term.args[0], evaluation, not wanted)
        return
    now = truth(evaluation.value(term))
    if now is UNKNOWN or (now is not FAULT and now is wanted):
        return
    if isinstance(term, Op) and term.name in {"and", "or"}:
        for arg in term.args:
            yield from _false(arg, evaluation, wanted)
    else:
        yield term, wanted


def failure(reading: Reading) -> Term:
    """Return what was true when the engine failed: every guard, and the opposite of the condition."""
    assert reading.condition is not None  # noqa: S101  asked of readable failures only
    return both([*(g.term for g in reading.guards), negate(reading.condition)])
