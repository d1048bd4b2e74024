"""What must not be kept or shown: secrets in text that came from elsewhere."""

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from relight.words.text import names_a_secret, redacted

HIDDEN = "***"
SHORTEST = 6
"""Shorter values are not searched for: they would hide ordinary words."""


def written(values: Iterable[str]) -> tuple[str, ...]:
    """Return secret values in every way a program may write them, the longest first: as they are, escaped, in a URL."""
    ways = {
        way
        for value in values
        if len(value) >= SHORTEST
        for way in (value, json.dumps(value)[1:-1], repr(value)[1:-1], quote(value, safe=""), quote(value))
    }
    return tuple(sorted(ways, key=lambda way: (-len(way), way)))


def redact_text(text: str, exact: Iterable[str] = ()) -> str:
    """Return `text` without what is named or shaped like a secret, and without the `exact` values themselves."""
    for value in written(exact):
        text = text.replace(value, HIDDEN)
    return redacted(text)


def redact_json(value: Any, exact: Iterable[str] = ()) -> Any:
    """Return JSON data with every text redacted; the value of a key that names a secret becomes ***."""
    exact = tuple(exact)
    if isinstance(value, str):
        return redact_text(value, exact)
    if isinstance(value, Mapping):
        return {k: _entry(k, v, exact) for k, v in value.items()}
    if isinstance(value, list):
        return [redact_json(v, exact) for v in value]
    return value


def _entry(key: str, value: Any, exact: tuple[str, ...]) -> Any:
    if isinstance(value, str) and value and names_a_secret(key):
        return HIDDEN
    return redact_json(value, exact)
