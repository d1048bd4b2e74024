"""A chosen candidate as a cause: kind, facts, summary, confidence, fingerprint."""

from collections.abc import Mapping
from typing import Any

from relight.diagnosis.candidates import Candidate
from relight.diagnosis.facts import facts
from relight.diagnosis.fingerprint import engine_frame, fingerprint, normalised
from relight.diagnosis.rank import Choice
from relight.diagnosis.remedies import filled
from relight.logs.lines import shown
from relight.words.diagnosis import Cause, Traceback
from relight.words.kinds import KINDS, family


def cause_of(choice: Choice) -> Cause | None:
    """Return the cause that the chosen root is, None where nothing failed."""
    root = choice.root
    if root is None:
        return None
    signature = root.claim.signature if root.claim else None
    kind = signature.kind if signature else "unknown"
    found = facts(root.claim.match) if root.claim else {}
    return Cause(
        family=family(kind),
        kind=kind,
        signature=signature.id if signature else None,
        fingerprint=identity(root),
        line=root.record.number,
        text=shown(root.record.line.text),
        rank=root.record.rank or (root.block.rank if root.block else None),
        phase=root.phase,
        confidence=_confidence(choice),
        summary=summary(root, found),
        facts=found,
        blames=signature.blames if signature else (),
        blames_env=signature.blames_env if signature else (),
    )


def identity(root: Candidate) -> str:
    """Return the fingerprint of a candidate."""
    places = root.block.places if root.block else ""
    name = root.claim.signature.id if root.named and root.claim else ""
    return fingerprint(name, normalised(root.text), engine_frame(places), root.phase)


def summary(root: Candidate, found: Mapping[str, Any]) -> str:
    """Return one sentence: the signature's own, else what the kind means."""
    signature = root.claim.signature if root.claim else None
    if signature is None:
        return f"An error that no signature knows: {root.text[:200]}"
    return filled(signature.summary, found) or filled(signature.title, found) or KINDS[signature.kind]


def _confidence(choice: Choice) -> float:
    root = choice.root
    if root is None or root.claim is None:
        return 0.4 if root and root.block else 0.2
    if root.role == "cascade":
        return 0.4
    base = 0.95 if root.named else 0.7
    rival = choice.second
    differs = rival is not None and rival.claim is not None and rival.named and _kind(rival) != _kind(root)
    return round(base - (0.1 if differs else 0.0), 2)


def _kind(candidate: Candidate) -> str:
    return candidate.claim.signature.kind if candidate.claim else "unknown"


def traceback_of(root: Candidate) -> Traceback | None:
    """Return the traceback of the block that names the cause, None for a line without one."""
    block = root.block
    if block is None:
        return None
    message = block.text().partition(": ")[2]
    return Traceback(block.type, message, block.frames)
