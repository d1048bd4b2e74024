"""Where literals occur in a block of bytes: with Hyperscan, pyahocorasick or re, whichever is there first."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

Finder: TypeAlias = Callable[[bytes], Sequence[int]]
"""Return the end offsets of the literals in a block, in any order, one for each place at least."""

Engine: TypeAlias = Literal["hyperscan", "ahocorasick", "re"]


def finder(literals: Iterable[str], engine: Engine | None = None, routine: Sequence[str] = ()) -> Finder:
    """Return a finder for `literals`, without regard to case; `engine` forces one, else the fastest is taken.

    `routine` are regexes of whole lines that hold none of the literals: they let the slower engines skip most of a
    log. LookupError where the engine asked for is not installed.
    """
    words = _shortest({text.lower() for text in literals if text})
    for name in (engine,) if engine else ("hyperscan", "ahocorasick", "re"):
        made = _MAKERS[name](words)
        if made is not None:
            return made if name == "hyperscan" else _skipping(made, routine)
    raise LookupError(engine)


def _shortest(words: Iterable[str]) -> list[bytes]:
    """Return the words that hold no other: a text with a longer one holds the shorter one too."""
    kept: list[str] = []
    for word in sorted(words, key=lambda w: (len(w), w)):
        if not any(other in word for other in kept):
            kept.append(word)
    return [word.encode("utf-8") for word in kept]


def _skipping(find: Finder, routine: Sequence[str]) -> Finder:
    """Return a finder that looks at a block in full only where something is left of it without routine lines."""
    if not routine:
        return find
    regex = re.compile(b"|".join(b"(?:" + text.encode("utf-8") + b")[^\n]*" for text in routine))

    def quick(block: bytes) -> Sequence[int]:
        return find(block) if find(regex.sub(b"", block)) else ()

    return quick


def _hyperscan(words: Sequence[bytes]) -> Finder | None:
    try:
        import hyperscan  # noqa: PLC0415  an extra that may be missing
    except ImportError:
        return None
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    flags = hyperscan.HS_FLAG_CASELESS | hyperscan.HS_FLAG_DOTALL
    escaped = [re.escape(word) for word in words]
    database.compile(expressions=escaped, ids=list(range(len(words))), elements=len(words), flags=[flags] * len(words))

    def find(block: bytes) -> Sequence[int]:
        ends: list[int] = []
        database.scan(block, match_event_handler=lambda _id, _start, end, _flags, _context: ends.append(end))
        return ends

    return find


def _ahocorasick(words: Sequence[bytes]) -> Finder | None:
    try:
        import ahocorasick  # noqa: PLC0415  a fallback exists
    except ImportError:
        return None
    machine = ahocorasick.Automaton(ahocorasick.STORE_INTS)
    for word in words:
        machine.add_word(word.decode("latin-1"), 1)
    machine.make_automaton()

    def find(block: bytes) -> Sequence[int]:
        return [end + 1 for end, _ in machine.iter(block.lower().decode("latin-1"))]

    return find


def _re(words: Sequence[bytes]) -> Finder | None:
    regex = re.compile(b"|".join(re.escape(word) for word in sorted(words, key=len)), re.IGNORECASE)

    def find(block: bytes) -> Sequence[int]:
        return [match.end() for match in regex.finditer(block)]

    return find


_MAKERS: dict[Engine, Callable[[Sequence[bytes]], Finder | None]] = {
    "hyperscan": _hyperscan,
    "ahocorasick": _ahocorasick,
    "re": _re,
}
