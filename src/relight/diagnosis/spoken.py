"""What an excerpt says in words, where nothing in it is known: messages whose exception was left out."""

import re
from collections.abc import Iterator

from relight.diagnosis.candidates import LEAST, Candidate
from relight.diagnosis.evidence import Evidence
from relight.diagnosis.match import Claim, Matcher
from relight.logs.records import Record

EXCERPT = 12
"""Lines below which a log may be somebody's excerpt: the message alone, or the warning, not a start that was cut."""

PLAIN = ("Exception: ", "RuntimeError: ", "ValueError: ", "AssertionError: ")
"""Types under which a message without one is read."""
_TELLS = re.compile(r"(?i)\b(?:error|fail\w*|fatal|exception|cannot|could not|unable|refused|abort\w*|crash\w*)\b")
_HARMLESS = re.compile(r"(?i)warnings?\b|\.warn\(|\b(?:usage|example|note|hint|tip):")
_USAGE = re.compile(r"\[-[^\]]*\]")
"""What a parser prints of its flags: their names say nothing."""


def spoken(evidence: Evidence, matcher: Matcher) -> list[Candidate]:
    """Return the lines that read like the message of a failure, with what claims them as one.

    Of a longer log only what a logger calls an error is read so.
    """
    return [
        Candidate(index, rec, rec.body.strip(), evidence.phases[index], claim)
        for index, rec in enumerate(evidence.records)
        if _may_tell(rec, evidence) and (claim := _claim(rec, matcher, evidence.phases[index]))
    ]


def _may_tell(rec: Record, evidence: Evidence) -> bool:
    if rec.number in evidence.taken or rec.number in evidence.commands or not _USAGE.sub("", rec.body).strip():
        return False
    if rec.level is not None:
        return rec.level in {"ERROR", "CRITICAL"}
    if _HARMLESS.search(rec.body):
        return False
    return len(evidence.records) < EXCERPT and (not rec.fresh or bool(_TELLS.search(rec.body)))


def _claim(rec: Record, matcher: Matcher, phase: str | None) -> Claim | None:
    if matcher.claims(rec.body, phase=phase):
        return None
    read = (matcher.claims(f"{plain}{rec.body.strip()}", phase=phase) for plain in PLAIN)
    return next((claim for claims in read for claim in _asking(claims)), None)


def _asking(claims: list[Claim]) -> Iterator[Claim]:
    return (c for c in claims if c.signature.role == "root" and c.strength[1] > LEAST)
