"""The JSON Schema of a signature file."""

from typing import Any, get_args

from relight.config.signatures import KEYS, REMEDY_KEYS, SAMPLE_KEYS
from relight.words.kinds import KINDS
from relight.words.signature import Role, SignatureAction, Way

_TEXT: dict[str, Any] = {"type": "string"}
_SEVERAL: dict[str, Any] = {"type": "array", "items": {"type": "string", "minLength": 1}}
_TEXTS: dict[str, Any] = {"anyOf": [{"type": "string", "minLength": 1}, _SEVERAL]}
_NUMBER: dict[str, Any] = {"type": "number"}
_PAIR: dict[str, Any] = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}
_SWITCH: dict[str, Any] = {"type": "boolean", "default": False}
_SHAPES: dict[str, dict[str, Any]] = {
    "kind": {"type": "string", "enum": list(KINDS)},
    "role": {"type": "string", "enum": list(get_args(Role)), "default": "root"},
    "action": {"type": "string", "enum": list(get_args(SignatureAction)), "default": "change"},
    "line": {"type": "integer", "minimum": 1, "default": 1},
    "wait": {"type": "number", "minimum": 0},
    "cost": {"type": "number", "minimum": 0},
    "blames": {"anyOf": [*_TEXTS["anyOf"], {"type": "object", "properties": {"flags": _TEXTS, "env": _TEXTS}}]},
    "only": {"type": "object", "additionalProperties": {"type": "string", "enum": list(get_args(Way))}},
    "bounds": {"type": "object", "additionalProperties": _PAIR},
    **dict.fromkeys(("generic", "fatal"), _SWITCH),
    **{key: {"type": "object", "additionalProperties": _NUMBER} for key in ("add", "scale")},
    **{key: {"type": "object"} for key in ("set", "set_env")},
    **dict.fromkeys(
        ("any", "none", "literal", "frames", "phase", "unset", "unset_env", "needs", "platforms", "log"), _TEXTS
    ),
}


def signature_schema() -> dict[str, Any]:
    """Return the JSON Schema of a signature file, for editors."""
    sample = _closed(SAMPLE_KEYS, ("log",))
    tables = {
        "remedy": {"type": "array", "items": _closed(REMEDY_KEYS, ())},
        "sample": {"type": "array", "items": sample, "minItems": 1},
        "near_miss": {"type": "array", "items": sample},
    }
    made = _closed(KEYS, ("title", "kind", "sample"))
    made["properties"] |= tables
    return made


def _closed(keys: tuple[str, ...], required: tuple[str, ...]) -> dict[str, Any]:
    properties = {key: dict(_SHAPES.get(key, _TEXT)) for key in keys}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
