"""Copy the log of one attempt here, byte for byte but for secret values, and read it while it grows."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from relight.attempts.blackout import Blackout
from relight.attempts.site import Site
from relight.diagnosis.watch import Watch
from relight.hosts.interface import LogStream
from relight.journal.files import make_folder, read_json, write_json
from relight.logs.lines import Line, LineSplitter
from relight.logs.marks import Mark, Marks
from relight.logs.progress import Progress
from relight.logs.read import read_log
from relight.logs.records import record
from relight.words.errors import RelightError
from relight.words.knowledge import Knowledge

WINDOW = 64 << 20
"""Bytes before its end that are copied of a log that grew while nobody followed it; the rest stays on the host."""


def left_on_host(path: Path) -> int:
    """Return how many more bytes than are stored in `path` lie before the byte to go on from."""
    return int(read_json(_note_of(path)) or 0)


def _note_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.left")


class Follower:
    """The stored copy of a log and what was understood of it.

    What an earlier relight stored is read again first; then `open_stream` is called with the byte to go on from, or
    with `skip_to` where that is later: then a line says how much was left on the host.
    A server may print its own key: each of `secrets`, and what is shaped like one, is stored as as many stars.
    """

    def __init__(
        self,
        path: Path,
        knowledge: Knowledge,
        open_stream: Callable[[int], LogStream],
        *,
        secrets: Sequence[str] = (),
        skip_to: int = 0,
    ) -> None:
        self.path = path
        self.progress = Progress(Marks(knowledge.phases))
        self.watch = Watch(knowledge)
        self.new: list[Line] = []
        self._lines = LineSplitter()
        self._blackout = Blackout(secrets)
        self._replay()
        make_folder(path.parent)
        if skip_to > self.offset:
            self._skip(skip_to)
        self._stream = open_stream(self.offset)
        # Without a buffer: what a full disk did not take would be written once more at the end, and fail there.
        self._file = path.open("ab", buffering=0)
        path.chmod(0o600)

    @property
    def size(self) -> int:
        """Return how many bytes are stored here."""
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def offset(self) -> int:
        """Return the byte of the host's log to go on from."""
        return self.size + left_on_host(self.path)

    def _skip(self, to: int) -> None:
        line = f"\nrelight: {to - self.offset} bytes of this log are on the host only\n".encode()
        # Before the line: broken off between the two, a few bytes are read again and none is lost.
        write_json(_note_of(self.path), to - self.size - len(line))
        with self.path.open("ab") as file:
            file.write(line)
        for _ in self._take(line):
            pass

    def _replay(self) -> None:
        for chunk in read_log(str(self.path)) if self.size else ():
            for _ in self._take(chunk):
                pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
        self._file.close()

    @property
    def down(self) -> float:
        """Return for how many seconds the link has been away."""
        return self._stream.down

    @property
    def fault(self) -> str:
        """Say what somebody did to the file on the host, "" where nobody did."""
        return self._stream.fault

    def pump(self, timeout: float) -> tuple[Mark, ...]:
        """Take what arrives within `timeout` seconds; return its marks. `new` then holds its lines."""
        came = self._stream.read(timeout)
        return self._keep(self._blackout.feed(came) if came else self._blackout.rest())

    def _keep(self, data: bytes) -> tuple[Mark, ...]:
        self.new = []
        if not data:
            return ()
        self._store(data)
        return tuple(self._take(data))

    def drain(self, size: int, timeout: float = 2.0) -> tuple[Mark, ...]:
        """Take everything up to byte `size`; give up when nothing arrives for `timeout` seconds."""
        marks: list[Mark] = []
        while self._stream.offset < size:
            before = self._stream.offset
            marks += self.pump(timeout)
            if self._stream.offset == before:
                break
        new = self.new
        marks += self._keep(self._blackout.end())
        self.new = [*new, *self.new]
        return tuple(marks)

    def _store(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as exc:
            raise RelightError(
                f"the log cannot be stored: {exc.strerror}",
                place=str(self.path),
                next="make room, then go on with --resume; the server is untouched",
            ) from exc

    def _take(self, data: bytes) -> Iterator[Mark]:
        for line in self._lines.feed(data):
            self.new.append(line)
            rec = record(line)
            self.watch.read(rec)
            yield from self.progress.read(rec)


def log_of(site: Site, n: int, rank: int = 0, *, skip_to: int = 0) -> Follower:
    """Open the stored copy of attempt `n`'s log (of node `rank`), which goes on where the host's goes on."""
    name, host = site.attempt_id(n, rank), site.nodes[rank]
    return Follower(
        site.log_path(n, rank),
        site.knowledge,
        lambda at: host.follow(name, at),
        secrets=site.journal.secrets,
        skip_to=skip_to,
    )
