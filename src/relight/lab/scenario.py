"""Scenario files: what a simulated machine is, which settings fail on it, where and how."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from relight.lab.box.sglang.srt.stand_in import world
from relight.words.errors import UsageError
from relight.words.near import meant

OWN = {"foreign", "listener"}
PEERS = ("error", "hang")
PHASES = frozenset(
    ["dist_init", "nccl", "load_weights", "load_draft", "pool", "attention", "moe", "graph_capture", "warmup", "serve"],
)
SHAPES = {"fault": {"raise", "hang", "kill", "segfault", "abort"}, "sickness": {"garbage", "repeat", "nan", "empty"}}


@dataclass(frozen=True)
class Foreign:
    """Memory (MiB) on a card that somebody else holds; `hidden`: by a process that cannot be seen from here."""

    card: int
    mib: int
    name: str = "python"
    hidden: bool = False


@dataclass(frozen=True)
class Scenario:
    """One scenario; `text` is the file, `listener` says that a stranger listens on the port of the deployment."""

    name: str
    title: str
    version: str
    text: str
    foreign: tuple[Foreign, ...] = ()
    listener: bool = False


def names() -> tuple[str, ...]:
    """Return the names of the scenarios that come with relight."""
    return tuple(sorted(f.name.removesuffix(".toml") for f in _folder().iterdir() if f.name.endswith(".toml")))


def load_scenario(name: str) -> Scenario:
    """Return a scenario by its name, or from a file when `name` ends in .toml. Raises UsageError with the place."""
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise UsageError("no such scenario file", place=name, next=f"scenarios of relight: {', '.join(names())}")
        return read_scenario(path.read_text(), path.stem, name)
    if name not in names():
        then = meant(name, names()) or f"known: {', '.join(names())}"
        raise UsageError(f"no scenario '{name}'", place="--scenario", next=then)
    return read_scenario(_folder().joinpath(f"{name}.toml").read_text(), name, f"{name}.toml")


def read_scenario(text: str, name: str, place: str) -> Scenario:
    """Return the scenario that `text` describes; `place` is what errors call it."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"not TOML: {error}", place=place, next="mend the file there") from error
    _check(data, place)
    return Scenario(
        name,
        data.get("title", name),
        data.get("version", world.Scenario.version),
        text,
        tuple(Foreign(**table) for table in data.get("foreign", [])),
        bool(data.get("listener", False)),
    )


def _folder() -> Any:
    return files("relight.lab").joinpath("scenarios")


def _check(data: Mapping[str, Any], place: str) -> None:
    top = world.PLAIN | {"model", "fault", "sickness"} | OWN
    _known(data, top, place)
    if data.get("peer", "error") not in PEERS:
        raise UsageError(f"peer {data['peer']!r} is not known", place=place, next=f"one of {', '.join(PEERS)}")
    _known(data.get("model", {}), _fields(world.Model), f"{place}: [model]")
    for kind, shape in (("fault", world.Fault), ("sickness", world.Sickness)):
        for number, table in enumerate(data.get(kind, []), 1):
            where = f"{place}: [[{kind}]] {number}"
            _known(table, _fields(shape), where)
            _check_one(kind, table, where)
    for number, table in enumerate(data.get("foreign", []), 1):
        _known(table, _fields(Foreign), f"{place}: [[foreign]] {number}")


def _check_one(kind: str, table: Mapping[str, Any], where: str) -> None:
    shape = table.get("shape", "raise")
    if shape not in SHAPES[kind]:
        raise UsageError(f"shape {shape!r} is not known", place=where, next=f"one of {', '.join(sorted(SHAPES[kind]))}")
    if kind == "fault" and table.get("phase") not in PHASES:
        then = f"one of {', '.join(sorted(PHASES))}"
        raise UsageError(f"phase {table.get('phase')!r} is not known", place=where, next=then)
    for text in table.get("when", []):
        if not world.CONDITION.match(text):
            raise UsageError(f"not a condition: {text!r}", place=where, next="NAME == VALUE, NAME is set, NAME in A B")


def _fields(kind: Any) -> set[str]:
    return {f.name for f in fields(kind)}


def _known(table: Mapping[str, Any], known: set[str], place: str) -> None:
    for key in table:
        if key not in known:
            raise UsageError(f"unknown key {key!r}", place=place, next=f"known: {', '.join(sorted(known))}")
