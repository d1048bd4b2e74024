"""The environment of a run, in words. `Record.environment` is open: what has a known shape is told better."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from relight.reports.prose import listed, value
from relight.words.attempt import Record
from relight.words.host import Gpu, GpuProcess

_ELSEWHERE = {
    "engine_version",
    "driver",
    "playbook_file",
    "options",
    "levers",
    "stand_in",
    "stopped",
    "boot_id",
    "clock_offset",
}
"""Told with the engine, with the cards and in commands, or of use to relight only."""
_OF_THE_MACHINE = {"hostname", "kernel", "container"}
"""What a simulated host does not have of its own."""


def gpus(record: Record) -> tuple[Gpu, ...]:
    """Return the cards of a run; the environment holds them as values or as what JSON made of those."""
    return cards(record.environment.get("gpus"))


def cards(held: Any) -> tuple[Gpu, ...]:
    """Return cards, whether they are values or what JSON made of those."""
    found = map(_gpu, held if isinstance(held, list | tuple) else ())
    return tuple(card for card in found if card)


def _gpu(held: Any) -> Gpu | None:
    if isinstance(held, Gpu):
        return held
    if not isinstance(held, Mapping) or "name" not in held:
        return None
    total, used = (int(held.get(name) or 0) for name in ("memory_total", "memory_used"))
    return Gpu(
        int(held.get("index") or 0),
        str(held["name"]),
        total,
        used,
        driver=str(held.get("driver") or ""),
        processes=tuple(map(_process, held.get("processes") or ())),
        node=str(held.get("node") or ""),
    )


def _process(held: Mapping[str, Any]) -> GpuProcess:
    return GpuProcess(int(held.get("pid") or 0), int(held.get("memory") or 0), str(held.get("name") or ""))


def card_memory(held: tuple[Gpu, ...]) -> int:
    """Return the memory of the smallest card in MiB, 0 if unknown."""
    return min((card.memory_total for card in held if card.memory_total), default=0)


def kinds(held: tuple[Gpu, ...]) -> str:
    """Return "8 x NAME (95.6 GiB)"; empty where the cards are not known."""
    found = Counter((card.name, card.memory_total) for card in held)
    return ", ".join(f"{n} x {name}" + (f" ({mib / 1024:.1f} GiB)" if mib else "") for (name, mib), n in found.items())


def stand_in(record: Record) -> bool:
    """Say whether the run was on the simulated host."""
    return bool(record.environment.get("stand_in"))


def lever_variants(record: Record, name: str) -> tuple[str, ...]:
    """Return what the variants of a lever are called, best first; () where the record does not say."""
    held = record.environment.get("levers")
    found = held.get(name) if isinstance(held, Mapping) else None
    return tuple(map(str, found)) if isinstance(found, list | tuple) else ()


def hosts(record: Record) -> str:
    """Return the hosts of a run in words, in the order of rank."""
    return listed(list(record.hosts)) if record.hosts else record.host


def with_variants(record: Record, text: str) -> str:
    """Return words of the plan with each variant named by what it sets too: "x at variant 2 (`--y 1`)"."""
    held = record.environment.get("levers")
    for lever in held if isinstance(held, Mapping) else ():
        names = dict(enumerate(lever_variants(record, lever), 1))
        for number, name in names.items():
            text = re.sub(rf"\b{re.escape(lever)}(?: at|:) variant {number}\b", rf"\g<0> (`{_literal(name)}`)", text)
    return text


def _literal(text: str) -> str:
    return text.replace("\\", r"\\")


def place(record: Record) -> str:
    """Return where the run was, in words: its hosts, and that they are simulated where they are."""
    names = hosts(record)
    return f"{names} (simulated: a stand-in without real GPUs)" if stand_in(record) else names


def facts(record: Record) -> list[tuple[str, str]]:
    """Return name and value of all that is known of the environment, nested names joined by a dot."""
    rows = [("cards", kinds(gpus(record)))]
    rows += [("driver", driver) for driver in dict.fromkeys(card.driver for card in gpus(record)) if driver]
    if stand_in(record):
        rows = [("stand-in", "a simulated host: no real GPUs, no real engine"), *rows]
    hidden = _ELSEWHERE | ({"gpus"} if gpus(record) else set()) | (_OF_THE_MACHINE if stand_in(record) else set())
    rest = {k: v for k, v in record.environment.items() if k not in hidden}
    rows += _flat(rest)
    return [(name, held) for name, held in dict(rows).items() if held]


def _flat(held: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, inner in held.items():
        if inner in (None, "", (), [], {}):
            continue
        if isinstance(inner, Mapping):
            rows += _flat(inner, f"{prefix}{name}.")
        else:
            rows.append((f"{prefix}{name}".replace("_", " "), value(inner)))
    return rows
