"""The machine this stand-in runs on: its scenario, the release it plays, and what it remembers between launches."""

import os
import re
import sys
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

CONDITION = re.compile(r"^(?P<name>\S+) (?P<op>==|!=|<=|>=|<|>|in|is) (?P<value>.+)$")


@dataclass(frozen=True)
class Model:
    """What the stand-in knows about the model it pretends to load; sizes in GiB are for all ranks together."""

    architecture: str = "Qwen3_5MoeForConditionalGeneration"
    hybrid: bool = True
    heads: int = 32
    weights_gib: float = 226.0
    draft_gib: float = 32.4
    shards: int = 11
    kv_bytes: int = 15360
    draft_kv_bytes: int = 1024
    slot_mib: float = 24.6
    context: int = 262144
    activation_mib: float = 0.35
    graph_gib: float = 0.24
    present: bool = True


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong in a phase when all of `when` holds.

    `ranks`: who fails (empty: all). `shape`: raise, hang, kill,
    segfault, abort. `at`: "file:line function" of a library frame; {rank} in `text` is the number of the rank.
    `echo`: what the other ranks raise a moment later; without it they wait for ever.
    """

    phase: str
    when: tuple[str, ...] = ()
    shape: str = "raise"
    type: str = "RuntimeError"
    text: str = ""
    at: str = ""
    ranks: tuple[int, ...] = ()
    echo: str = ""


@dataclass(frozen=True)
class Sickness:
    """A server that is up and answers wrongly when all of `when` holds: garbage, repeat, nan, empty."""

    shape: str
    when: tuple[str, ...] = ()


PLAIN = {"title", "version", "pace", "release", "interleave", "peer", "driver", "cuda"}


@dataclass(frozen=True)
class Scenario:
    """What this machine is and what goes wrong on it. `peer`: what a node does when another is gone: error or hang.

    `driver` is the version of the driver of its cards, `cuda` the CUDA that it supports.
    """

    title: str = ""
    version: str = "0.5.9"
    pace: float = 1.0
    release: float = 0.2
    interleave: bool = False
    peer: str = "error"
    driver: str = "580.95.05"
    cuda: str = "13.0"
    model: Model = field(default_factory=Model)
    faults: tuple[Fault, ...] = ()
    sicknesses: tuple[Sickness, ...] = ()


def machine() -> Path:
    """Return the folder that plays the root of the machine (the interpreter is in opt/sglang below it)."""
    return Path(sys.prefix).parents[1]


@cache
def scenario() -> Scenario:
    """Return the scenario of this machine."""
    data = tomllib.loads((machine() / "box" / "scenario.toml").read_text())
    plain = {
        k: v
        for k, v in data.items()
        if k in {"title", "version", "pace", "release", "interleave", "peer", "driver", "cuda"}
    }
    return Scenario(
        **plain,
        model=made(Model, data.get("model", {})),
        faults=tuple(made(Fault, f) for f in data.get("fault", [])),
        sicknesses=tuple(made(Sickness, s) for s in data.get("sickness", [])),
    )


def made(kind: Any, table: Mapping[str, Any]) -> Any:
    """Return a `kind` from a TOML table; keys it does not have are an error."""
    known = {f.name for f in fields(kind)}
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in table.items() if k in known})


@cache
def release() -> tuple[int, ...]:
    """Return the release this machine plays as numbers: (0, 5, 9)."""
    return tuple(int(n) for n in re.findall(r"\d+", scenario().version)[:3])


def since(*numbers: int) -> bool:
    """Say whether the release is `numbers` or later."""
    return release() >= numbers


def holds(conditions: tuple[str, ...], values: Mapping[str, object]) -> bool:
    """Say whether all conditions hold: `NAME == V`, `!=`, `<`, `<=`, `>`, `>=`, `NAME in A B C`, `NAME is set|unset`.

    NAME is a flag without dashes, `env:NAME`, or something the caller counts (launch, request, concurrency).
    """
    return all(_holds(text, values) for text in conditions)


def _holds(text: str, values: Mapping[str, object]) -> bool:
    found = CONDITION.match(text)
    if not found:
        raise ValueError(f"scenario: not a condition: {text!r}")
    name, op, wanted = found["name"], found["op"], found["value"]
    value = os.environ.get(name[4:]) if name.startswith("env:") else values.get(name)
    there = value not in (None, False, "")
    if op == "is":
        return there == (wanted == "set")
    if op == "in":
        return str(value) in wanted.split()
    if op in {"==", "!="}:
        return (_plain(value) == _plain(wanted)) == (op == "==")
    return value is not None and _ordered(float(str(value)), op, float(wanted))


def _plain(value: object) -> object:
    text = str(value).lower()
    try:
        return float(text)
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(text, text)


def _ordered(left: float, op: str, right: float) -> bool:
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[op]


def count_launch() -> int:
    """Remember one more launch on this machine and return how many there were."""
    path = machine() / "box" / "launches"
    with path.open("ab") as out:
        out.write(b".")
    return path.stat().st_size


def launches() -> int:
    """Return how many launches this machine saw, the running one included."""
    path = machine() / "box" / "launches"
    return path.stat().st_size if path.exists() else 0


def rest(seconds: float) -> None:
    """Let time pass: `seconds` at the pace of the scenario."""
    time.sleep(seconds * scenario().pace)
