"""`relight lab`: the simulated host, for as long as the command runs."""

import signal

import click

from relight.cli.options import Common, common
from relight.cli.output import document, say
from relight.cli.work import terminated_like_interrupted
from relight.words.errors import UsageError


@click.command(epilog="Example: relight lab, and in another terminal: relight check demo.toml --host simulated")
@click.option("--scenario", metavar="NAME", default="story", show_default=True, help="What it does: a name, or a file.")
@common()
def lab(shared: Common, *, scenario: str) -> int:
    """Start a simulated 8-GPU host on loopback, print how to reach it, and keep it until Ctrl-C.

    It is a stand-in: no GPU, no model, no SGLang; only their behaviour at start-up.
    """
    from relight.lab import open as open_lab  # noqa: PLC0415  imports paramiko
    from relight.lab import platform_problem  # noqa: PLC0415

    problem = platform_problem()
    if problem:
        raise UsageError(problem, place="relight lab")
    with terminated_like_interrupted(), open_lab(shared.state / "lab", scenario) as machine:
        if shared.json:
            document({"hosts": machine.snippet(), "folder": str(machine.folder), "stand_in": True})
        else:
            say("# A simulated host: a stand-in, no real GPU or SGLang. Put this into hosts.toml:\n")
            say(machine.snippet())
        say("relight: the lab runs until Ctrl-C", err=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            return 0
    return 0
