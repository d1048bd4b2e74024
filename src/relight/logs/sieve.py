"""The few lines of a large log that can matter, found without looking at each line."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain

from relight.logs.find import Finder
from relight.logs.lines import Line, clean, split

SMALL = 4 << 20
"""A log up to this size (bytes) is read line by line: sifting it would save nothing."""

BEFORE = 2
AFTER = 3
LONGEST = 80
"""Lines kept before a hit, after it, and of the record it begins."""

EDGE = 400
"""Lines of the beginning and of the end that are always kept."""

AHEAD = 4
"""Blocks that are searched while earlier ones are looked through: the search leaves the interpreter free."""

MOST = 60_000
"""Lines kept at most: a log that is all hits keeps its beginning and its end."""


def sift(chunks: Iterable[bytes], find: Finder) -> Iterator[Line]:
    """Yield the lines that hold a literal, what stands around them, and both ends of the log.

    Numbers and offsets are those of the whole log. A small log is yielded whole.
    """
    blocks = _blocks(chunks)
    first = _first(blocks)
    if sum(map(len, first)) <= SMALL:
        yield from split(first)
        return
    yield from _sifted(chain(first, blocks), find)


def _first(blocks: Iterator[bytes]) -> list[bytes]:
    """Take blocks until they are no longer small."""
    taken: list[bytes] = []
    for block in blocks:
        taken.append(block)
        if sum(map(len, taken)) > SMALL:
            break
    return taken


def _sifted(blocks: Iterable[bytes], find: Finder) -> Iterator[Line]:
    number, offset, kept = 1, 0, 0
    tail: list[Line] = []
    last: tuple[bytes, int, int, list[tuple[int, int]]] | None = None
    for block, hits in _searched(blocks, find):
        spans = _spans(block, hits, head=number == 1)
        for line in _lines(block, spans, number, offset):
            kept += 1
            tail.append(line)
            if kept <= MOST // 2:
                yield tail.pop()
            elif len(tail) > MOST:
                del tail[: MOST // 2]
        last = (block, number, offset, spans)
        number, offset = number + block.count(b"\n"), offset + len(block)
    if last is not None:
        yield from _with_end(tail, *last)


def _with_end(tail: list[Line], block: bytes, number: int, offset: int, spans: Sequence[tuple[int, int]]) -> list[Line]:
    """Return the kept lines and, after them, the last lines of the log that were not kept."""
    start = len(block)
    for _ in range(EDGE):
        if start <= 0:
            break
        start = block.rfind(b"\n", 0, start - 1) + 1
    done = max((end for _, end in spans), default=0)
    rest = _lines(block, [(max(start, done), len(block))], number, offset)
    return [*tail[-MOST // 2 :], *rest]


def _blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Cut the stream into blocks that end with a line."""
    rest: list[bytes] = []
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            rest.append(chunk)
            continue
        yield b"".join([*rest, chunk[:cut]])
        rest = [chunk[cut:]] if cut < len(chunk) else []
    if rest:
        yield b"".join(rest)


def _searched(blocks: Iterable[bytes], find: Finder) -> Iterator[tuple[bytes, Sequence[int]]]:
    """Yield each block with the ends of its hits; the next one is searched meanwhile."""
    waiting: deque[tuple[bytes, Future[Sequence[int]]]] = deque()
    with ThreadPoolExecutor(1) as pool:
        for block in blocks:
            waiting.append((block, pool.submit(find, block)))
            if len(waiting) > AHEAD:
                first, ends = waiting.popleft()
                yield first, ends.result()
        for first, ends in waiting:
            yield first, ends.result()


def _spans(block: bytes, hits: Sequence[int], *, head: bool) -> list[tuple[int, int]]:
    """Return the stretches of a block to keep, in order, not overlapping, at line borders."""
    spans: list[tuple[int, int]] = [(0, _forward(block, 0, EDGE))] if head else []
    line = 0
    for end in sorted(hits):
        if end <= line:
            continue
        line = block.find(b"\n", end) + 1 or len(block)
        if spans and end <= spans[-1][1]:
            if end > spans[-1][1] - 1 or _close(block, end, spans[-1][1]):
                spans[-1] = (spans[-1][0], max(spans[-1][1], _record_end(block, end)))
            continue
        start = max(_back(block, end - 1, BEFORE), spans[-1][1] if spans else 0)
        spans.append((start, _record_end(block, end)))
    return spans


def _close(block: bytes, end: int, stop: int) -> bool:
    return block.count(b"\n", end, stop) <= AFTER


def _record_end(block: bytes, end: int) -> int:
    """Return where the record ends that a hit stands in: at least AFTER lines, at most LONGEST, on."""
    at = block.find(b"\n", end) + 1 or len(block)
    for count in range(LONGEST):
        if at >= len(block) or (count >= AFTER and block.startswith((b"[20", b"[1;", b"20", b"INFO"), at)):
            break
        at = block.find(b"\n", at) + 1 or len(block)
    return at


def _forward(block: bytes, at: int, count: int) -> int:
    for _ in range(count):
        at = block.find(b"\n", at) + 1 or len(block)
    return at


def _back(block: bytes, at: int, count: int) -> int:
    for _ in range(count + 1):
        at = block.rfind(b"\n", 0, max(at, 0))
        if at < 0:
            return 0
    return at + 1


def _lines(block: bytes, spans: Iterable[tuple[int, int]], number: int, offset: int) -> Iterator[Line]:
    at = 0
    for start, end in spans:
        number += block.count(b"\n", at, start)
        place = offset + start
        for raw in _split(block[start:end]):
            yield Line(number, place, clean(raw.rstrip(b"\n")))
            place += len(raw)
            number += raw.endswith(b"\n")
        at = end


def _split(piece: bytes) -> list[bytes]:
    parts = piece.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
