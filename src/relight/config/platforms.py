"""Load platforms.toml and cards.toml: what a server may run on, and what is not there."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relight.config.regexes import Regexes
from relight.config.signatures import only_keys, regexes, tables, text_of, texts
from relight.words.errors import UsageError
from relight.words.platform import Card, Platform

CARD_KEYS = ("name", "words", "lacks")
KEYS = ("name", "device", "words", "absent", "values", "waiting")


def load_platforms(file: Path, known: Regexes | None = None) -> tuple[Platform, ...]:
    """Return the platforms of `file`, in its order. Raises UsageError naming the file, the key and what is allowed."""
    return tuple(_platform(item, str(file), known or Regexes()) for item in _items(file, "platform"))


def load_cards(file: Path, known: Regexes | None = None) -> tuple[Card, ...]:
    """Return the cards of `file`, in its order. Raises UsageError naming the file, the key and what is allowed."""
    return tuple(_card(item, str(file), known or Regexes()) for item in _items(file, "card"))


def _items(file: Path, key: str) -> tuple[Mapping[str, Any], ...]:
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot be read: {error}", place=str(file), next="mend the file") from error
    only_keys(data, (key,), str(file))
    return tuple(tables(data, key, str(file)))


def _card(item: Mapping[str, Any], place: str, known: Regexes) -> Card:
    name = text_of(item, "name", f"{place}: [[card]]")
    place = f"{place}: {name}"
    only_keys(item, CARD_KEYS, place)
    lacks = _table(item, "lacks", place)
    words = regexes(texts(item, "words", place), "words", place, known)
    return Card(name, words, {flag: texts(lacks, flag, place) for flag in lacks})


def _platform(item: Mapping[str, Any], place: str, known: Regexes) -> Platform:
    name = text_of(item, "name", f"{place}: [[platform]]")
    place = f"{place}: {name}"
    only_keys(item, KEYS, place)
    values = _table(item, "values", place)
    return Platform(
        name=name,
        device=texts(item, "device", place),
        words=regexes(texts(item, "words", place), "words", place, known),
        absent=texts(item, "absent", place),
        values={flag: texts(values, flag, place) for flag in values},
        waiting={variable: str(value) for variable, value in _table(item, "waiting", place).items()},
    )


def _table(item: Mapping[str, Any], key: str, place: str) -> Mapping[str, Any]:
    value = item.get(key, {})
    if not isinstance(value, Mapping):
        raise UsageError(f"{key} must be a table", place=place, next=f"write {key} = {{ NAME = VALUE }}")
    return value
