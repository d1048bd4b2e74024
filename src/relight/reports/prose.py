"""Small pieces of text that several sections share."""

import re
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from relight.reports.blocks import Code, Prose, Tone
from relight.words.attempt import Attempt, Exit
from relight.words.diagnosis import Cause, Diagnosis
from relight.words.settings import Repair, WrittenFloat

_DOUBTFUL = 0.5
_GENERAL = 0.7
"""Confidence of what is known by its form only: its summary fits many failures."""
_READABLE = 120
_PAIR = 2
_OF_ANSWERS = {"numerics", "unknown"}
"""Families of what is wrong with answers; a server that was ill for another reason did not answer at all."""
OUTCOME_WORDS = {
    "healthy": "healthy",
    "crashed": "crashed",
    "hung": "hung",
    "sick": "wrong answers",
    "rejected": "refused",
    "aborted": "stopped",
}
_COSTS = ((0.5, "very low"), (1.5, "low"), (2.5, "medium"), (4.5, "high"), (inf, "very high"))
REFUSED = "refused before launch"
_TONES: dict[str, Tone] = {"healthy": "good", "rejected": "warn", "aborted": "warn", "running": "plain"}
UNKNOWN = "this failure is not known, and no line of the log stands out"
_ORIGINS = {
    "message": "the failure's own message",
    "source": "the engine's source",
    "memory": "the memory sums",
    "signature": "what is known of this failure",
    "lever": "a lever's next variant",
    "isolation": "isolation",
    "operator": "the operator",
}


def prose(text: str) -> Prose:
    """Return text as prose: what stands between two backticks is code."""
    parts = re.split(r"`([^`]+)`", text)
    return tuple(Code(part) if i % 2 else part for i, part in enumerate(parts) if part)


def sentence(text: str) -> Prose:
    """Return text as prose that begins with a capital and ends with a full stop; empty stays empty."""
    text = text.strip()
    if not text:
        return ()
    end = "" if text[-1] in ".!?:" else "."
    return prose(capital(text) + end)


def capital(text: str) -> str:
    """Return text with a capital where it begins with a plain word, not with the name of a file or a field."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+(?:'[a-z]+)?(?:[\s,:;-]|$)", text) else text


def count(number: int, one: str, many: str = "") -> str:
    """Return "1 launch", "3 launches"."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def listed(items: list[str], last: str = "and") -> str:
    """Return "a, b and c"."""
    return f" {last} ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def numbered(because: str) -> str:
    """Return "attempts 1 to 4 and 7" for a list of numbers; other words as they are."""
    if not re.fullmatch(r"attempts \d+(?:, \d+)*", because):
        return because
    runs: list[list[int]] = []
    for n in map(int, re.findall(r"\d+", because)):
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return "attempts " + listed([part for run in runs for part in _run(run)])


def _run(run: Sequence[int]) -> list[str]:
    return [f"{run[0]} to {run[-1]}"] if len(run) > _PAIR else list(map(str, run))


def in_few(items: Sequence[str], most: int = 3) -> str:
    """Return "a, b, c and 2 more": the first `most`, and how many there are besides."""
    more = len(items) - most
    return listed([*items[:most], f"{more} more"] if more > 0 else list(items))


def outcome(attempt: Attempt) -> str:
    """Return how an attempt ended, in a word or two."""
    if attempt.outcome == "rejected":
        return REFUSED
    cause = attempt.diagnosis.cause if attempt.diagnosis else None
    if attempt.outcome == "sick" and cause and cause.family not in _OF_ANSWERS:
        return "failed in use"
    return OUTCOME_WORDS.get(attempt.outcome or "", "running")


def tone(attempt: Attempt) -> Tone:
    """Return the tone of how an attempt ended."""
    return _TONES.get(attempt.outcome or "running", "bad")


def origin(name: str) -> str:
    """Return where a repair came from, in words."""
    return _ORIGINS.get(name, name)


def cost(repair: Repair) -> str:
    """Return how much a change gives up, in words that compare; how doubtful it is does not count."""
    price = repair.cost - repair.doubt
    return next(word for most, word in _COSTS if price <= most)


def value(held: Any) -> str:
    """Return a value as it is said in prose."""
    if held is None:
        return "not given"
    if isinstance(held, bool):
        return "true" if held else "false"
    if isinstance(held, float) and not isinstance(held, WrittenFloat):
        return f"{held:.4g}"
    if isinstance(held, Mapping):
        return ", ".join(f"{k} {value(v)}" for k, v in held.items()) or "empty"
    if isinstance(held, list | tuple):
        return ", ".join(value(v) for v in held) or "empty"
    return str(held) or "empty"


def phase(name: str | None) -> str:
    """Return a phase's name as people read it."""
    return (name or "").replace("_", " ")


def broke_in(attempt: Attempt) -> str:
    """Return the phase a failed attempt broke in: the cause's, else the last that its log showed; "" if unknown."""
    cause = attempt.diagnosis.cause if attempt.diagnosis else None
    last = attempt.phases[-1].name if attempt.phases else ""
    return (cause.phase if cause else None) or last


def rank(name: str) -> str:
    """Return a rank as people name it: "rank TP3", "rank 3"."""
    return f"rank {name.removeprefix('rank')}"


def ended_by(how: Exit | None) -> str:
    """Return how a process ended: "exit status 1", "signal 9"; empty where it is not known."""
    if how is None:
        return ""
    if how.signal is not None:
        return f"signal {how.signal}"
    return f"exit status {how.code}" if how.code is not None else ""


def why_failed(diagnosis: Diagnosis | None) -> str:
    """Return the cause in one sentence; empty where no cause is known."""
    cause = diagnosis.cause if diagnosis else None
    if cause is None:
        return ""
    if cause.summary:
        return f"{cause.summary.rstrip('.')}{_wanted(diagnosis)}" if _wanted(diagnosis) else cause.summary
    if cause.kind == "unknown":
        return f"this failure is not known; the best evidence is `{cause.text}`" if cause.text else UNKNOWN
    return f"`{cause.text}`" if cause.text else cause.kind


def _wanted(diagnosis: Diagnosis | None) -> str:
    """Return what a bare assertion wants, where its source was read and its summary is one of many failures."""
    cause, read = (diagnosis.cause, diagnosis.constraint) if diagnosis else (None, None)
    if cause is None or read is None or not read.condition or len(read.condition) > _READABLE:
        return ""
    bare = cause.confidence <= _GENERAL and re.fullmatch(r"[\w.]*Error", cause.text.strip())
    return f": it wants `{read.condition}`" if bare else ""


def mark(cause: Cause) -> str:
    """Return what the marked line of a log is: the cause, or only the best there is."""
    if not cause.fingerprint:
        return "the last sign of progress"
    if cause.late:
        return "the symptom: what failed ran before it"
    return "the best evidence" if cause.kind == "unknown" or cause.confidence <= _DOUBTFUL else "the cause"


def sure(confidence: float) -> str:
    """Return a confidence as a share; what is not certain is never called so."""
    whole = round(confidence * 100)
    return f"{whole} %" if whole < 100 or confidence >= 1 else "over 99 %"


def path(file: str) -> str:
    """Return a source file from its package on: what stands after site-packages, or python in a checkout."""
    for root in ("site-packages/", "dist-packages/", "/python/"):
        if root in file:
            return file.rsplit(root, 1)[1]
    return file
