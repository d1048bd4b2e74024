"""Words to JSON and back."""

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from relight.words.errors import RelightError
from relight.words.secret import Secret

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """Return `value` as dicts, lists, texts, numbers, booleans and None. A Secret becomes ***, NaN a text."""
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(v) for v in value]
    if isinstance(value, frozenset | set):
        return sorted(to_json(v) for v in value)
    if is_dataclass(value) and not isinstance(value, type | Secret):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def dumps(value: Any, *, indent: int | None = None) -> str:
    """Return the JSON text of a word: ASCII only, so that no terminal acts on what a log smuggled in."""
    return json.dumps(to_json(value), indent=indent, ensure_ascii=True, allow_nan=False)


def from_json(cls: type[T], data: Any) -> T:
    """Return the word of type `cls` that `data` describes; unknown keys are skipped. RelightError where it is none."""
    from pydantic import ValidationError  # noqa: PLC0415  costs 100 ms, and --help does not need it

    try:
        found: T = _adapter(cls).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RelightError(f"{where or cls.__name__}: {first['msg']}", place=cls.__name__) from error
    return found


def json_schema(cls: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of what `to_json` gives for a `cls`."""
    schema: dict[str, Any] = _adapter(cls).json_schema(mode="serialization")
    return schema


def _adapter(cls: Any) -> Any:
    return _kept_adapter(cls)


@cache
def _kept_adapter(cls: Any) -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415  costs 100 ms, and --help does not need it

    return TypeAdapter(cls)
