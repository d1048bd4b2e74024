"""`relight prune`: delete runs that are over."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import click

from relight.cli.asked import Duration
from relight.cli.live import host_of
from relight.cli.options import Common, common, examples
from relight.cli.output import document, say
from relight.cli.runs import rows, without_attempts
from relight.hosts.values import HostError
from relight.journal.runs import is_over
from relight.journal.runs import runs as all_runs
from relight.reports.prose import count
from relight.words.attempt import Record
from relight.words.errors import UnreachableError
from relight.words.text import shown


@click.command(epilog=examples("relight prune", "relight prune --keep 3 --older 30d --yes"))
@click.option("--yes", is_flag=True, help="Delete; without it the runs are only shown.")
@click.option(
    "--keep", type=click.IntRange(min=0), default=10, metavar="N", show_default=True, help="Newest runs to keep anyway."
)
@click.option("--older", type=Duration(), metavar="30d", help="Only runs that began longer ago than this.")
@click.option("--on-host", is_flag=True, help="Delete what the hosts keep of these runs too.")
@common()
def prune(shared: Common, *, yes: bool, keep: int, older: float | None, on_host: bool) -> int:
    """Show the runs that are over and could be deleted; delete them with --yes. A run that is not over is kept."""
    found = prunable(all_runs(shared.state), keep=keep, older=older, now=datetime.now(UTC))
    for record in found if yes else ():
        if on_host:
            _forget(Path(record.folder), record)
        shutil.rmtree(record.folder)
    if shared.json:
        document([without_attempts(record) for record in found])
        return 0
    for line in rows(found):
        say(("deleted " if yes else "") + line)
    if not (yes and found) and not shared.quiet:
        say(_offer(len(found), keep), err=True)
    return 0


def _offer(number: int, keep: int) -> str:
    if not number:
        return f"nothing to delete: the {keep} newest runs are kept (--keep N), and those that are not over"
    return f"{count(number, 'run')} could be deleted; do it with --yes"


def prunable(records: tuple[Record, ...], *, keep: int, older: float | None, now: datetime) -> tuple[Record, ...]:
    """Return the runs that may go: over, not among the `keep` newest, and `older` (seconds) where that is given."""
    old = [r for r in records[keep:] if is_over(r)]
    return tuple(r for r in old if older is None or (now - _began(r, now)).total_seconds() > older)


def _began(record: Record, now: datetime) -> datetime:
    return datetime.fromisoformat(record.started) if record.started else now


def _forget(folder: Path, record: Record) -> None:
    try:
        with host_of(folder) as host:
            for status in host.attempts() if host else ():
                if host and status.run == record.run and not status.alive:
                    host.forget(status.attempt_id)
    except (UnreachableError, HostError) as error:
        say(f"relight: {record.run} stays on {record.host}: {shown(str(error))}", err=True)
