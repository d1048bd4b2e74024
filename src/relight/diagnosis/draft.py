"""The draft model: its weights are the second that a rank loads in one start."""

from dataclasses import replace

from relight.diagnosis.candidates import Candidate
from relight.diagnosis.evidence import Evidence
from relight.diagnosis.match import Matcher
from relight.diagnosis.rank import Choice

DRAFT = "draft"
"""The phase that signatures of the draft ask for: no line says it, the second load does."""

_LOADING = {"load_weights", "pools", "autotune", None}


def with_draft(choice: Choice, evidence: Evidence, ask: Matcher) -> Choice:
    """Return the choice with the signature for the draft where a rank failed while it loaded weights once more."""
    root = choice.root
    if root is None or root.claim is None or not root.claim.signature.kind.startswith("oom.gpu."):
        return choice
    rank = root.record.rank or (root.block.rank if root.block else None)
    if root.phase not in _LOADING or "load_weights" not in evidence.progress.repeated.get(rank, ()):
        return choice
    return replace(choice, root=situated(root, ask, DRAFT))


def situated(root: Candidate, ask: Matcher, situation: str) -> Candidate:
    """Return the candidate as signatures see it that ask for a situation where others ask for a phase."""
    claims = [c for c in ask.claims(root.text, phase=situation) if situation in c.signature.phase]
    return replace(root, claim=claims[0]) if claims else root
