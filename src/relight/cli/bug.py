"""A bug in relight: what is said and kept, so that it can be reported."""

import traceback
from pathlib import Path

import click

from relight.cli import logging
from relight.cli.output import document, error_document
from relight.journal.files import write_whole
from relight.journal.redact import redact_text

STATUS = 70


def bug(error: BaseException, format: str) -> int:  # noqa: A002  the option's name
    """Say that this is relight's fault, keep the traceback in the run folder, and return status 70."""
    folder = logging.run_folder()
    kept = _keep(error, folder)
    text = f"a bug in relight: {type(error).__name__}: {error}"
    follow = f"please report it with {kept}" if kept else "please report it with the traceback above"
    if not kept:
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    click.echo(f"relight: {text}; {follow}", err=True)
    if folder:
        click.echo(f"relight: the run folder is {folder}", err=True)
    if format == "json":
        document(error_document(STATUS, place=str(folder or ""), text=text, next=follow))
    return STATUS


def _keep(error: BaseException, folder: Path | None) -> Path | None:
    if folder is None:
        return None
    path = folder / "bug.txt"
    try:
        write_whole(path, redact_text("".join(traceback.format_exception(error))))
    except OSError:
        return None
    return path
