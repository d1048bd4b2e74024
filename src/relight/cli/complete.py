"""What a shell offers for a word that was begun: hosts, runs, flags, kinds.

It never fails; at worst it offers nothing.
"""

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import click
from click.shell_completion import CompletionItem

from relight.cli.options import Common, config_folder
from relight.words.errors import RelightError

Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[str]]


def _of(known: Callable[[Common], Iterable[str]]) -> Completer:
    """Make a completer of a function that returns all that is known, given the options typed so far."""

    @functools.wraps(known)
    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001  click's
        try:
            return [word for word in known(_typed(ctx.params)) if word.startswith(incomplete)]
        except (RelightError, OSError, ValueError):
            return []

    return complete


def _typed(params: dict[str, Any]) -> Common:
    hosts, state = (Path(held).expanduser() if held else None for held in map(params.get, ("hosts", "state")))
    return Common(hosts=hosts, state_dir=state)


@_of
def host_names(shared: Common) -> Iterable[str]:
    """Return the hosts of the hosts file, and the simulated one."""
    from relight.config.hosts import RESERVED, find_hosts, load_hosts  # noqa: PLC0415  only where it is asked for

    try:
        named = list(load_hosts(find_hosts(shared.hosts, here=Path(), config=config_folder())))
    except RelightError:
        named = []
    return [*named, RESERVED]


@_of
def run_ids(shared: Common) -> Iterable[str]:
    """Return the ids of the runs that are kept, newest first."""
    from relight.journal.runs import ids  # noqa: PLC0415  only where it is asked for

    return reversed(ids(shared.state))


@_of
def kinds(shared: Common) -> Iterable[str]:
    """Return kinds of failure and the ids of signatures."""
    from relight.config import shipped  # noqa: PLC0415  only where it is asked for
    from relight.words.kinds import KINDS  # noqa: PLC0415

    folders = (shipped.engine("sglang") / "signatures", *shared.signature_folders)
    return [*KINDS, *(path.stem for folder in folders for path in sorted(folder.glob("*.toml")))]


@_of
def flags(shared: Common) -> Iterable[str]:  # noqa: ARG001  one shape for all
    """Return the flags that any version of the engine has."""
    return sorted(_tables())


@_of
def assignments(shared: Common) -> Iterable[str]:  # noqa: ARG001  one shape for all
    """Return the flags that any version of the engine has, ready for a value."""
    return [f"{name}=" for name in sorted(_tables())]


def _tables() -> set[str]:
    from relight.config import shipped  # noqa: PLC0415  only where it is asked for
    from relight.config.flag_tables import load_versions  # noqa: PLC0415

    parsers = load_versions(shipped.engine("sglang")).values()
    return {name for parser in parsers for flag in parser for name in flag.names}


@_of
def scenarios(shared: Common) -> Iterable[str]:  # noqa: ARG001  one shape for all
    """Return the scenarios of the simulated host."""
    from relight.lab.scenario import names  # noqa: PLC0415  only where it is asked for

    return names()


@_of
def schemas(shared: Common) -> Iterable[str]:  # noqa: ARG001  one shape for all
    """Return the names of the JSON Schemas."""
    from relight.cli.schema import SCHEMAS  # noqa: PLC0415  it imports this module

    return sorted(SCHEMAS)


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Leave it to the shell: what is wanted is a file."""
    return [CompletionItem(incomplete, type="file")]
