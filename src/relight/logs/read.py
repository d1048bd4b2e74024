"""Read the bytes of a log: plain, .gz, .zst, or standard input."""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import zstandard

from relight.words.errors import UsageError

CHUNK = 1 << 19
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


def read_log(path: str) -> Iterator[bytes]:
    """Yield the bytes of the log at `path` in chunks; "-" is standard input.

    Compression is told by the content, not by the name. A compressed log that ends too early yields what it holds.
    Raises UsageError when it cannot be read.
    """
    try:
        with _opened(path) as raw:
            yield from _chunks(_unpacked(raw))
    except OSError as error:
        raise UsageError(
            f"cannot be read: {error.strerror or error}", place=path, next="name a file, or - for standard input"
        ) from error


@contextmanager
def _opened(path: str) -> Iterator[io.BufferedReader]:
    if path == "-":
        yield cast("io.BufferedReader", sys.stdin.buffer)
        return
    with Path(path).open("rb") as file:
        yield file


def _unpacked(raw: io.BufferedReader) -> IO[bytes]:
    head = raw.peek(4)[:4]
    if head.startswith(_GZIP):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    if head == _ZSTD:
        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        return cast("IO[bytes]", reader)
    return raw


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while True:
        try:
            chunk = file.read(CHUNK)
        except (EOFError, zlib.error, zstandard.ZstdError):
            return
        if not chunk:
            return
        yield chunk
