"""`relight check`: what would go wrong, before anything is launched."""

from pathlib import Path

import click

from relight.cli import complete
from relight.cli.options import HOST, PATH, Common, common, examples, repeated


@click.command(epilog=examples("relight check qwen.toml --host rtx8", "relight check qwen.toml --host a --host b"))
@click.argument("playbook", type=PATH, metavar="PLAYBOOK")
@repeated("--host", "names", metavar="NAME", complete=complete.host_names, help=HOST, required=True)
@repeated("--set", "sets", metavar="FLAG=VALUE", complete=complete.assignments, help="As for retry.")
@repeated("--unset", "unsets", metavar="FLAG", complete=complete.flags, help="As for retry.")
@repeated("--env", metavar="NAME=VALUE", help="As for retry.")
@click.option("--no-validate", is_flag=True, help="Do not ask the engine's own validation, which imports the engine.")
@common()
def check(
    shared: Common,
    *,
    playbook: Path,
    names: tuple[str, ...],
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    env: tuple[str, ...],
    no_validate: bool,
) -> int:
    """Look at the host, its GPUs and engine, every flag, the model, ports, disk and leftovers. Launches nothing.

    Of several hosts each is looked at, then whether they can be the nodes of one server.

    Exit status: 0 if nothing is wrong (warnings and notes may be printed), 1 if something is.
    """
    from relight.cli.preflight import Wanted, preflight  # noqa: PLC0415  help and completion need none of it

    return preflight(shared, Wanted(playbook, names, sets, unsets, env, validate=not no_validate))
