"""Which source files would tell more, and what they tell once they are here."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace

from relight.diagnosis.candidates import Candidate
from relight.diagnosis.configuration import configuration_file, in_configuration
from relight.diagnosis.given import Given
from relight.diagnosis.source.explain import constraint
from relight.diagnosis.source.portable import portable
from relight.diagnosis.source.read import Reading, read_failure
from relight.diagnosis.source.roles import with_fields
from relight.diagnosis.source.solve import repairs
from relight.diagnosis.source.values import Values
from relight.diagnosis.source.wishes import Wishes
from relight.words.diagnosis import Constraint, Frame, Want
from relight.words.kinds import family
from relight.words.settings import Repair

READABLE = {"args", "assertion", "engine", "unknown", "model", "kernel"}
"""Families whose exceptions are decided by conditions in the engine's own source."""
COMPARED = 40
"""How much of a printed line is compared with the file's: logs wrap long lines."""
OUTER = 3
"""How many files of outer frames are read, too: what a function is called with is often decided there."""


@dataclass(frozen=True)
class SourceReading:
    """What source reading gave: nothing while the source is not here."""

    constraint: Constraint | None = None
    repairs: tuple[Repair, ...] = ()
    more: tuple[str, ...] = ()


def wants_of(root: Candidate, sources: Mapping[str, str], more: tuple[str, ...] = ()) -> tuple[Want, ...]:
    """Return the source files that are not here and would tell more: where it was raised, its callers, and `more`."""
    frame = _raising_frame(root)
    if frame is None or root.block is None:
        return ()
    outer = [f for f in reversed(root.block.frames) if _ours(f) and f.file != frame.file]
    lines = {frame.file: frame.line} | {f.file: f.line for f in outer[:OUTER]} | dict.fromkeys(more, 1)
    return tuple(Want(file, line) for file, line in lines.items() if file not in sources)


def read_source(root: Candidate, given: Given, sources: Mapping[str, str], wishes: Wishes) -> SourceReading:
    """Read the condition that failed from the source, where `sources` holds it."""
    frame = _raising_frame(root)
    if frame is None or root.block is None:
        return SourceReading()
    printed = frame.file not in sources or changed(frame, sources[frame.file])
    sources = _printed_line(frame) if printed else sources
    if frame.file not in sources:
        return SourceReading()
    values = Values(given.flags, given.env, given.fields)
    reading = with_fields(_reading(root, frame, sources), given.parser, values)
    if not reading.readable:
        return SourceReading(more=reading.wants)
    configuration = configuration_file(reading, given)
    values = replace(values, facts=in_configuration(sources.get(configuration, "")))
    reading = replace(reading, wants=(*reading.wants, *filter(None, [configuration])))
    read = constraint(reading, values, given.parser)
    if printed:
        return SourceReading(_as_printed(read, given), repairs(reading, values, given.parser, wishes), reading.wants)
    if not (given.flags or given.fields):
        # Nobody knows what was given: defaults would be told as what failed, and mended.
        return SourceReading(replace(read, values={}), more=reading.wants)
    read = replace(read, fails=portable(reading, values, given.parser))
    return SourceReading(read, repairs(reading, values, given.parser, wishes), reading.wants)


def changed(frame: Frame, text: str) -> bool:
    """Say whether a file no longer has the line that the traceback printed; what is not printed is not compared."""
    rows = text.split("\n")
    there = rows[frame.line - 1].strip() if 0 < frame.line <= len(rows) else ""
    printed = frame.text.strip().split("\n")[0][:COMPARED]
    return bool(printed) and not there.startswith(printed)


def _as_printed(read: Constraint, given: Given) -> Constraint:
    """Keep of a constraint what the log itself printed: its one line, and values only where the command is known."""
    lines = tuple((number, text) for number, text in read.excerpt if number == read.line)
    return replace(read, excerpt=lines, values=read.values if given.flags else {})


def _printed_line(frame: Frame) -> dict[str, str]:
    """Return the one line of source that a traceback prints, where it is a whole assertion, as a file of its own."""
    alone = f"def _(self):\n    {frame.text}"
    try:
        whole = isinstance(ast.parse(alone).body[0].body[0], ast.Assert)  # type: ignore[attr-defined]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {frame.file: "\n" * max(0, frame.line - 2) + alone} if whole and frame.line > 1 else {}


def _reading(root: Candidate, frame: Frame, sources: Mapping[str, str]) -> Reading:
    block = root.block
    frames = block.frames if block else ()
    outer = [(f.file, f.line) for f in frames[: frames.index(frame)]] if frame in frames else []
    return read_failure(
        sources[frame.file],
        frame.file,
        frame.line,
        message=block.text().partition(": ")[2] if block else "",
        type=block.type if block else "",
        others=sources,
        callers=outer,
    )


def _raising_frame(root: Candidate) -> Frame | None:
    """Return the innermost frame where it is the engine's own code and the failure is decided there."""
    block = root.block
    kind = root.claim.signature.kind if root.claim else "unknown"
    if block is None or not block.frames or family(kind) not in READABLE:
        return None
    frame = block.frames[-1]
    return frame if _ours(frame) else None


def _ours(frame: Frame) -> bool:
    return "/sglang/" in frame.file or frame.file.startswith("sglang/")
