"""Does the host's validation say of known settings what the log already showed? Only then is it believed."""

from relight.hosts.oracle import Known
from relight.words.attempt import Attempt, Record
from relight.words.settings import Settings

BEFORE = frozenset({"args", None})
"""Phases of a start that has not got past its arguments."""
VALIDATION = ("server_args.py", "/arg_groups/")
"""Files of the engine that validate arguments: a refusal has a frame in one of them."""


def known_outcome(record: Record) -> tuple[Settings, Known] | None:
    """Return settings whose validation the log of a launch showed, with its outcome; None before any launch."""
    for attempt in record.attempts:
        known = _known(attempt) if attempt.launched and attempt.outcome else None
        if known:
            return attempt.settings, known
    return None


def _known(attempt: Attempt) -> Known | None:
    phases = {phase.name for phase in attempt.phases}
    if attempt.outcome == "healthy" or phases - BEFORE:
        return Known(passed=True)
    found = attempt.diagnosis
    if found is None or found.traceback is None or found.cause is None or found.cause.phase not in BEFORE:
        return None
    frames = found.traceback.frames
    if frames and not any(part in f.file for f in frames for part in VALIDATION):
        # It failed early, but not in what the oracle runs: that shows nothing about it.
        return None
    last = frames[-1] if frames else None
    return Known(
        False, found.traceback.type, found.traceback.message, last.file if last else "", last.line if last else 0
    )
