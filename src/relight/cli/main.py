"""The command `relight`: its subcommands, loaded when they are used, and the exit status of every ending."""

import os
import pwd
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from itertools import pairwise
from typing import Any, TextIO

import click

from relight import __version__
from relight.cli.group import Group

COMMANDS = {
    "deploy": ("relight.cli.deploy:deploy", "One launch to a verdict; on failure the cause, the next step."),
    "retry": ("relight.cli.deploy:retry", "Launch, diagnose, change, relaunch, until healthy or all tried."),
    "check": ("relight.cli.check:check", "Preflight: host, GPUs, flags, model, ports; launches nothing."),
    "diagnose": ("relight.cli.diagnose:diagnose", "Post-mortem of any log; no host needed for a local file."),
    "report": ("relight.cli.report:report", "Post-mortem of a run."),
    "runs": ("relight.cli.runs:runs", "What ran."),
    "status": ("relight.cli.runs:status", "What runs now, and how far a start is."),
    "logs": ("relight.cli.logs:logs", "The server's log of a run."),
    "stop": ("relight.cli.runs:stop", "Stop the server of a run."),
    "prune": ("relight.cli.prune:prune", "Show, and with --yes delete, runs that are over."),
    "playbook": ("relight.cli.playbook:playbook", "Check playbooks and signatures; write a new signature."),
    "init": ("relight.cli.init:init", "Ask a host and print a hosts.toml and a first playbook."),
    "explain": ("relight.cli.explain:explain", "What a kind of failure or a signature is, and what helps."),
    "schema": ("relight.cli.schema:schema", "The JSON Schema of a document or file."),
    "lab": ("relight.cli.lab:lab", "Start the simulated host and say how to reach it."),
    "completion": ("relight.cli.completion:completion", "The completion script of a shell."),
}

EXAMPLES = """\b
Examples:
  relight retry demo.toml --host lab        a whole run without any hardware
  relight init root@gpu1.example.com -o .   ask a host, write files to begin with
  relight retry qwen.toml --host gpu1       until healthy, or every option was tried
  relight diagnose server.log               the cause in any log

`relight COMMAND --help` tells the options and examples of a command.
"""


class Commands(Group):
    """A group whose commands are imported when they are called; its help needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Return the commands in the order people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        """Import and return a command, None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Offer the commands without importing them."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415  only where a shell asks

        found = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]
        # An option of `relight` itself was begun.
        return found or click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXAMPLES,
)
@click.version_option(__version__, message="relight %(version)s")
@click.pass_context
def relight(ctx: click.Context) -> None:
    """Bring an SGLang server up on a GPU host.

    relight launches it over SSH, names the cause of a crash, changes the smallest set of flags that removes it,
    and does not give up until the server answers correctly or every option has been tried.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status (CONTRACT.md section 1)."""
    name_user()
    forgive(sys.stdout)
    sys.exit(main(sys.argv[1:] if argv is None else argv))


def forgive(stream: TextIO | None) -> None:
    """Let a stream show ? for what its encoding lacks, as stderr does: a character of a log must not end a run."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="replace")


def name_user() -> None:
    """Give a user name and home who has none, as in a container that runs under a number."""
    named = any(map(os.environ.get, ("LOGNAME", "USER", "LNAME", "USERNAME")))
    if named and os.environ.get("HOME"):
        return
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        os.environ.setdefault("LOGNAME", str(os.getuid()))
        os.environ.setdefault("HOME", "/")


def main(argv: Sequence[str]) -> int:
    """Run one command line and return its exit status; every ending is turned into one here."""
    format = wanted_format(argv)  # noqa: A001  the option's name
    try:
        return int(relight.main(args=list(argv), prog_name="relight", standalone_mode=False) or 0)
    except (KeyboardInterrupt, click.Abort):
        click.echo("relight: interrupted", err=True)
        return 130
    except BrokenPipeError:
        from relight.cli.output import swallow_broken_pipe  # noqa: PLC0415  only here

        swallow_broken_pipe()
        return 0
    except Exception as error:  # noqa: BLE001  the one place where the unknown becomes an exit status
        return failed(error, format, argv)


def failed(error: Exception, format: str, argv: Sequence[str] = ()) -> int:  # noqa: A002  the option's name
    """Print what went wrong and return the status that says so."""
    from relight.cli.output import complain  # noqa: PLC0415  not needed for --help
    from relight.words.errors import RelightError  # noqa: PLC0415

    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.ClickException):
        from relight.cli.faults import usage_error  # noqa: PLC0415

        error = usage_error(error, _commands(argv))
    if not isinstance(error, RelightError):
        from relight.cli.bug import bug  # noqa: PLC0415

        return bug(error, format)
    complain(error, format=format)
    return error.exit_status


def _commands(argv: Sequence[str]) -> list[str]:
    """Return the commands that a command line begins with."""
    found: list[str] = []
    group: click.Command | None = relight
    for word in argv:
        group = group.get_command(click.Context(group), word) if isinstance(group, click.Group) else None
        if group is None:
            break
        found.append(word)
    return found


def wanted_format(argv: Sequence[str]) -> str:
    """Return "json" where the command line asks for it, however the rest of it fares."""
    json = "--format=json" in argv or ("--format", "json") in pairwise(argv)
    return "json" if json else "text"
