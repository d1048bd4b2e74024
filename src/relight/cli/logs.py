"""`relight logs`: the server's log of a run."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click

from relight.attempts.follow import left_on_host
from relight.cli import complete
from relight.cli.choose import folder_of, last_launch, record_of
from relight.cli.options import Common, common, examples
from relight.cli.output import document, say
from relight.cli.places import open_spec
from relight.cli.secrets import known_secrets
from relight.config.hosts import RESERVED
from relight.hosts.interface import Host
from relight.hosts.nodes import node_attempt
from relight.journal.journal import stored
from relight.journal.redact import redact_text
from relight.journal.runs import is_over
from relight.logs.lines import LineSplitter
from relight.reports.commands import about
from relight.words.attempt import Attempt, Record
from relight.words.errors import RelightError, UsageError
from relight.words.text import plain, shown

CHUNK = 1 << 20
PAUSE = 1.0
"""Seconds between two looks whether a silent server still runs."""


@click.command(epilog=examples("relight logs -f", "relight logs 20261129 --attempt 3 | relight diagnose -"))
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete.run_ids)
@click.option("-f", "--follow", is_flag=True, help="Go on as the log grows, until the server ends.")
@click.option("--attempt", "number", type=int, metavar="N", help="The attempt [default: the last launch].")
@click.option("--node", metavar="N|NAME", help="Of several hosts: this one's log [default: the first].")
@common()
def logs(shared: Common, *, run: str | None, follow: bool, number: int | None, node: str | None) -> int:
    """Print the log of a run's server: what is kept here, then what its host has more.

    RUN is a unique part of a run's id; default: the last run that is not over.
    """
    if follow and shared.json:
        raise UsageError("one JSON document cannot follow a log", place="--follow", next="leave out --format json")
    folder = folder_of(shared, run, live=True)
    record = record_of(folder)
    attempt = attempt_of(record, number)
    kept = log_of(record, attempt, node)
    secrets = tuple(value for spec in stored(folder).specs for value in known_secrets(spec))
    lines = (redact_text(plain(line), secrets) for line in _lines(folder, record, kept, follow=follow))
    if shared.json:
        document({"run": record.run, "attempt": attempt.n, "log": kept.path, "lines": list(lines)})
        return 0
    for line in lines:
        click.echo(line)
    return 0


def attempt_of(record: Record, number: int | None) -> Attempt:
    """Return launch `number`, else the last one. UsageError where there is none: what was refused has no log."""
    launched = [a for a in record.attempts if a.launched]
    if not launched:
        then = f"`{about(record, 'report')}` tells what ended it"
        raise UsageError("nothing was launched in this run", place=record.run, next=then)
    wanted = last_launch(record) if number is None else next((a for a in launched if a.n == number), None)
    if wanted is None:
        known = f"launched: {', '.join(str(a.n) for a in launched)}"
        raise UsageError(f"attempt {number} was not launched", place=record.run, next=known)
    return wanted


@dataclass(frozen=True)
class KeptLog:
    """The log of one node: where it is kept here ("" for none), which attempt and node it is of."""

    path: str
    attempt_id: str
    rank: int = 0


def log_of(record: Record, attempt: Attempt, node: str | None) -> KeptLog:
    """Return the log of an attempt on the node named by rank or host. UsageError lists the nodes there are."""
    name = f"{record.run}.{attempt.n}"
    if node is None:
        return KeptLog(attempt.log, name)
    found = next((one for one in attempt.nodes if node in {str(one.rank), one.host}), None)
    if found is None:
        known = ", ".join(f"{one.rank} ({one.host})" for one in attempt.nodes) or "this run has one host"
        raise UsageError(f"no node {node}", place="--node", next=known)
    return KeptLog(found.log, node_attempt(name, found.rank), found.rank)


def _lines(folder: Path, record: Record, log: KeptLog, *, follow: bool) -> Iterator[str]:
    splitter = LineSplitter()
    for data in _bytes(folder, record, log, follow=follow):
        yield from (line.text for line in splitter.feed(data))
    yield from (line.text for line in splitter.close())


def _bytes(folder: Path, record: Record, log: KeptLog, *, follow: bool) -> Iterator[bytes]:
    path = folder / log.path if log.path else folder / "missing"
    at = 0
    if path.is_file():
        with path.open("rb") as file:
            while data := file.read(CHUNK):
                at += len(data)
                yield data
        at += left_on_host(path)
    if is_over(record):
        return
    try:
        yield from _rest(folder, log, at, follow=follow)
    except RelightError as error:
        if follow:
            raise
        say(f"relight: only what is kept here: {shown(str(error))}", err=True)


def _rest(folder: Path, log: KeptLog, at: int, *, follow: bool) -> Iterator[bytes]:
    spec = stored(folder).specs[log.rank]
    if spec.name == RESERVED:
        return
    with open_spec(spec) as host:
        if follow:
            yield from _followed(host, log.attempt_id, at)
            return
        while data := host.read_log(log.attempt_id, at, CHUNK):
            at += len(data)
            yield data


def _followed(host: Host, name: str, at: int) -> Iterator[bytes]:
    with closing(host.follow(name, at)) as stream:
        while True:
            alive = host.status(name).alive
            data = stream.read(PAUSE)
            if data:
                yield data
            elif not alive:
                return
