"""The model's configuration: numbers in it that conditions of model code read."""

import json
from typing import Any

from relight.diagnosis.given import Given
from relight.diagnosis.source.known import asked_of_model
from relight.diagnosis.source.reading import Reading
from relight.diagnosis.source.terms import Field, Opaque, walk

FILE = "config.json"


def configuration_file(reading: Reading, given: Given) -> str:
    """Return the path of the model's configuration where a condition asks for it and the model is a folder, else ""."""
    name = given.written("model-path")
    folder = str(given.flags.get(name, "")) if name else ""
    return f"{folder.rstrip('/')}/{FILE}" if folder.startswith("/") and _asks(reading, given) else ""


def _asks(reading: Reading, given: Given) -> bool:
    terms = [t for t in (reading.condition, *(g.term for g in reading.guards)) if t is not None]
    for term in walk(*terms):
        if isinstance(term, Opaque) and asked_of_model(term.text):
            return True
        if isinstance(term, Field) and given.parser is not None and not given.parser.by_dest(term.name):
            return True
    return False


def in_configuration(text: str) -> dict[str, Any]:
    """Return the numbers of a configuration as facts, those of the language model inside it, too."""
    try:
        top = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    parts = [top, *(v for v in top.values() if isinstance(v, dict))] if isinstance(top, dict) else []
    found: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                found.setdefault(f"config.{key}", value)
    return found
