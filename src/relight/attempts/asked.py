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
    levers = {lever.name: [_named(variant) for variant in lever.variants] for lever in order.playbook.levers}
    return {**file, **typed, **stand_in, **({"levers": levers} if levers else {})}


def _named(variant: Variant) -> str:
    """Return a variant by what decides whether it is kept: its first flag, or its first variable."""
    if variant.off:
        return "off"
    first = dict(list(variant.flags.items())[:1])
    return shlex.join(to_argv(first)) or next((f"{name}={value}" for name, value in variant.env.items()), "")
