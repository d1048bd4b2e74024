"""A command of commands: an unknown one is answered with the near one."""

import click


class Group(click.Group):
    """A group that speaks of unknown commands in our words."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-"):
            from relight.cli.faults import no_command  # noqa: PLC0415  not needed for --help

            raise no_command(args[0], known, ctx.command_path if ctx.parent else "")
        return super().resolve_command(ctx, args)
