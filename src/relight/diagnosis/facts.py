"""What a message says, as values: numbers as numbers, sizes in GiB, lists as lists."""

import re
from collections.abc import Mapping
from typing import Any

from relight.logs.marks import as_number

_UNITS = {
    "b": 2.0**-30, "bytes": 2.0**-30, "kib": 2.0**-20, "kb": 2.0**-20, "mib": 2.0**-10, "mb": 2.0**-10,
    "gib": 1.0, "gb": 1.0, "tib": 2.0**10, "tb": 2.0**10,
}  # fmt: skip


def facts(match: re.Match[str]) -> dict[str, Any]:
    """Return the named groups of a match as values.

    A group NAME with a group NAME_unit beside it becomes NAME_gib; a group whose name ends in "choices" or "list"
    becomes a list; what is a number becomes one.
    """
    groups = {k: v.strip() for k, v in match.groupdict().items() if v is not None and v.strip()}
    return {name: value for key in groups for name, value in _values(key, groups)}


def _values(key: str, groups: Mapping[str, str]) -> list[tuple[str, Any]]:
    if key.endswith("_unit"):
        return []
    text = groups[key]
    unit = groups.get(f"{key}_unit")
    if unit:
        size = as_number(text)
        factor = _UNITS.get(unit.lower())
        return [(f"{key}_gib", round(size * factor, 4))] if factor and not isinstance(size, str) else [(key, size)]
    if key.endswith(("choices", "list")):
        return [(key, [item.strip().strip("'\"") for item in text.split(",") if item.strip()])]
    return [(key, as_number(text))]
