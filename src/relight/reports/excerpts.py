"""Excerpts of logs and sources, with what matters marked."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from relight.reports.blocks import Excerpt, Row
from relight.reports.prose import path, value
from relight.words.diagnosis import Cause, Constraint, Diagnosis, LogLine
from relight.words.settings import Repair

_AROUND = 12
_GUARDS = 3
_LAST = 6
_DETAILS = "its details"
_WHY = "why"
_ASKS = "asks for the change"
_FOLLOWING = 2
_MESSAGE = 4
"""Lines after the one that names an exception that may still be its message."""
_TELLING = 2
_OF_LIBRARIES = "comm"
_REASON = re.compile(r"\bWARN\b")
_LAST_ERROR = re.compile(r"^\s*Last error:\s*$")
"""How libraries of collectives print why a call failed, apart from the error that the engine raises."""
_LONGEST = 120
"""Characters of a guard that can still be read at a glance."""
_FRAME = re.compile(r"""^((?:\[[^\]]*\]:?|\([^)]*\))?\s*File ")([^"]+)(?=")""")


def evidence(diagnosis: Diagnosis, around: Iterable[LogLine] = (), *, note: str = "") -> Excerpt | None:
    """Return the lines of the log that show the cause, the cause marked with `note`; None if there is none."""
    cause = diagnosis.cause
    # What stands around is as it is in the log; evidence is stripped.
    lines = {e.line: _framed(e.text) for e in (*diagnosis.evidence, *around, *diagnosis.details)}
    cascade = {e.line for e in diagnosis.cascade}
    if cause and cause.line is not None:
        # A consequence that is printed first explains nothing.
        lines = {n: text for n, text in lines.items() if n >= cause.line or n not in cascade}
        lines.setdefault(cause.line, cause.text)
    elif cause and cause.text and not lines:
        return Excerpt("evidence", diagnosis.log, (Row(None, cause.text),))
    if not lines:
        return None
    line = cause.line if cause else None
    asks = {e.line for e in diagnosis.details if _asks(e.text, diagnosis.repairs)}
    apart = {e.line for e in diagnosis.details}
    chosen = sorted({*_nearest(_without(lines, apart), line), *_beside(apart - asks, lines), *asks})
    details = _details(cause, lines) if cause else set()
    said = {**dict.fromkeys(details, _DETAILS), **dict.fromkeys(apart, _WHY), **dict.fromkeys(asks, _ASKS)}
    rows = [Row(n, lines[n], _marks(lines[n], note if n == line else said.get(n, ""))) for n in chosen]
    return Excerpt("evidence", _place(diagnosis.log, line or chosen[0]), _with_gaps(rows))


def _without(lines: Mapping[int, str], apart: set[int]) -> Mapping[int, str]:
    return {n: text for n, text in lines.items() if n not in apart}


def _beside(apart: set[int], lines: Mapping[int, str]) -> set[int]:
    """Return lines with the source each is about, as far as it is given: what follows at once, or the frame before."""
    after = {n + i for n in apart for i in range(1, _FOLLOWING + 1) if lines.get(n + i, "").strip()}
    raised = {n - i for n in apart for i in (1, 2) if _FRAME.match(lines.get(n - 2, "").strip())}
    return apart | (after - raised if not raised else set()) | raised


def _asks(text: str, repairs: Sequence[Repair]) -> bool:
    """Say whether a line names what a repair made of the failure's own message changes."""
    names = {name for r in repairs if r.origin == "message" for name in (*r.names, *r.variables)}
    words = set(re.findall(r"[\w-]+", text))
    return any(n in words or f"--{n}" in words or f"--{n.replace('-', '_')}" in words for n in names)


def _marks(text: str, note: str) -> tuple[tuple[int, int, str], ...]:
    return _whole(text, note) if note else ()


def _details(cause: Cause, lines: Mapping[int, str]) -> set[int]:
    """Return the lines right after the cause that hold what is known of it and its own line does not say."""
    own = cause.text
    if cause.family == _OF_LIBRARIES and not _REASON.search(own):
        return _reasons(lines, cause.line)
    wanted = [str(held) for held in cause.facts.values() if held is not None and not isinstance(held, bool)]
    wanted = [text for text in wanted if len(text) >= _TELLING and text not in own]
    after = range((cause.line or 0) + 1, (cause.line or 0) + 1 + _MESSAGE)
    return {n for n in after if cause.line and wanted and all(text in lines.get(n, "") for text in wanted)}


def last_lines(log: str, lines: Iterable[LogLine], last: LogLine, note: str) -> Excerpt:
    """Return the end of a log, its last line marked with `note`."""
    held = {line.line: _framed(line.text) for line in lines}
    chosen = [n for n in sorted(held) if n <= last.line][-_LAST:]
    rows = [Row(n, held[n], _whole(held[n], note) if n == last.line else ()) for n in chosen]
    return Excerpt("evidence", _place(log, last.line), _with_gaps(rows))


def _reasons(lines: Mapping[int, str], line: int | None) -> set[int]:
    """Return the line next to a bare error of a library in which it says why."""
    near = sorted((n for n in lines if n != line), key=lambda n: abs(n - (line or n)))
    told = [n for n in near if _REASON.search(lines[n]) or _LAST_ERROR.search(lines.get(n - 1, ""))]
    return set(told[:1])


def _framed(text: str) -> str:
    """Return a line of a traceback with the file from its package on; the folder before it is the host's own."""
    return _FRAME.sub(lambda found: found[1] + path(found[2]), text)


def _nearest(lines: Mapping[int, str], line: int | None) -> list[int]:
    """Keep an excerpt readable: the lines nearest to the cause, in order."""
    middle = line if line is not None else max(lines)
    there = sorted(_together(lines, middle), key=lambda n: (not middle <= n <= middle + _MESSAGE, abs(n - middle)))
    return sorted(there[:_AROUND])


def _together(lines: Mapping[int, str], middle: int) -> list[int]:
    """Leave out what comes after the cause and apart from it: others speak there, or only its consequences."""
    after = [n for n in sorted(lines) if n > middle]
    gap = next((i for i, n in enumerate(after) if n != middle + 1 + i), len(after))
    return [n for n in lines if n <= middle] + after[:gap]


def _place(log: str, line: int | None) -> str:
    return f"{log}:{line}" if line is not None else log


def _whole(text: str, note: str) -> tuple[tuple[int, int, str], ...]:
    start = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    return ((start, end, note),) if end > start else ()


def _with_gaps(rows: Sequence[Row]) -> tuple[Row, ...]:
    out: list[Row] = []
    for row in rows:
        if out and out[-1].number is not None and row.number is not None and row.number > out[-1].number + 1:
            out.append(Row(None, ""))
        out.append(row)
    return tuple(out)


def source(constraint: Constraint, function: str = "") -> Excerpt | None:
    """Return the source of a constraint with the operand that was false marked, and the values it had."""
    lines = [(number, text.rstrip()) for number, text in constraint.excerpt]
    if not lines:
        return None
    spans = _operand(lines, constraint.operand) or _line(lines, constraint.line)
    said = _said(constraint, " ".join(lines[i][1] for i in spans))
    last = max(spans, default=-1)
    rows = []
    for i, (number, text) in enumerate(_dedented(lines)):
        shift = len(lines[i][1]) - len(text)
        marks = ((spans[i][0] - shift, spans[i][1] - shift, said if i == last else ""),) if i in spans else ()
        rows.append(Row(number, text, marks))
    place = f"{path(constraint.file)}:{constraint.line}" + (f" in {function}" if function else "")
    return Excerpt("source", place, _with_gaps(rows))


def _dedented(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    indents = [len(text) - len(text.lstrip()) for _, text in lines if text.strip()]
    shift = max(0, min(indents, default=0))
    return [(number, text[shift:]) for number, text in lines]


def _operand(lines: Sequence[tuple[int, str]], operand: str) -> dict[int, tuple[int, int]]:
    """Find `operand` whatever its line breaks are; return row -> [start, end) columns."""
    cells = [(i, col, char) for i, (_, text) in enumerate(lines) for col, char in enumerate(text) if not char.isspace()]
    wanted = "".join(operand.split())
    at = "".join(char for _, _, char in cells).find(wanted) if wanted else -1
    spans: dict[int, tuple[int, int]] = {}
    for i, col, _ in cells[at : at + len(wanted)] if at >= 0 else ():
        spans[i] = (spans.get(i, (col, 0))[0], col + 1)
    return spans


def _line(lines: Sequence[tuple[int, str]], line: int) -> dict[int, tuple[int, int]]:
    return {
        i: (len(text) - len(text.lstrip()), len(text))
        for i, (number, text) in enumerate(lines)
        if number == line and text.strip()
    }


def _said(constraint: Constraint, marked: str) -> str:
    """Say what the marked text held: "false: a is 1"."""
    named = _named(marked, constraint.values)
    held = ", ".join(f"{field(name)} is {value(v)}" for name, v in named.items())
    if marked.lstrip().startswith("raise"):
        return "raised here"
    return f"false: {held}" if held else "this did not hold"


def _named(text: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: v for name, v in values.items() if re.search(rf"\b{re.escape(field(name))}\b", text)}


def other_values(constraint: Constraint) -> dict[str, Any]:
    """Return the values that the marked text does not mention."""
    lines = [(number, text.rstrip()) for number, text in constraint.excerpt]
    spans = _operand(lines, constraint.operand) or _line(lines, constraint.line)
    told = _named(" ".join(lines[i][1] for i in spans), constraint.values)
    return {name: v for name, v in constraint.values.items() if name not in told}


def readable(constraint: Constraint) -> tuple[str, ...]:
    """Return the guards of a condition that could be read; what could not is told apart."""
    return tuple(guard for guard in constraint.guards if not any(part in guard for part in constraint.opaque))


def innermost(guards: Sequence[str]) -> tuple[str, ...]:
    """Return the guards next to a condition, outermost first; how many more there are stands before them."""
    short = [guard for guard in guards if len(guard) <= _LONGEST]
    kept = short[-_GUARDS:] if len(short) != _GUARDS + 1 else short
    more = len(guards) - len(kept)
    first = ("another condition holds",) if more == 1 else (f"{more} other conditions hold",) if more else ()
    return (*first, *kept)


def field(name: str) -> str:
    """Return the name of a value as the source spells it."""
    return name.rsplit(".", 1)[-1].replace("-", "_")
