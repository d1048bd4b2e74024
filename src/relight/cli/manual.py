"""docs/cli.md, from the commands themselves."""

from collections.abc import Iterator

import click

from relight.cli.main import relight

HEAD = """# Commands

This page is made from `relight --help` and checked by a test; do not edit it by hand (`make docs` writes it).

Paths on the command line count from the current folder. Exit statuses: 0 healthy or done, 1 failed or something is
wrong, 2 wrong usage or a wrong file, 3 host unreachable or its key not trusted, 4 budget spent, 5 needs a person,
6 busy, 70 a bug in relight, 130 interrupted.

"""
WIDTH = 100


def cli_page() -> str:
    """Return the page: one section per command, with the text of its --help."""
    return HEAD + "\n".join(_sections(relight, "relight", None))


def _sections(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    own = name.rpartition(" ")[2]
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    ctx = click.Context(command, info_name=own, parent=parent, **settings)
    yield f"## {name}\n\n```text\n{_plain(command.get_help(ctx))}\n```\n"
    if isinstance(command, click.Group):
        for inner in command.list_commands(ctx):
            found = command.get_command(ctx, inner)
            if found:
                yield from _sections(found, f"{name} {inner}", ctx)


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())
