"""`relight diagnose`: the post-mortem of any log."""

import shlex
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from relight.cli import complete
from relight.cli.opened import Fetch, Read, opened
from relight.cli.options import PATH, Common, common, examples
from relight.cli.output import complain, document, say, width
from relight.cli.sources import sources_from
from relight.config.knowledge import load_knowledge
from relight.diagnosis.diagnose import diagnose as diagnosed
from relight.journal.codec import to_json
from relight.journal.redact import redact_json
from relight.logs.lines import Line
from relight.reports import page
from relight.words.diagnosis import Diagnosis, LogLine
from relight.words.errors import UsageError
from relight.words.knowledge import Knowledge
from relight.words.text import shown

ROUNDS = 6
"""How often a diagnosis may ask for further source files."""
AROUND = 4
LAST = 16


@click.command(
    epilog=examples(
        "relight diagnose server.log",
        "docker logs sgl 2>&1 | relight diagnose -",
        "relight diagnose rtx8:/var/log/sglang.log",
    )
)
@click.argument("logs", nargs=-1, required=True, metavar="LOG...", shell_complete=complete.files)
@click.option("--source", type=PATH, metavar="DIR", help="Read source files named in tracebacks from DIR.")
@click.option("--command", metavar="TEXT", help="The launch command, where the log does not hold it.")
@click.option("--running", is_flag=True, help="The process is alive: a log that stops inside a start is not a failure.")
@common()
def diagnose(shared: Common, *, logs: tuple[str, ...], source: Path | None, command: str | None, running: bool) -> int:
    """Say what a log shows: one cause, its line, and the change that helps.

    LOG is a file (plain, .gz or .zst), - for standard input, or HOST:PATH. Exit status: 1 if a failure was found,
    0 if not, 2 if a LOG cannot be read.
    """
    if source and not source.is_dir():
        raise UsageError("no such folder", place=f"--source {source}", next="name an unpacked wheel or a checkout")
    knowledge = load_knowledge(shared.signature_folders)
    argv = words_of(command)
    done: list[Diagnosis] = []
    failures: list[UsageError] = []
    for log in logs:
        try:
            done.append(_one(shared, log, knowledge, argv=argv, source=source, running=running))
        except UsageError as error:
            failures.append(error)
    return _end(shared, done, failures)


def words_of(command: str | None) -> tuple[str, ...]:
    """Return the words of a launch command after its module; () where there is none."""
    try:
        words = shlex.split(command or "")
    except ValueError as error:
        raise UsageError(
            f"not a command line: {error}", place="--command", next="quote it like a shell would"
        ) from None
    return tuple(words)


def _end(shared: Common, done: Sequence[Diagnosis], failures: Sequence[UsageError]) -> int:
    lone = failures[-1] if failures and not done else None
    for failure in failures:
        complain(failure, format=shared.format if failure is lone else "text")
    if shared.json and not lone:
        document([redact_json(to_json(d)) for d in done])
    if failures:
        return 2
    return int(any(d.verdict == "failed" for d in done))


def _one(
    shared: Common, log: str, knowledge: Knowledge, *, argv: Sequence[str], source: Path | None, running: bool
) -> Diagnosis:
    with opened(shared, log, knowledge) as (read, remote):
        fetch: Fetch = (lambda wants: sources_from(source, wants)) if source else remote
        found = examine(read, knowledge, fetch, name=log, argv=argv, running=running)
        if found.verdict == "unknown" and not any(True for _ in read()):
            say(f"relight: {shown(log)} is empty: nothing can be said about it", err=True)
        elif not shared.json:
            near, last = around(read, found), ends(read) if page.says_nothing(found) else ()
            say(page.render(found, near, width=width(), argv=argv, ends=last), nl=False)
    return found


def examine(
    read: Read, knowledge: Knowledge, fetch: Fetch, *, name: str, argv: Sequence[str] = (), running: bool = False
) -> Diagnosis:
    """Diagnose a log, fetching the source files it asks for until it asks for no new one."""
    sources: dict[str, str] = {}
    asked: set[str] = set()
    for _ in range(ROUNDS):
        found = diagnosed(read(), knowledge, name=name, argv=argv, running=running, sources=sources)
        wants = [want for want in found.wants if want.file not in asked]
        asked |= {want.file for want in wants}
        new = fetch(wants) if wants else {}
        if not new:
            break
        sources |= new
    return found


def around(read: Read, found: Diagnosis) -> tuple[LogLine, ...]:
    """Return the lines of the log near the cause, and those the diagnosis names."""
    line = found.cause.line if found.cause else None
    near = set(range(line - AROUND, line + AROUND + 1)) if line else set()
    near |= {e.line for e in (*found.evidence, *found.cascade)}
    near |= {e.line + i for e in found.details for i in range(-2, 3)}
    last = max(near, default=0)
    return tuple(LogLine(x.number, x.text) for x in _until(read(), last) if x.number in near)


def ends(read: Read) -> tuple[LogLine, ...]:
    """Return the last lines of a log."""
    return tuple(LogLine(x.number, x.text) for x in deque(read(), maxlen=LAST))


def _until(lines: Iterable[Line], last: int) -> Iterator[Line]:
    for line in lines:
        if line.number > last:
            return
        yield line
