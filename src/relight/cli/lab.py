"""`relight lab`: the simulated host, for as long as the command runs."""

import signal
from contextlib import ExitStack

import click

from relight.cli import complete
from relight.cli.interrupts import interrupted_once
from relight.cli.options import Common, common, examples
from relight.cli.output import document, say
from relight.words.errors import UsageError


@click.command(
    epilog=examples("relight lab > hosts.toml", "relight check demo.toml --host simulated   (in another terminal)")
)
@click.option(
    "--scenario",
    metavar="NAME",
    shell_complete=complete.scenarios,
    default="story",
    show_default=True,
    help="What it does: a name, or a file.",
)
@click.option(
    "--nodes", type=click.IntRange(min=1, max=16), default=1, metavar="N", help="Hosts that can be one server together."
)
@common()
def lab(shared: Common, *, scenario: str, nodes: int) -> int:
    """Start a simulated 8-GPU host on loopback, print how to reach it, and keep it until Ctrl-C.

    It is a stand-in: no GPU, no model, no SGLang; only their behaviour at start-up.
    """
    from relight.lab import open as open_lab  # noqa: PLC0415  imports paramiko
    from relight.lab import platform_problem  # noqa: PLC0415

    problem = platform_problem()
    if problem:
        raise UsageError(problem, place="relight lab", next="name a host of your own with --host")
    with interrupted_once(), ExitStack() as stack:
        machines = [
            stack.enter_context(open_lab(shared.state / "lab", scenario, address=f"127.0.0.{n}"))
            for n in range(1, nodes + 1)
        ]
        names = ["simulated", *(f"simulated-{n}" for n in range(1, nodes))]
        tables = "\n".join(machine.snippet(name) for machine, name in zip(machines, names, strict=True))
        if shared.json:
            document({"hosts": tables, "folder": str(machines[0].folder), "stand_in": True})
        else:
            say("# A simulated host: a stand-in, no real GPU or SGLang. Put this into hosts.toml:\n")
            say(tables)
        say("relight: the lab runs until Ctrl-C", err=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            return 0
    return 0
