"""Which signatures claim a text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from relight.diagnosis.demand import demand
from relight.logs.literals import Literals
from relight.words.signature import Signature

LONGEST = 4000
"""Characters of a text that are looked at, half of them from its end."""

KEPT = 1024
"""Texts whose claims are remembered."""

FIT = (0, 6, 12)
"""What a signature gains when it asks for nothing, for a phase, for frames, in characters of text."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A signature that matched a text; `strength` orders claims on the same text.

    A named failure beats a generic one; then the one wins that demands more: of the text, and of the frames or the
    phase it happened in.
    """

    signature: Signature
    match: re.Match[str]
    strength: tuple[bool, float]
    fit: int = 0


class Matcher:
    """All signatures, ready to be asked about texts."""

    def __init__(self, signatures: Sequence[Signature]) -> None:
        self.signatures = tuple(signatures)
        pairs = [(text, i) for i, signature in enumerate(self.signatures) for text in signature.literal]
        self._literals = Literals(text for text, _ in pairs)
        place = {text: n for n, text in enumerate(self._literals.all)}
        self._kept: dict[tuple[str, str, str | None], list[Claim]] = {}
        self._owners: list[set[int]] = [set() for _ in self._literals.all]
        for text, owner in pairs:
            self._owners[place[text.lower()]].add(owner)

    @property
    def literals(self) -> tuple[str, ...]:
        """All literals, lower case: a text without any of them is claimed by nobody."""
        return self._literals.all

    def claims(self, text: str, *, places: str = "", phase: str | None = None) -> list[Claim]:
        """Return every signature that claims `text`, the strongest first."""
        text = bounded(text)
        kept = self._kept.get((text, places, phase))
        if kept is None:
            # Ranks and retries say the same thing over and over.
            kept = self._claims(text, places, phase)
            if len(self._kept) >= KEPT:
                self._kept.clear()
            self._kept[text, places, phase] = kept
        return list(kept)

    def _claims(self, text: str, places: str, phase: str | None) -> list[Claim]:
        owners = set().union(*(self._owners[i] for i in self._literals.find(text)))
        found = [claim for i in owners if (claim := _claim(self.signatures[i], text, places, phase))]
        return sorted(found, key=lambda c: (c.strength, c.signature.id), reverse=True)


def bounded(text: str) -> str:
    """Return a very long text without its middle: regexes may need quadratic time on it."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"


@lru_cache(maxsize=4096)
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Compile when first asked for: most logs need few of the signatures."""
    return tuple(re.compile(p) for p in patterns)


def _claim(signature: Signature, text: str, places: str, phase: str | None) -> Claim | None:
    found = (m for m in (regex.search(text) for regex in _compiled(signature.any)) if m)
    match = max(found, key=_asked, default=None)
    if match is None or any(regex.search(text) for regex in _compiled(signature.none)):
        return None
    fit = _fit(signature, places, phase)
    if fit is None:
        return None
    return Claim(signature, match, (not signature.generic, _asked(match) + FIT[fit]), fit)


def _asked(match: re.Match[str]) -> float:
    return demand(match.re.pattern)


def _fit(signature: Signature, places: str, phase: str | None) -> int | None:
    """Return 2 where the frames fit, 1 where the phase fits, 0 where neither is asked for, None where neither fits."""
    if not (signature.frames or signature.phase):
        return 0
    if places and any(regex.search(places) for regex in _compiled(signature.frames)):
        return 2
    return 1 if (phase or "unknown") in signature.phase else None


def matcher(signatures: Sequence[Signature]) -> Matcher:
    """Return the matcher of these signatures; built once for the same tuple."""
    return _built(_Same(tuple(signatures)))


class _Same:
    """A tuple of signatures, equal to itself only: what it holds is too big to be compared each time."""

    def __init__(self, signatures: tuple[Signature, ...]) -> None:
        self.signatures = signatures
        self._key = tuple(map(id, signatures))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=8)
def _built(same: _Same) -> Matcher:
    return Matcher(same.signatures)
