"""`relight report`: the post-mortem of a run."""

import io
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import click

from relight.cli import complete
from relight.cli.choose import folder_of, record_of
from relight.cli.options import PATH, Common, common, examples
from relight.cli.output import say, width
from relight.journal.codec import dumps, to_json
from relight.journal.journal import EVENTS, ORDER, PLAYBOOK, stored
from relight.journal.redact import redact_json, redact_text
from relight.reports.moves import with_moves
from relight.reports.nameless import Nameless
from relight.words.attempt import Record
from relight.words.errors import UsageError

_ANOTHER = "make its folder first, or name another file"
FORMATS = ("text", "md", "html", "json")


@click.command(
    epilog=examples(
        "relight report",
        "relight report 20261129 --format html -o report.html",
        "relight report --bundle run.tar   (to send to a colleague)",
        "relight report --issue            (to post in the engine's project)",
    )
)
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete.run_ids)
@click.option("-o", "--output", type=PATH, metavar="FILE", help="Write the report to FILE.")
@click.option("--bundle", type=PATH, metavar="FILE", help="Write a redacted archive: record, logs, playbook, events.")
@click.option("--issue", is_flag=True, help="Print a bug report for the engine's project, for you to post.")
@click.option("--full", is_flag=True, help="Print the details on a terminal too; a file or a pipe has them anyway.")
@common(formats=FORMATS)
def report(
    shared: Common, *, run: str | None, output: Path | None, bundle: Path | None, issue: bool, full: bool
) -> int:
    """Tell what happened in a run: the verdict, what to do now, and every attempt with its cause and change.

    RUN is a unique part of a run's id; default: the last run. A terminal shows what comes before the details.
    """
    if issue and shared.json:
        text = "a bug report is Markdown, not one JSON document"
        raise UsageError(text, place="--issue", next="leave out --format json")
    folder = folder_of(shared, run, live=False)
    record = record_of(folder)
    if bundle:
        write_bundle(bundle, folder, record)
        say(f"relight: wrote {bundle}", err=True)
        if not (output or issue or shared.json):
            return 0
    first = not (full or output or issue) and shared.format == "text" and sys.stdout.isatty()
    text = nameless_of(folder, record)(_issue(record)) if issue else rendered(record, shared.format, first=first)
    if output:
        _written(output, text)
        say(f"relight: wrote {output}", err=True)
    if shared.json or not output:
        click.echo(text, nl=False)
    return 0


def rendered(record: Record, format: str, *, first: bool = False) -> str:  # noqa: A002  the option's name
    """Return the report of a run in one of FORMATS; with `first` what comes before the details of a text."""
    if format == "json":
        return dumps(redact_json(to_json(with_moves(record))), indent=2) + "\n"
    if format == "html":
        from relight.reports import html  # noqa: PLC0415  imports a template engine

        return html.render(record)
    if format == "md":
        from relight.reports import markdown  # noqa: PLC0415  one of four

        return markdown.render(record)
    from relight.reports import text  # noqa: PLC0415  one of four

    return (text.render_first if first else text.render)(record, width=width())


def _issue(record: Record) -> str:
    from relight.reports import issue  # noqa: PLC0415  rarely asked for

    if all(attempt.outcome in {"healthy", "aborted", None} for attempt in record.attempts):
        text = "nothing failed in this run: there is no bug to report"
        raise UsageError(text, place=record.run, next="name another run; `relight runs` lists them")
    return issue.render(record)


def _written(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", place=str(path), next=_ANOTHER) from error


def nameless_of(folder: Path, record: Record) -> Nameless:
    """Return what takes the operator's home and the names and addresses of the hosts out of a text."""
    specs = stored(folder).specs if (folder / ORDER).is_file() else ()
    found = {name: f"host{n}" for n, spec in enumerate(specs, 1) for name in (spec.address, spec.jump) if name}
    nodes = record.environment.get("nodes") or (record.environment,)
    seen = {str(node.get("hostname") or ""): f"host{n}" for n, node in enumerate(nodes, 1)}
    return Nameless(str(Path.home()), found | seen)


def write_bundle(path: Path, folder: Path, record: Record) -> None:
    """Write a .tar with everything somebody else needs to read the run, redacted."""
    from relight.reports.bundle import members  # noqa: PLC0415  rarely asked for

    logs = {name: _lines(folder / name) for attempt in record.attempts for name in (attempt.log, *attempt.logs) if name}
    found = members(
        record,
        encode=lambda shown: dumps(shown, indent=2),
        playbook=redact_text(_text(folder / PLAYBOOK)),
        events=_text(folder / EVENTS).splitlines(),
        nameless=nameless_of(folder, record),
        logs={name: lines for name, lines in logs.items() if (folder / name).is_file()},
    )
    try:
        with tarfile.open(path, "w") as archive:
            for member in found:
                entry = tarfile.TarInfo(member.name)
                entry.size = len(member.data)
                entry.mode = 0o600
                archive.addfile(entry, io.BytesIO(member.data))
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", place=f"--bundle {path}", next=_ANOTHER) from error


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file
