"""Bytes into numbered lines, however the bytes are cut."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from relight.words.text import plain

KEEP = 24 * 1024
"""Bytes of a very long line that are kept at each of its ends."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log: its number from 1, the offset of its first byte, its text.

    `text` is decoded with replacement and holds no control sequences; indentation is kept, and a carriage return
    inside the line too, because it separates the states of a progress bar.
    """

    number: int
    offset: int
    text: str


def clean(raw: bytes) -> str:
    """Decode one line without its end; what is longer than 48 KiB loses its middle."""
    if len(raw) > 2 * KEEP:
        raw = raw[:KEEP] + b" ... " + raw[-KEEP:]
    text = raw.decode("utf-8", "replace")
    if not (text.isascii() and text.isprintable()):
        text = "\r".join(map(plain, text.rstrip().split("\r")))
    return text.rstrip()


def shown(text: str) -> str:
    """Return a line's text as reports show it: stripped, bars separated by blanks."""
    return text.replace("\r", " ").strip()


class LineSplitter:
    """Cut a stream of bytes into lines; a line ends at a line feed only."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._offset = 0
        self._number = 1

    def feed(self, data: bytes) -> Iterator[Line]:
        """Yield the lines that `data` completes."""
        pieces = data.split(b"\n")
        for piece in pieces[:-1]:
            self._parts.append(piece)
            yield self._cut(ended=True)
        if pieces[-1]:
            self._parts.append(pieces[-1])

    def close(self) -> Iterator[Line]:
        """Yield the last line where no line feed ended it."""
        if self._parts:
            yield self._cut(ended=False)

    def _cut(self, *, ended: bool) -> Line:
        raw = b"".join(self._parts)
        line = Line(self._number, self._offset, clean(raw))
        self._parts = []
        self._offset += len(raw) + ended
        self._number += 1
        return line


def split(chunks: Iterable[bytes]) -> Iterator[Line]:
    """Yield the lines of a whole log."""
    splitter = LineSplitter()
    for chunk in chunks:
        yield from splitter.feed(chunk)
    yield from splitter.close()
