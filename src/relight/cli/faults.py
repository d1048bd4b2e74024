"""What click says of a wrong command line, in our words: place, fault, next action."""

import re
from collections.abc import Sequence

import click

from relight.words.errors import UsageError
from relight.words.near import meant

AFTER = {"--format", "--hosts", "--state", "--signatures", "--quiet", "-q", "--verbose", "-v"}
"""Options that every command takes, and `relight` itself does not."""
_WORDS = {
    r"is not a valid integer( range)?": "is not a whole number",
    r"is not in the range x>=(\d+)": r"is not \1 or more",
    r"is not in the range (\d+)<=x<=(\d+)": r"is not from \1 to \2",
    r"Got unexpected extra arguments? \((.*)\)": r"one argument too many: \1",
    r"Option '(.*)' requires an argument": r"\1 needs a value behind it",
    r"Option '(.*)' does not take a value": r"\1 takes no value",
}


def usage_error(error: click.ClickException, commands: Sequence[str] = ()) -> UsageError:
    """Return an error of the command line as ours; `commands` are the command it was said to, where click is silent."""
    ctx = getattr(error, "ctx", None)
    command = ctx.command_path if ctx else " ".join(["relight", *commands])
    place = command if command != "relight" else ""
    help_ = f"see `{command} --help`"
    if isinstance(error, click.NoSuchOption):
        of_all = isinstance(ctx.command, click.Group) if ctx else not commands
        return UsageError(f"no option {error.option_name}", place=place, next=_meant(error, command, of_all) or help_)
    if isinstance(error, click.MissingParameter):
        return UsageError(f"{_name(error)} is missing", place=place, next=_allowed(error) or help_)
    if isinstance(error, click.BadParameter):
        return UsageError(f"{_name(error)}: {_ours(error.message)}", place=place, next=_allowed(error) or help_)
    return UsageError(_ours(error.format_message()), place=place, next=help_)


def no_command(name: str, known: Sequence[str], group: str = "") -> UsageError:
    """Return the error for a command that there is not, with the near one."""
    return UsageError(f"no command '{name}'", place=group, next=meant(name, known) or f"known: {', '.join(known)}")


def _ours(text: str) -> str:
    text = " ".join(text.split()).rstrip(".")
    for theirs, ours in _WORDS.items():
        text = re.sub(theirs, ours, text)
    return text


def _meant(error: click.NoSuchOption, command: str, of_all: bool) -> str:
    """Say which option was meant, or that one of every command goes behind the command."""
    name = error.option_name
    if of_all and name in AFTER:
        return f"{name} goes after the command: {command} COMMAND {name} ..."
    near = sorted(error.possibilities or ())
    return f"did you mean {' or '.join(near)}?" if near else ""


def _name(error: click.BadParameter) -> str:
    """Return what is wrong or missing as the help names it."""
    param = error.param
    if param is None:
        return "an argument"
    if isinstance(param, click.Option):
        wants = param.metavar if isinstance(error, click.MissingParameter) else ""
        return f"{param.opts[0]} {wants or ''}".rstrip()
    listed = isinstance(param.type, click.Choice)
    return (param.human_readable_name.upper() if listed else param.metavar or param.human_readable_name).strip("[]")


def _allowed(error: click.BadParameter) -> str:
    kind = error.param.type if error.param else None
    return f"one of {', '.join(map(str, kind.choices))}" if isinstance(kind, click.Choice) else ""
