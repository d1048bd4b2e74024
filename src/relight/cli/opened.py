"""A LOG of the command line, opened: a file, standard input, or HOST:PATH."""

import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

from relight.attempts.blackout import Blackout
from relight.cli.options import Common
from relight.cli.output import say
from relight.cli.places import open_host
from relight.cli.secrets import known_secrets
from relight.diagnosis.scan import scan
from relight.hosts.interface import Host
from relight.logs.lines import Line
from relight.logs.read import read_log
from relight.words.diagnosis import Want
from relight.words.errors import UsageError
from relight.words.knowledge import Knowledge
from relight.words.text import shown

Fetch: TypeAlias = Callable[[Sequence[Want]], Mapping[str, str]]
Read: TypeAlias = Callable[[], Iterable[Line]]
CHUNK = 4 << 20
_REMOTE = re.compile(r"(?P<host>[A-Za-z0-9][\w.-]*):(?P<path>.+)")


@contextmanager
def opened(shared: Common, log: str, knowledge: Knowledge) -> Iterator[tuple[Read, Fetch]]:
    """Yield how to read the lines of `log`, as often as needed, and how to fetch source files beside it.

    Of a large log the lines come that `knowledge` can make anything of.
    """
    remote = None if log == "-" or Path(log).exists() else _REMOTE.fullmatch(log)
    if remote:
        with _host(shared, log, remote["host"]) as host, tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "log"
            download(host, remote["path"], copy)
            yield _reading(copy, log, knowledge), (lambda wants: host_sources(host, wants))
    elif log == "-":
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "log"
            with copy.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
            yield _reading(copy, log, knowledge), (lambda _: {})
    else:
        yield _reading(Path(log), log, knowledge), (lambda _: {})


@contextmanager
def _host(shared: Common, log: str, name: str) -> Iterator[Host]:
    """Yield the host that HOST:PATH names. UsageError says that there is no file of that name either."""
    with ExitStack() as stack:
        try:
            host = stack.enter_context(open_host(shared, name))
        except UsageError as error:
            raise UsageError(f"no such file, and no host '{name}': {error.text}", place=log, next=error.next) from error
        yield host


def _reading(path: Path, log: str, knowledge: Knowledge) -> Read:
    """Return how to read `path`, called `log`; what is wrong with it is told once, however often it is read."""
    told: set[str] = set()

    def tell(text: str) -> None:
        if text not in told:
            say(f"relight: {shown(log)}: {text}", err=True)
        told.add(text)

    def read() -> Iterator[Line]:
        try:
            yield from scan(read_log(str(path), tell), knowledge)
        except UsageError as error:
            raise UsageError(error.text, place=shown(log), next=error.next) from error

    return read


def download(host: Host, path: str, copy: Path) -> None:
    """Copy a file of the host to `copy`, without the host's secrets. UsageError where there is none."""
    place = f"{host.spec.name}:{path}"
    blackout, at = Blackout(known_secrets(host.spec)), 0
    with copy.open("wb") as file:
        while data := host.read_file(path, at, CHUNK):
            at += len(data)
            file.write(blackout.feed(data))
        file.write(blackout.end())
    if data is None:
        raise UsageError("no such file on the host", place=place, next="name a file, or - for standard input")


def host_sources(host: Host, wants: Sequence[Want]) -> dict[str, str]:
    """Return the text of each wanted source file that the host has."""
    found = {want.file: host.source(want.file) for want in wants}
    return {name: text for name, text in found.items() if text is not None}
