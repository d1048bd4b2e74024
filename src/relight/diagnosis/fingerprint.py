"""The identity of a failure: the same for every rank, pid, size, host and path prefix."""

import hashlib
import re

_STEPS = (
    (re.compile(r"https?://\S+"), "URL"),
    (re.compile(r"(?:[A-Za-z]:)?(?:[\w.@~+-]*/)+[\w.@+-]*"), "PATH"),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b"), "HOST"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b"), "N"),
    (re.compile(r"\[\s*-?\d[^\]]*\]"), "[N]"),
    (re.compile(r"\b[\w-]+(?:\.[\w-]+)+:\d+\b|\blocalhost:\d+\b"), "HOST"),
    (re.compile(r"-?\d[\d.,]*(?:[eE][+-]?\d+)?\s*(?:[KMGT]i?B|bytes|ms|s|%)?\b"), "N"),
    (re.compile(r"\b(?:rank|TP|DP|PP|EP|GPU|cuda|device|worker)[ :_#]*N\b", re.IGNORECASE), "RANK"),
    (re.compile(r"\s+"), " "),
)

LONGEST = 4000
"""Characters that are looked at: regexes may need quadratic time on one very long word."""


def normalised(text: str) -> str:
    """Return `text` without what differs from run to run."""
    text = text[:LONGEST]
    for regex, replacement in _STEPS:
        text = regex.sub(replacement, text)
    return text.strip()[:400]


def fingerprint(*parts: str | None) -> str:
    """Return 16 hex digits that name the failure made of these parts."""
    text = "\x1f".join(part or "" for part in parts)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def engine_frame(places: str) -> str:
    """Return "file function" of the innermost frame inside the engine, without folders and line numbers."""
    frames = [line for line in places.splitlines() if "/sglang/" in line or "/sgl_kernel/" in line]
    return (frames or places.splitlines() or [""])[-1].rsplit("/", 1)[-1]
