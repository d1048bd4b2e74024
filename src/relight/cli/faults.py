"""What click says of a wrong command line, in our words: place, fault, next action."""

import click

from relight.words.errors import UsageError

AFTER = {"--format", "--hosts", "--state", "--signatures", "--quiet", "-q", "--verbose", "-v"}
"""Options that every command takes, and `relight` itself does not."""
_WORDS = {"is not a valid integer range": "is not a whole number", "is not a valid integer": "is not a whole number"}


def usage_error(error: click.ClickException) -> UsageError:
    """Return an error of the command line as ours."""
    ctx = getattr(error, "ctx", None)
    command = ctx.command_path if ctx else "relight"
    help_ = f"see `{command} --help`"
    if isinstance(error, click.NoSuchOption):
        text = f"no option {error.option_name}"
        return UsageError(text, place=_place(ctx), next=_meant(error, at_top=not (ctx and ctx.parent)) or help_)
    if isinstance(error, click.MissingParameter):
        return UsageError(f"{_name(error)} is missing", place=_place(ctx), next=_allowed(error) or help_)
    text = " ".join(error.format_message().split()).rstrip(".")
    for theirs, ours in _WORDS.items():
        text = text.replace(theirs, ours)
    return UsageError(text, place=_place(ctx), next=help_)


def _place(ctx: click.Context | None) -> str:
    return ctx.command_path if ctx and ctx.parent else ""


def _meant(error: click.NoSuchOption, *, at_top: bool) -> str:
    """Say which option was meant, or that one of every command goes behind the command."""
    name = error.option_name
    if at_top and name in AFTER:
        return f"{name} goes after the command: relight COMMAND {name} ..."
    near = sorted(error.possibilities or ())
    return f"did you mean {' or '.join(near)}?" if near else ""


def _name(error: click.MissingParameter) -> str:
    """Return what is missing as the help names it."""
    param = error.param
    if param is None:
        return "an argument"
    if isinstance(param, click.Option):
        return f"{param.opts[0]} {param.metavar or ''}".rstrip()
    return (param.metavar or param.human_readable_name).strip("[]")


def _allowed(error: click.MissingParameter) -> str:
    kind = error.param.type if error.param else None
    return f"one of {', '.join(map(str, kind.choices))}" if isinstance(kind, click.Choice) else ""
