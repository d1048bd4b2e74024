"""Load signatures: one TOML file for each failure (CONTRACT.md section 4)."""

import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from relight.config.literals import SHORTEST
from relight.config.regexes import Regexes
from relight.words.errors import UsageError
from relight.words.kinds import KINDS
from relight.words.near import meant
from relight.words.signature import Remedy, Role, Sample, Signature, SignatureAction, Way

T = TypeVar("T")
KEYS = (
    "title", "kind", "role", "action", "generic", "fatal", "any", "none", "literal", "frames", "phase", "versions",
    "blames", "summary", "next", "remedy", "sample", "near_miss",
)  # fmt: skip
REMEDY_KEYS = (
    "set", "unset", "set_env", "unset_env", "add", "scale", "times", "bounds", "only", "wait", "why", "gives_up",
    "cost", "needs", "versions", "platforms",
)  # fmt: skip
SAMPLE_KEYS = ("log", "line")
_WORDS = {"bool": "true or false", "int": "a whole number", "dict": "a table, as in { some-flag = 1 }"}
_COUNTED = "lines of log count from 1; name the one that shows the failure"
_LITERAL = "name a longer text that is in every such line"


def load_signatures(folder: Path, known: Regexes | None = None) -> tuple[Signature, ...]:
    """Return the signatures of every .toml file in `folder`, ordered by name.

    Raises UsageError naming the file, the key and what is allowed. What one file cannot show (a sample claimed by
    two, a flag no version has) is checked by `relight.diagnosis.check`. `known` is what is known of regexes already.
    """
    known = known or Regexes()
    return tuple(load_signature(path, known) for path in sorted(folder.glob("*.toml")))


def load_signature(path: Path, known: Regexes | None = None) -> Signature:
    """Return the signature in one file; its name without .toml is the id."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        then = "a signature is a TOML file in UTF-8; docs/write-a-signature.md shows one"
        raise UsageError(f"cannot be read: {error}", place=str(path), next=then) from error
    return read_signature(data, path.stem, str(path), known)


def read_signature(data: Mapping[str, Any], name: str, place: str, known: Regexes | None = None) -> Signature:
    """Return the signature that parsed TOML describes."""
    known = known or Regexes()
    only_keys(data, KEYS, place)
    _one_of(data, "kind", KINDS, place)
    _one_of(data, "role", get_args(Role), place)
    _one_of(data, "action", get_args(SignatureAction), place)
    patterns = texts(data, "any", place)
    flags, env = _blames(data.get("blames", []), place)
    return Signature(
        id=name,
        title=text_of(data, "title", place),
        kind=data["kind"],
        role=data.get("role", "root"),
        action=data.get("action", "change"),
        generic=_of(data, "generic", bool, default=False, place=place),
        fatal=_of(data, "fatal", bool, default=False, place=place),
        any=regexes(patterns, "any", place, known),
        none=regexes(texts(data, "none", place), "none", place, known),
        literal=_literals(data, patterns, place, known),
        frames=regexes(texts(data, "frames", place), "frames", place, known),
        phase=texts(data, "phase", place),
        versions=str(data.get("versions", "")),
        blames=flags,
        blames_env=env,
        remedies=tuple(read_remedy(item, place) for item in tables(data, "remedy", place)),
        samples=tuple(_sample(item, f"{place}: [[sample]]") for item in tables(data, "sample", place)),
        near_misses=tuple(_sample(item, f"{place}: [[near_miss]]") for item in tables(data, "near_miss", place)),
        summary=str(data.get("summary", "")),
        next=str(data.get("next", "")),
        path=place,
    )


def read_remedy(item: Mapping[str, Any], place: str) -> Remedy:
    """Return the remedy that a table describes; `place` is what errors call it."""
    where = f"{place}: [[remedy]]"
    only_keys(item, REMEDY_KEYS, where)
    return Remedy(
        set={name: _flag_value(value) for name, value in _of(item, "set", dict, default={}, place=where).items()},
        unset=texts(item, "unset", where),
        set_env={k: str(v) for k, v in _of(item, "set_env", dict, default={}, place=where).items()},
        unset_env=texts(item, "unset_env", where),
        add=_numbers(item, "add", where),
        scale=_numbers(item, "scale", where),
        times=str(item.get("times", "")),
        bounds={k: _bounds(v, k, where) for k, v in _of(item, "bounds", dict, default={}, place=where).items()},
        only={k: _way(v, k, where) for k, v in _of(item, "only", dict, default={}, place=where).items()},
        wait=_number(item.get("wait", 0), "wait", where),
        why=text_of(item, "why", where),
        gives_up=str(item.get("gives_up", "")),
        cost=_number(item.get("cost", 1), "cost", where),
        needs=texts(item, "needs", where),
        versions=str(item.get("versions", "")),
        platforms=texts(item, "platforms", where),
    )


def _number(value: Any, key: str, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{key} is {value!r}", place=place, next="write a number")
    return float(value)


def _numbers(item: Mapping[str, Any], key: str, place: str) -> dict[str, float]:
    held = _of(item, key, dict, default={}, place=place)
    return {name: _number(value, f"{key}: {name}", place) for name, value in held.items()}


def _bounds(value: Any, name: str, place: str) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise UsageError(f"bounds: {name} is {value!r}", place=place, next="write [LOWEST, HIGHEST]")
    return _number(value[0], f"bounds: {name}", place), _number(value[1], f"bounds: {name}", place)


def _way(value: Any, name: str, place: str) -> Way:
    if value not in get_args(Way):
        raise UsageError(f"only: {name} is {value!r}", place=place, next='write "up" or "down"')
    return cast("Way", value)


def _flag_value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _sample(item: Mapping[str, Any], place: str) -> Sample:
    only_keys(item, SAMPLE_KEYS, place)
    log = item.get("log", "")
    lines = texts(item, "log", place) if isinstance(log, list) else tuple(str(log).strip("\n").split("\n"))
    number = _of(item, "line", int, default=1, place=place)
    if not 1 <= number <= len(lines) or not lines[number - 1].strip():
        raise UsageError(f"line = {number} names no text of the {len(lines)} lines of log", place=place, next=_COUNTED)
    return Sample(lines, number)


def _literals(data: Mapping[str, Any], patterns: Iterable[str], place: str, known: Regexes) -> tuple[str, ...]:
    given = texts(data, "literal", place)
    short = [text for text in given if len(text) < SHORTEST]
    if short:
        raise UsageError(f"literal {short[0]!r} is shorter than {SHORTEST} characters", place=place, next=_LITERAL)
    found = {text.lower() for text in given}
    for regex in patterns:
        choice = known.literals(regex)
        if not (choice or given):
            raise UsageError(
                f"no text of {SHORTEST} or more characters must occur in {regex!r}",
                place=place,
                next="make the regex more specific, or name such texts in literal = [...]",
            )
        found |= choice
    return tuple(sorted(found))


def _blames(value: Any, place: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if isinstance(value, Mapping):
        only_keys(value, ("flags", "env"), f"{place}: blames")
        return texts(value, "flags", place), texts(value, "env", place)
    names = texts({"blames": value}, "blames", place)
    env = tuple(n for n in names if n.isupper())
    return tuple(n for n in names if n not in env), env


def only_keys(item: Mapping[str, Any], keys: tuple[str, ...], place: str) -> None:
    """Refuse a key that is not among `keys`."""
    for key in item:
        if key not in keys:
            near = get_close_matches(key, keys, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise UsageError(f"unknown key {key!r}", place=place, next=f"{hint}known: {sorted(keys)}")


def _one_of(data: Mapping[str, Any], key: str, allowed: Iterable[str], place: str) -> None:
    if key not in data and key != "kind":
        return
    value, names = data.get(key), tuple(allowed)
    if value not in names:
        if value is None:
            raise UsageError(f"{key} is missing", place=place, next=f'add {key} = "..."; `relight explain` lists them')
        then = meant(str(value), names) or f"one of {', '.join(names)}"
        raise UsageError(f"{key} = {value!r} is not known", place=place, next=then)


def _of(item: Mapping[str, Any], key: str, cls: type[T], *, default: T, place: str) -> T:
    value = item.get(key, default)
    if not isinstance(value, cls) or (cls is int and isinstance(value, bool)):
        wanted = _WORDS.get(cls.__name__, cls.__name__)
        raise UsageError(f"{key} is {value!r}", place=place, next=f"write {wanted}")
    return value


def text_of(item: Mapping[str, Any], key: str, place: str) -> str:
    """Return a text that must be there."""
    value = item.get(key)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{key} is missing", place=place, next=f'add {key} = "..."')
    return value


def texts(item: Mapping[str, Any], key: str, place: str) -> tuple[str, ...]:
    """Return a list of texts, one alone as a list."""
    value = item.get(key, [])
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(x, str) and x for x in items):
        raise UsageError(f"{key} must be a text or a list of texts", place=place, next=f'write {key} = ["..."]')
    return tuple(items)


def tables(data: Mapping[str, Any], key: str, place: str) -> list[Mapping[str, Any]]:
    """Return the tables of a key that is written [[key]]."""
    value = data.get(key, [])
    if not isinstance(value, list) or not all(isinstance(x, Mapping) for x in value):
        raise UsageError(f"{key} is no list of tables", place=place, next=f"write [[{key}]] above its keys")
    return value


def regexes(patterns: tuple[str, ...], key: str, place: str, known: Regexes) -> tuple[str, ...]:
    """Return the patterns if all compile."""
    for regex in patterns:
        wrong = known.wrong(regex)
        if wrong:
            raise UsageError(
                f"{key}: {regex!r} does not compile: {wrong}",
                place=place,
                next="it is a Python regex; \\ before what is meant as it stands",
            )
    return patterns
