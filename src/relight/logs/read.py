"""Read the bytes of a log: plain, .gz, .zst, or standard input."""

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias, cast

import zstandard

from relight.words.errors import UsageError

Tell: TypeAlias = Callable[[str], None]
CHUNK = 1 << 19
_ZSTD_CHUNK = 1 << 16
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


def read_log(path: str, tell: Tell = lambda _: None) -> Iterator[bytes]:
    """Yield the bytes of the log at `path` in chunks; "-" is standard input.

    Compression is told by the content, not by the name. Of an archive that ends too early, or is damaged, comes what
    can be unpacked, and `tell` is told about the rest. Raises UsageError when nothing can be read.
    """
    try:
        with _opened(path) as raw:
            yield from _unpacked(raw, path, tell)
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


def _unpacked(raw: io.BufferedReader, path: str, tell: Tell) -> Iterator[bytes]:
    head = raw.peek(4)[:4]
    if head.startswith(_GZIP):
        # read1 hands out what could be unpacked before it finds the end missing; read would lose it.
        yield from _whole(_chunks(gzip.GzipFile(fileobj=raw).read1), path, tell)
    elif head == _ZSTD:
        yield from _whole(_zstd(raw), path, tell)
    else:
        yield from _chunks(raw.read)


def _chunks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while chunk := read(CHUNK):
        yield chunk


def _zstd(file: IO[bytes]) -> Iterator[bytes]:
    """Yield what the frames of a zstd file hold. EOFError where the last one is not complete."""
    frame = None
    while data := file.read(_ZSTD_CHUNK):
        while data:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(data)
            data = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame:
        raise EOFError


def _whole(chunks: Iterator[bytes], path: str, tell: Tell) -> Iterator[bytes]:
    size = 0
    try:
        for chunk in chunks:
            size += len(chunk)
            yield chunk
    except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError):
        if not size:
            raise UsageError("is torn: nothing of it can be unpacked", place=path, next="fetch it again") from None
        tell(f"the archive is torn: {size} bytes could be unpacked, and what came after them is missing")
