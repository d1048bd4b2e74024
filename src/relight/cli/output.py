"""What reaches the terminal: human text on one stream, exactly one JSON document on the other."""

import os
import shutil
import sys
import textwrap
from typing import Any

import click

from relight.journal.codec import dumps
from relight.words.errors import RelightError
from relight.words.text import shown


def say(text: str = "", *, format: str = "text", err: bool = False, nl: bool = True) -> None:  # noqa: A002  the option's name
    """Print human text: to stdout, with `--format json` (or `err`) to stderr. Never a control sequence of others."""
    click.echo(text, err=err or format == "json", nl=nl)


def document(value: Any) -> None:
    """Print the one JSON document of this call to stdout."""
    click.echo(dumps(value, indent=2))


def error_document(status: int, *, place: str, text: str, next: str) -> dict[str, Any]:  # noqa: A002  the contract's own word
    """Return what `--format json` prints on status 2, 3 and 70."""
    return {"error": {"status": status, "place": shown(place), "text": shown(text), "next": shown(next)}}


def complain(error: RelightError, *, format: str) -> None:  # noqa: A002  the option's name
    """Print an error: its sentence to stderr, and the JSON document where one is due."""
    said = shown(str(error))
    click.echo(said if error.place.startswith("relight ") else f"relight: {said}", err=True)
    if format == "json":
        document(error_document(error.exit_status, place=error.place, text=error.text, next=error.next))


def width() -> int:
    """Return how wide human text may be: the terminal's width, 40 to 110 columns; 100 without a terminal."""
    return max(40, min(110, shutil.get_terminal_size((100, 24)).columns)) if sys.stdout.isatty() else 100


def shorten(line: str) -> str:
    """Return a line as it fits a terminal, cut there; elsewhere it is whole."""
    room = shutil.get_terminal_size((100, 24)).columns
    return f"{line[: room - 3]}..." if sys.stdout.isatty() and len(line) > room else line


def folded(text: str, indent: int) -> list[str]:
    """Return a sentence as lines that fit a terminal, indented after the first; elsewhere it is one line."""
    room = max(40, shutil.get_terminal_size((100, 24)).columns)
    if not sys.stdout.isatty() or len(text) <= room:
        return [text]
    return textwrap.wrap(text, room, subsequent_indent=" " * indent, break_on_hyphens=False, break_long_words=False)


def swallow_broken_pipe() -> None:
    """Let nothing more be written after the reader of our output went away (`| head`)."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
