"""`relight runs`, `status` and `stop`: what ran, what runs, and the end of it."""

from collections.abc import Sequence
from typing import Any

import click

from relight.attempts.clock import SystemClock, stamp
from relight.cli import complete
from relight.cli.choose import folder_of, last_launch, record_of
from relight.cli.live import Server, ask_server, stop_servers
from relight.cli.options import Common, common, examples
from relight.cli.output import document, say, shorten
from relight.journal.codec import to_json
from relight.journal.journal import mark
from relight.journal.redact import redact_json
from relight.journal.runs import is_over
from relight.journal.runs import runs as all_runs
from relight.reports.commands import about, resumed
from relight.reports.moves import with_moves
from relight.reports.prose import count
from relight.words.attempt import Record
from relight.words.text import shown


@click.command(epilog=examples("relight runs", "relight runs --format json | jq -r '.[0].run'"))
@common()
def runs(shared: Common) -> int:
    """List the runs that are kept, newest first."""
    found = all_runs(shared.state)
    if shared.json:
        document([without_attempts(record) for record in found])
    elif not found:
        say("no run is kept here yet; start one with `relight retry PLAYBOOK --host NAME`", err=True)
    for line in rows(found) if not shared.json else ():
        say(line)
    return 0


@click.command(epilog=examples("relight status", "relight status 20261129"))
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete.run_ids)
@common()
def status(shared: Common, *, run: str | None) -> int:
    """Say how a run is and, where it is not over, what its host says of the server now.

    RUN is a unique part of a run's id; default: the last run that is not over.
    """
    folder = folder_of(shared, run, live=True)
    record = record_of(folder)
    server = None if is_over(record) else ask_server(shared, folder, record)
    if shared.json:
        document([without_attempts(record) | {"server": to_json(server)}])
        return 0
    say(*rows((record,)))
    for line in _told(record, server):
        say(f"  {shown(line)}")
    return 0


@click.command(epilog=examples("relight stop", "relight stop 20261129"))
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete.run_ids)
@common()
def stop(shared: Common, *, run: str | None) -> int:
    """Stop the server of a run, and make sure that nothing of it is left.

    RUN is a unique part of a run's id; default: the last run that is not over.
    """
    folder = folder_of(shared, run, live=True)
    record = record_of(folder)
    stopped = stop_servers(shared, folder, record)
    at = stamp(SystemClock().now())
    # Of a run that left nothing running nothing was stopped.
    ended = stopped or record.state in {"healthy", "running", "interrupted", "unreachable"}
    changes: dict[str, Any] = {"environment": {**record.environment, **({"stopped": at} if ended else {})}}
    if record.state in {"running", "interrupted", "unreachable"}:
        changes |= {"state": "interrupted", "reason": "stopped by hand", "ended": at}
    mark(folder, at=at, changes=changes)
    record = record_of(folder)
    if shared.json:
        document(redact_json(to_json(with_moves(record))))
    elif not shared.quiet:
        say(f"stopped {record.run}: {stopped}" if stopped else f"nothing of {record.run} was running")
    return 0


def without_attempts(record: Record) -> dict[str, Any]:
    """Return a record as lists show it."""
    data: dict[str, Any] = redact_json(to_json(record))
    return {name: value for name, value in data.items() if name != "attempts"}


def rows(records: Sequence[Record]) -> list[str]:
    """Return each run as one line, in columns: id, state, hosts, launches, why it ended; cut to a terminal's width."""
    cells = [_cells(record) for record in records]
    widths = [max((len(row[i]) for row in cells), default=0) for i in range(4)]
    lines = [f"{'  '.join(f'{c:<{w}}' for c, w in zip(row, widths, strict=False))}  {row[4]}".rstrip() for row in cells]
    return [shorten(line) for line in lines]


def _cells(record: Record) -> tuple[str, ...]:
    launches = count(sum(a.launched for a in record.attempts), "launch", "launches")
    stopped = "stopped since; " if record.environment.get("stopped") else ""
    cells = (record.run, record.state, ", ".join(record.hosts), launches, f"{stopped}{record.reason}")
    return tuple(shown(cell) for cell in cells)


def _next(record: Record) -> str:
    """Return the command that goes on from here."""
    if record.state in {"interrupted", "unreachable", "budget", "person"}:
        return resumed(record)
    return about(record, *("logs", "-f") if record.state == "running" else ("report",))


def _told(record: Record, server: Server | None) -> list[str]:
    attempt = last_launch(record)
    lines = [f"folder: {record.folder}", f"next: {_next(record)}"]
    if attempt:
        phase = attempt.phases[-1].name if attempt.phases else "not started"
        lines.append(f"attempt {attempt.n}: {attempt.outcome or f'in phase {phase}'}")
    if server:
        lines.append(f"server: {server.state}" + (f" (pid {server.pid})" if server.pid else ""))
        lines += [f"health: {server.health}"] if server.health else []
        lines += [f"note: {server.reason}"] if server.reason else []
        lines += [f"node {n.rank}: {n.host}: {n.state}" + (f" (pid {n.pid})" if n.pid else "") for n in server.nodes]
    if record.final:
        lines.append("command: python -m sglang.launch_server " + " ".join(record.final.argv))
    return lines
