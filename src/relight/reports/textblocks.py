"""Blocks as plain text: shared by the report and the page of one log. ASCII only, no colour."""

import textwrap
from collections.abc import Sequence

from relight.reports.blocks import (
    Block,
    Bullets,
    Choice,
    Choices,
    Code,
    Command,
    Edits,
    Excerpt,
    Pairs,
    Para,
    Prose,
    Row,
    Sums,
    Table,
    Timeline,
    words,
)
from relight.reports.edits import in_a_sentence, lines_of
from relight.reports.picture import picture
from relight.reports.timeline import BROKE, OTHER, PEAK, few, matrix

_LABEL = 10
_OURS = "relight "
_KEPT = "\xa0"
_SHORTEST = 12
_LONG = 60
_MOST_PIECES = 8
PIECES_OF_CONTEXT = 3


def block(part: Block, width: int) -> list[str]:
    """Return the lines of a block, none wider than `width` where its content can be broken."""
    setters = {
        Para: para,
        Bullets: bullets,
        Pairs: pairs,
        Table: table,
        Edits: edits,
        Choices: choices,
        Excerpt: excerpt,
        Command: command,
        Sums: sums,
        Timeline: timeline,
    }
    return setters[type(part)](part, width)  # type: ignore[operator,no-any-return]


def wrap(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """Break text at blanks; flags and paths are never broken, nor is what `flowing` keeps whole."""
    rest = " " * len(first) if rest is None else rest
    lines = textwrap.wrap(
        text.expandtabs(4),
        max(width, len(rest) + 20),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_KEPT, " ") for line in lines] or [first.rstrip()]


def flowing(prose: Prose) -> str:
    """Return prose as text to wrap: a command to paste stays on one line, or a terminal would run its first half."""
    kept = (Code(whole(p.text)) if isinstance(p, Code) and p.text.startswith(_OURS) else p for p in prose)
    return words(tuple(kept))


def whole(text: str) -> str:
    """Return text that `wrap` does not break."""
    return text.replace(" ", _KEPT)


def para(part: Para, width: int) -> list[str]:
    """Set a paragraph, its label in a column of its own."""
    first = f"{part.label:<{_LABEL}}" if part.label else ""
    return wrap(flowing(part.prose), width, first)


def bullets(part: Bullets, width: int) -> list[str]:
    """Set a list."""
    label = [f"{part.label}:"] if part.label else []
    return label + [line for item in part.items for line in wrap(flowing(item), width, "- ")]


def pairs(part: Pairs, width: int) -> list[str]:
    """Set names and values in two columns."""
    column = max((len(name) for name, _ in part.rows), default=0) + 2
    lines: list[str] = []
    for name, held in part.rows:
        for i, line in enumerate(flowing(held).split("\n")):
            lines += wrap(line, width, f"{name if i == 0 else '':<{column}}")
    return lines


def edits(part: Edits, width: int) -> list[str]:
    """Set a change as lines: what goes, what comes, what has another value; in fewer where it was told before."""
    told = lines_of(part.edits)
    if part.told:
        note = f" ({words(part.note)})" if part.note else ""
        return wrap("; ".join(map(_spoken, told)).replace("   (", " (") + note, width, f"{part.label:<{_LABEL}}")
    lines = [f"{part.label if i == 0 else '':<{_LABEL}}{line}" for i, line in enumerate(told)]
    return lines + (wrap(words(part.note), width, " " * _LABEL) if part.note else [])


def choices(part: Choices, width: int) -> list[str]:
    """Set repairs: what each would change and what became of it, why below; those passed over in few lines."""
    lines = [part.label]
    for choice in part.choices:
        if choice.passed:
            continue
        said = f"[{choice.became}]"
        room = width - len(said) - 4
        first, *rest = choice.lines
        fits = len(first) <= room
        lines.append(f"  {first:<{room}}  {said}" if fits else f"  {first}")
        lines += [f"  {line}" for line in rest] + ([] if fits else [f"      {said}"])
        lines += wrap(words((*choice.why, *([" "] if choice.costs else []), *choice.costs)), width, "      ")
    return lines + _passed([choice for choice in part.choices if choice.passed], width)


def _spoken(line: str) -> str:
    """Return an edit as it stands in a sentence, where a sign could be broken from what it is about."""
    return in_a_sentence(line).replace("`", "")


def _passed(choices: Sequence[Choice], width: int) -> list[str]:
    """Set repairs that were passed over: for each reason what it kept from being made."""
    groups: dict[str, list[str]] = {}
    for choice in choices:
        groups.setdefault(choice.became, []).append(", ".join(map(_spoken, choice.lines)))
    told = [f"[{why}]  {'; '.join(named)}" for why, named in groups.items()]
    return [line for said in told for line in wrap(said, width, "  ", "      ")]


def command(part: Command, width: int) -> list[str]:  # noqa: ARG001  a command is never broken
    """Set a command, one flag to a line; the label above it."""
    label = [part.label] if part.label else []
    return [*label, *(f"    {line}" for line in part.lines)]


def compact(part: Command, width: int) -> list[str]:
    """Set a command in as few lines as hold it, still ready to paste."""
    words_ = [line.removesuffix("\\").strip() for line in part.lines]
    lines: list[str] = []
    for word in words_:
        if lines and len(lines[-1]) + len(word) + 3 <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{'  ' if lines else ''}{word}")
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def sums(part: Sums, width: int) -> list[str]:
    """Set arithmetic."""
    lines = []
    for i, line in enumerate(part.lines):
        lines += wrap(line, width, f"{part.label if i == 0 else '':<{_LABEL}}")
    return lines


def excerpt(part: Excerpt, width: int, gutter: int = 1) -> list[str]:
    """Set numbered lines with what is marked underlined, in the manner of a compiler; numbers get `gutter` columns."""
    gutter = max((gutter, *(len(str(r.number)) for r in part.rows if r.number is not None)))
    empty = " " * gutter
    lines = [f"{empty}--> {part.place}", f"{empty} |"]
    for row in [row for row in part.rows if row.marks or not part.told] or part.rows:
        lines += _row(row, gutter, width)
    return lines


def _row(row: Row, gutter: int, width: int) -> list[str]:
    if row.gap and not row.text:
        return ["..."]
    number = "" if row.number is None else str(row.number)
    pieces, marks = fit(row, max(20, width - gutter - 3))
    # The marked line is seen at a glance, however many pieces it takes.
    bar = ">" if row.marks else "|"
    heads = [f"{number:>{gutter}} {bar} ", *[f"{' ' * gutter} {bar} "] * (len(pieces) - 1)]
    lines = [f"{head}{piece}".rstrip() for head, piece in zip(heads, pieces, strict=True)]
    for start, end, note in marks:
        lines += _underline(" " * gutter + " | ", start, end, note, width)
    return lines


def _underline(head: str, start: int, end: int, note: str, width: int) -> list[str]:
    """Underline columns; a long line is not needed to its end if only that lets the note stand beside it."""
    room = width - len(head) - start - len(note) - 1
    length = min(end - start, max(room, _SHORTEST)) if end - start > _LONG else end - start
    marker = head + " " * start + "^" * length
    if not note or length <= room:
        return [f"{marker} {note}"]
    return [marker, *wrap(note, width, head)]


def fit(row: Row, room: int) -> tuple[list[str], tuple[tuple[int, int, str], ...]]:
    """Break a row that is too long, marks moved to the last piece; one without marks is cut after a few pieces."""
    text = _cut(row.text.replace("\t", " "), room * _MOST_PIECES)
    if len(text) <= room:
        return [text], row.marks
    indent = text[: len(text) - len(text.lstrip())]
    pieces = textwrap.wrap(text.lstrip(), room, initial_indent=indent, break_on_hyphens=False)
    if not row.marks:
        return _first(pieces, room), ()
    last = len(pieces[-1].rstrip())
    return pieces, ((0, last, row.marks[-1][2]),)


def _first(pieces: list[str], room: int) -> list[str]:
    """Return a few pieces of a line of context; what is left out shows."""
    kept = pieces[:PIECES_OF_CONTEXT]
    return [*kept[:-1], kept[-1][: room - 4] + " ..."] if len(kept) < len(pieces) else kept


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 4] + " ..."


def table(part: Table, width: int) -> list[str]:
    """Set a table in columns; the widest columns share what room there is."""
    rows = [[words(cell) for cell in row] for row in part.rows]
    widths = _widths([list(part.heads), *rows], width)
    if sum(widths) + 2 * (len(widths) - 1) > width:
        return _stacked(part.heads, rows, width)
    lines = _cells(part.heads, widths)
    lines.append("  ".join("-" * w for w in widths))
    for row in rows:
        lines += _cells(row, widths)
    return lines


def _stacked(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Set each row as lines of its own, for a table that no width fits: the first cell, then the others by name."""
    column = max(map(len, heads)) + 2
    lines: list[str] = []
    for first, *others in rows:
        lines += wrap(f"{heads[0]}{first}" if heads[0] == "#" else first, width)
        for head, cell in zip(heads[1:], others, strict=True):
            for i, line in enumerate(cell.split("\n") if cell not in {"", "-"} else ()):
                lines += wrap(line, width, f"  {head if i == 0 else '':<{column}}")
    return lines


def _widths(rows: Sequence[Sequence[str]], width: int, gap: int = 2) -> list[int]:
    natural = [max(len(line) for row in rows for line in row[i].split("\n")) for i in range(len(rows[0]))]
    least = [min(n, max(len(w) for row in rows for w in (row[i].split() or [""]))) for i, n in enumerate(natural)]
    room = width - gap * (len(natural) - 1)
    widths = list(natural)
    while sum(widths) > room:
        candidates = [i for i in range(len(widths)) if widths[i] > min(least[i], 40)]
        if not candidates:
            break
        widest = max(candidates, key=lambda i: widths[i])
        widths[widest] -= 1
    return widths


def _cells(cells: Sequence[str], widths: Sequence[int], gap: int = 2) -> list[str]:
    columns = [_wrapped(cell, w) for cell, w in zip(cells, widths, strict=True)]
    height = max(len(c) for c in columns)
    return [
        (" " * gap).join(f"{c[i] if i < len(c) else '':<{w}}" for c, w in zip(columns, widths, strict=True)).rstrip()
        for i in range(height)
    ]


def _wrapped(text: str, width: int) -> list[str]:
    parts = text.expandtabs(4).split("\n")
    return [line for part in parts for line in textwrap.wrap(part, max(1, width), break_on_hyphens=False) or [""]]


def timeline(part: Timeline, width: int) -> list[str]:
    """Set the timeline as a table: attempts down, phases across, how long each took; below it, drawn in letters.

    Where it is too wide its columns come nearer; then that of memory goes, then those of where it broke and of the
    time in no phase, which the drawing tells too.
    """
    part, left = few(part)
    tries = ((2, ()), (1, ()), (1, (PEAK,)), (1, (PEAK, BROKE)))
    forms = (_matrix(matrix(part, without), width, gap) for gap, without in tries)
    lines = next((lines for lines in forms if max(map(len, lines)) <= width), None)
    lines = lines or _matrix(matrix(part, (PEAK, BROKE, OTHER)), width, 1)
    meaning, drawn = picture(part, max(20, min(80, width - 8)))
    lines += [left] if left else []
    return [*lines, *([""] if drawn else []), *(row for said in meaning for row in wrap(said, width)), *drawn]


def _matrix(table: Table, width: int, gap: int) -> list[str]:
    rows = [[words(cell) for cell in row] for row in table.rows]
    heads = [max(h.split() or [""], key=len) for h in table.heads]
    widths = _widths([heads, *rows], width, gap)
    return [*_cells(table.heads, widths, gap), *(line for row in rows for line in _cells(row, widths, gap))]
