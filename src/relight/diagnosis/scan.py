"""The lines of a log that a diagnosis needs, however large the log is."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from relight.diagnosis.match import matcher
from relight.logs.find import Engine, Finder, finder
from relight.logs.lines import Line
from relight.logs.sieve import sift
from relight.words.knowledge import Knowledge

STRUCTURE = (
    "traceback (most recent call last)",
    '  file "',
    "during handling of the above",
    "direct cause of the following",
)


def scan(chunks: Iterable[bytes], knowledge: Knowledge, engine: Engine | None = None) -> Iterator[Line]:
    """Yield what `diagnose` needs of a log: of a small one all lines, of a large one those that can matter."""

    def find(block: bytes) -> Sequence[int]:
        # Of a small log nothing is looked for, and to make the finder takes as long as to read it.
        return finder_of(knowledge, engine)(block)

    return sift(chunks, find)


def finder_of(knowledge: Knowledge, engine: Engine | None = None) -> Finder:
    """Return the finder of everything that can matter: signatures, marks, tracebacks."""
    marks = [text for pattern in knowledge.phases for text in pattern.literal]
    routine = tuple(pattern.regex for pattern in knowledge.phases if pattern.role == "routine")
    return _finder((*matcher(knowledge.signatures).literals, *marks, *STRUCTURE), engine, routine)


@lru_cache(maxsize=8)
def _finder(literals: tuple[str, ...], engine: Engine | None, routine: tuple[str, ...]) -> Finder:
    return finder(literals, engine, routine)
