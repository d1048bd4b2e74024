"""`relight deploy` and `relight retry`: one launch, or the loop."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from relight.cli import complete
from relight.cli.asked import Asked, Duration
from relight.cli.options import HOST, PATH, Common, common, examples, repeated

F = TypeVar("F", bound=Callable[..., Any])
DURATION = Duration()


def _run_options(command: F) -> F:
    options = [
        click.argument("playbook", required=False, type=PATH, metavar="[PLAYBOOK]"),
        repeated("--host", "host_names", metavar="NAME", complete=complete.host_names, help=HOST),
        repeated(
            "--set", "sets", metavar="FLAG=VALUE", complete=complete.assignments, help="Set a flag, and protect it."
        ),
        repeated(
            "--unset", "unsets", metavar="FLAG", complete=complete.flags, help="Leave a flag out, and protect that."
        ),
        repeated("--env", metavar="NAME=VALUE", help="Set a variable, and protect it."),
        click.option("--max-attempts", type=click.IntRange(min=1), metavar="N", help="Launches at most."),
        click.option("--deadline", type=DURATION, metavar="8h", help="Time for the whole run: 90s, 45m, 8h, 1h30m."),
        click.option("--dry-run", is_flag=True, help="Show what would be launched first, and why; launch nothing."),
        click.option("--replace", is_flag=True, help="Stop the server of an earlier run on these GPUs or this port."),
        click.option("--wait", is_flag=True, help="Wait while these GPUs or this port are held."),
        click.option("--forget", is_flag=True, help="Forget what earlier runs on such GPUs learned."),
        click.option(
            "--resume",
            metavar="RUN",
            shell_complete=complete.run_ids,
            help="Go on with a run; takes no PLAYBOOK or --host.",
        ),
        repeated("--notify", metavar="URL", help="Tell this address how the run ended (apprise)."),
        click.option("--events", metavar="FILE", help="Write every event as one JSON line; - is stdout."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command(
    epilog=examples(
        "relight deploy qwen.toml --host rtx8 --set port=30001",
        "relight deploy qwen.toml --host rtx8 --dry-run",
    )
)
@_run_options
@common()
def deploy(shared: Common, **given: Any) -> int:
    """Launch once, to a verdict.

    On failure the diagnosis is printed, and the step `retry` would take next.

    Exit status: 0 healthy, 1 failed, 2 wrong usage or file, 3 host unreachable, 5 needs a person, 6 busy,
    130 interrupted.
    """
    return _work(shared, Asked(mode="deploy", **given))


@click.command(
    epilog=examples(
        "relight retry demo.toml --host lab             (a whole run without any hardware)",
        "relight retry qwen.toml --host rtx8 --deadline 8h --notify mailto://me:PASSWORD@example.com",
        "relight retry qwen.toml --host rtx8 --keep     (stay, and repair when the server dies)",
        "relight retry --resume 20261129",
    )
)
@_run_options
@click.option("--keep", is_flag=True, help="Stay after success, and repair when the server dies.")
@common()
def retry(shared: Common, **given: Any) -> int:
    """Launch, diagnose, change the smallest set of flags, relaunch: until healthy, or every option was tried.

    Exit status: 0 healthy, 1 every option was tried, 2 wrong usage or file, 3 host unreachable, 4 budget spent,
    5 needs a person, 6 busy, 130 interrupted (the server keeps its state; --resume goes on).
    """
    return _work(shared, Asked(mode="retry", **given))


def _work(shared: Common, asked: Asked) -> int:
    from relight.cli.work import work  # noqa: PLC0415  help and completion need none of it

    return work(shared, asked)
