"""What a run was asked for, as a report needs it: the settings wanted most, and how to call relight again."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relight.attempts.order import RunOrder
from relight.planning.settings import put_together, unfit
from relight.words.argv import to_argv
from relight.words.parser import HostParser
from relight.words.playbook import Lever, Variant
from relight.words.settings import Settings

STAND_IN = "lab"
"""The reserved name of the simulated host."""


def asked_settings(order: RunOrder, parser: HostParser | None, version: str | None) -> Settings:
    """Return the playbook's settings with the first variant of each lever that the host can have."""
    playbook = order.playbook
    choice = {lever.name: _first(lever, parser, version) for lever in playbook.levers}
    return put_together(playbook, choice, (), order.overrides, order.spec.env, parser, version)


def _first(lever: Lever, parser: HostParser | None, version: str | None) -> int | None:
    fit = (i for i, variant in enumerate(lever.variants, 1) if not unfit(variant, parser, version))
    position = next(fit, None)
    return None if position is None or lever.variants[position - 1].off else position


def called(order: RunOrder) -> Mapping[str, Any]:
    """Return what a suggested command needs: the playbook's file and the options that were typed."""
    path = order.playbook.path
    file = {"playbook_file": str(Path(path).absolute())} if path else {}
    typed = {"options": {name: list(values) for name, values in order.typed.items()}} if order.typed else {}
    stand_in = {"stand_in": True} if order.spec.name == STAND_IN else {}
    levers = {lever.name: _names(lever) for lever in order.playbook.levers}
    return {**file, **typed, **stand_in, **({"levers": levers} if levers else {})}


def _names(lever: Lever) -> list[str]:
    """Return what the variants of a lever are called; those of one name also by what tells them apart."""
    names = [_named(variant) for variant in lever.variants]
    alike = {name: [v for v, n in zip(lever.variants, names, strict=True) if n == name] for name in names}
    return [
        name if len(alike[name]) == 1 else " ".join([name, *_apart(variant, alike[name])])
        for variant, name in zip(lever.variants, names, strict=True)
    ]


def _apart(variant: Variant, others: list[Variant]) -> list[str]:
    """Return the flags and variables of a variant that not all of `others` have like it."""
    flags = {n: v for n, v in variant.flags.items() if any(o.flags.get(n) != v for o in others)}
    env = {n: v for n, v in variant.env.items() if any(o.env.get(n) != v for o in others)}
    return (
        [shlex.join(to_argv(flags)), *(f"{n}={v}" for n, v in env.items())]
        if flags
        else [f"{n}={v}" for n, v in env.items()]
    )


def _named(variant: Variant) -> str:
    """Return a variant by what decides whether it is kept: its first flag, or its first variable."""
    if variant.off:
        return "off"
    first = dict(list(variant.flags.items())[:1])
    return shlex.join(to_argv(first)) or next((f"{name}={value}" for name, value in variant.env.items()), "")
