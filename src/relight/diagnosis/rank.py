"""Choose the root among all candidates: the first of the cascade, named before generic, roots before consequences."""

from collections.abc import Sequence
from dataclasses import dataclass

from relight.diagnosis.candidates import Candidate
from relight.diagnosis.evidence import Evidence
from relight.words.kinds import family

BEFORE_RANKS = frozenset({None, "args"})
"""Phases in which there is only the main process."""


@dataclass(frozen=True)
class Choice:
    """The root, and what followed from it. `root` is None where nothing failed."""

    root: Candidate | None
    cascade: tuple[Candidate, ...] = ()
    survived: tuple[Candidate, ...] = ()
    second: Candidate | None = None


def choose(found: Sequence[Candidate], evidence: Evidence) -> Choice:
    """Return the root among candidates in the order of the log."""
    stop = _stopped_by_hand(evidence)
    fit = [c for c in found if c.role in {"root", "cascade"} and (c.index < stop or _remarked(c))]
    survived = tuple(c for c in fit if _survived(c, evidence))
    fatal = [c for c in fit if c not in survived]
    root = _root(fatal)
    if root is None:
        return Choice(None, survived=survived)
    others = [c for c in fatal if c is not root and c.role == "root"]
    cascade = tuple(c for c in fatal if c.role == "cascade" and c is not root)
    return Choice(root, cascade, survived, others[0] if others else None)


def _root(fatal: Sequence[Candidate]) -> Candidate | None:
    roots = [c for c in fatal if c.role == "root"]
    return min(roots, key=_order) if roots else _best_cascade(fatal)


def _order(candidate: Candidate) -> tuple[bool, bool, bool, bool, int]:
    """Order roots: faulty hardware first, what ends a process before what may be a warning, named first, by line.

    A generic fault of communication comes last: it is what the other ranks see when one fails.
    """
    of = family(candidate.claim.signature.kind) if candidate.claim else "unknown"
    secondary = of == "comm" and not candidate.named
    return of != "hardware", not candidate.fatal, not candidate.named, secondary, candidate.index


def _best_cascade(fatal: Sequence[Candidate]) -> Candidate | None:
    """Return the consequence that says most: one that tells how the other process died before one that does not."""
    named = [c for c in fatal if c.named]
    telling = [c for c in named if c.claim and c.claim.signature.kind != "comm.peer_died"]
    return next(iter([*telling, *named, *fatal]), None)


def _survived(candidate: Candidate, evidence: Evidence) -> bool:
    """Say whether the start went on to readiness after the line, or the rank that failed took another step.

    An ordinary record of the log is survived when any rank took another step, and what the main process raised before
    there were ranks when they came all the same.
    """
    ready = evidence.progress.ready
    if ready is not None and candidate.record.number < ready.line:
        return True
    if candidate.role != "root":
        return False
    moved = evidence.progress.moved
    if not candidate.fatal:
        return max([*moved.values(), *_begun(evidence)], default=0) > candidate.record.number
    if candidate.block is None or (candidate.claim and candidate.claim.signature.fatal):
        return False
    rank = candidate.block.rank or candidate.record.rank
    if rank is None and evidence.phase_at(candidate.record.number) in BEFORE_RANKS:
        return max(_begun(evidence), default=0) > candidate.record.number
    return moved.get(rank, 0) > candidate.record.number


def _begun(evidence: Evidence) -> list[int]:
    """Return the lines at which phases began."""
    return [span.first.line for phase, span in evidence.progress.spans.items() if phase != "shutdown"]


def _remarked(candidate: Candidate) -> bool:
    """Say whether a line is relight's own verdict, which stands behind the log and the stop it was the reason for."""
    return candidate.record.line.offset < 0


def _stopped_by_hand(evidence: Evidence) -> int:
    span = evidence.progress.spans.get("shutdown")
    return evidence.index(span.first.line) if span else len(evidence.records)
