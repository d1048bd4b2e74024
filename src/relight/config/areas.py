"""Load areas.toml: the areas of an engine and the flags that steer them."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relight.config.regexes import Regexes
from relight.config.signatures import only_keys, read_remedy, regexes, tables, text_of, texts
from relight.words.area import Area, Areas
from relight.words.errors import UsageError

KINDS = ("kinds", "refused", "refusals", "bare", "late", "blind", "asynchronous", "on_device", "compiled", "compilers")
AREA_KEYS = (
    "name", "flags", "variables", "on", "off", "words", "frames", "text", "layer", "carrier", "suspect", "parts",
    "excludes", "odds", "remedy",
)  # fmt: skip


def load_areas(file: Path, known: Regexes | None = None) -> Areas:
    """Return the areas of `file`, in its order. Raises UsageError naming the file, the key and what is allowed."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot be read: {error}", place=str(file), next="mend the file") from error
    place, known = str(file), known or Regexes()
    only_keys(data, (*KINDS, "area"), place)
    kinds = {key: texts(data, key, place) for key in KINDS}
    return Areas(all=tuple(_area(item, place, known) for item in tables(data, "area", place)), **kinds)


def _area(item: Mapping[str, Any], place: str, known: Regexes) -> Area:
    name = text_of(item, "name", f"{place}: [[area]]")
    place = f"{place}: {name}"
    only_keys(item, AREA_KEYS, place)
    return Area(
        name=name,
        flags=texts(item, "flags", place),
        variables=texts(item, "variables", place),
        on=texts(item, "on", place),
        off=texts(item, "off", place),
        words=regexes(texts(item, "words", place), "words", place, known),
        frames=regexes(texts(item, "frames", place), "frames", place, known),
        text=regexes(texts(item, "text", place), "text", place, known),
        layer=str(item.get("layer", "")),
        carrier=item.get("carrier") is True,
        suspect=item.get("suspect") is True,
        parts=texts(item, "parts", place),
        excludes=texts(item, "excludes", place),
        odds=_odds(item, place),
        remedies=tuple(read_remedy(remedy, place) for remedy in tables(item, "remedy", place)),
    )


def _odds(item: Mapping[str, Any], place: str) -> Mapping[str, float]:
    odds = item.get("odds", {})
    if not isinstance(odds, dict) or not all(isinstance(v, int | float) and v > 0 for v in odds.values()):
        raise UsageError("odds are no such table", place=place, next="write odds = { KIND = NUMBER }, numbers above 0")
    return {str(kind): float(value) for kind, value in odds.items()}
