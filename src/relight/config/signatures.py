"""Load signatures: one TOML file for each failure (CONTRACT.md section 4)."""

import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from relight.config.literals import SHORTEST
from relight.config.regexes import Regexes
from relight.words.errors import UsageError
from relight.words.kinds import KINDS
from relight.words.signature import Remedy, Role, Sample, Signature, SignatureAction

T = TypeVar("T")
KEYS = (
    "title", "kind", "role", "action", "generic", "fatal", "any", "none", "literal", "frames", "phase", "versions",
    "blames", "summary", "next", "remedy", "sample", "near_miss",
)  # fmt: skip
REMEDY_KEYS = (
    "set", "unset", "set_env", "unset_env", "add", "scale", "times", "bounds", "wait", "why", "gives_up", "cost",
    "needs", "versions", "platforms",
)  # fmt: skip
SAMPLE_KEYS = ("log", "line")


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
        raise UsageError(f"cannot be read: {error}", place=str(path)) from error
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
        add={k: float(v) for k, v in _of(item, "add", dict, default={}, place=where).items()},
        scale={k: float(v) for k, v in _of(item, "scale", dict, default={}, place=where).items()},
        times=str(item.get("times", "")),
        bounds={k: (float(v[0]), float(v[1])) for k, v in _of(item, "bounds", dict, default={}, place=where).items()},
        wait=float(item.get("wait", 0)),
        why=text_of(item, "why", where),
        gives_up=str(item.get("gives_up", "")),
        cost=float(item.get("cost", 1)),
        needs=texts(item, "needs", where),
        versions=str(item.get("versions", "")),
        platforms=texts(item, "platforms", where),
    )


def _flag_value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _sample(item: Mapping[str, Any], place: str) -> Sample:
    only_keys(item, SAMPLE_KEYS, place)
    log = item.get("log", "")
    lines = tuple(log) if isinstance(log, list) else tuple(str(log).strip("\n").split("\n"))
    number = _of(item, "line", int, default=1, place=place)
    if not 1 <= number <= len(lines) or not lines[number - 1].strip():
        raise UsageError(f"line = {number} names no text of the {len(lines)} lines of log", place=place)
    return Sample(lines, number)


def _literals(data: Mapping[str, Any], patterns: Iterable[str], place: str, known: Regexes) -> tuple[str, ...]:
    given = texts(data, "literal", place)
    short = [text for text in given if len(text) < SHORTEST]
    if short:
        raise UsageError(f"literal {short[0]!r} is shorter than {SHORTEST} characters", place=place)
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
        near = get_close_matches(str(value), names, 3)
        raise UsageError(f"{key} = {value!r} is not known", place=place, next=f"near: {near}" if near else f"{names}")


def _of(item: Mapping[str, Any], key: str, cls: type[T], *, default: T, place: str) -> T:
    value = item.get(key, default)
    if not isinstance(value, cls) or (cls is int and isinstance(value, bool)):
        raise UsageError(f"{key} must be {cls.__name__}, not {value!r}", place=place)
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
        raise UsageError(f"{key} must be a text or a list of texts", place=place)
    return tuple(items)


def tables(data: Mapping[str, Any], key: str, place: str) -> list[Mapping[str, Any]]:
    """Return the tables of a key that is written [[key]]."""
    value = data.get(key, [])
    if not isinstance(value, list) or not all(isinstance(x, Mapping) for x in value):
        raise UsageError(f"{key} must be written [[{key}]]", place=place)
    return value


def regexes(patterns: tuple[str, ...], key: str, place: str, known: Regexes) -> tuple[str, ...]:
    """Return the patterns if all compile."""
    for regex in patterns:
        wrong = known.wrong(regex)
        if wrong:
            raise UsageError(f"{key}: {regex!r} does not compile: {wrong}", place=place)
    return patterns
