"""The report as Markdown of the kind that code hosts show: tables, fenced code, folded details."""

import html
import re
from collections.abc import Callable, Sequence
from typing import Any

from relight.reports.blocks import (
    Block,
    Bullets,
    Choices,
    Code,
    Command,
    Edits,
    Excerpt,
    Pairs,
    Para,
    Prose,
    Section,
    Story,
    Sums,
    Table,
    Timeline,
)
from relight.reports.edits import lines_of
from relight.reports.picture import picture
from relight.reports.story import tell
from relight.reports.textblocks import excerpt as excerpt_lines
from relight.reports.timeline import few, matrix
from relight.words.attempt import Record

_WIDE = 200
# What Markdown or HTML would act on. A blank after #, - or + and a digit's point only matter where a line begins.
_SPECIAL = re.compile(r"(?<=www)\.|[\\`*_{}\[\]<>|~&$@#]|(?<=\w)://|^\s*[-+](?=\s)|^\s*\d+(?=[.)](?:\s|$))|^\s*=")


def render(record: Record) -> str:
    """Return the post-mortem of a run as Markdown."""
    return story(tell(record))


def story(told: Story) -> str:
    """Return a story as Markdown."""
    lines = [f"# {escape(f'{told.word}: {told.title}')}", "", f"**{prose(told.verdict)}**", "", *block(told.head)]
    for part in told.sections:
        lines += section(part, 2)
    return "\n".join(lines).strip() + "\n"


def section(part: Section, level: int) -> list[str]:
    """Return the lines of a section; a folded one is a <details> element."""
    inner = [line for each in part.blocks for line in ["", *block(each)]]
    inner += [line for each in part.sections for line in section(each, level + 1)]
    if part.folded:
        return ["", "<details>", f"<summary><b>{html.escape(part.title)}</b></summary>", *inner, "", "</details>"]
    return ["", f"{'#' * level} {escape(part.title)}", *inner]


def block(part: Block) -> list[str]:
    """Return the lines of a block."""
    setters: dict[type, Callable[[Any], list[str]]] = {
        Para: _para,
        Bullets: _bullets,
        Pairs: _pairs,
        Table: table,
        Edits: _edits,
        Choices: _choices,
        Excerpt: _excerpt,
        Command: _command,
        Sums: _sums,
        Timeline: _timeline,
    }
    return setters[type(part)](part)


def escape(text: str) -> str:
    """Return text with all that Markdown or HTML would act on made literal."""
    return _SPECIAL.sub(_literal, text)


def _literal(match: re.Match[str]) -> str:
    found = match[0]
    if found == "://":
        return "&#58;//"
    if found in "<>&@.":
        return f"&#{ord(found)};"
    lead = found[: len(found) - len(found.lstrip())]
    mark = found.lstrip()
    return f"{lead}{mark}\\" if mark.isdigit() else f"{lead}\\{mark}"


def code(text: str) -> str:
    """Return text as a code span, fenced by more backticks than it holds."""
    ticks = "`" * (_longest_ticks(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fence(lines: Sequence[str], language: str = "text") -> list[str]:
    """Return lines as a fenced block that none of them can close."""
    ticks = "`" * max(3, _longest_ticks("\n".join(lines)) + 1)
    return [f"{ticks}{language}", *lines, ticks]


def _longest_ticks(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def prose(parts: Prose) -> str:
    """Return prose as Markdown."""
    return "".join(code(p.text) if isinstance(p, Code) else escape(p) for p in parts)


def _para(part: Para) -> list[str]:
    label = f"**{escape(part.label.capitalize())}:** " if part.label else ""
    return [f"{label}{prose(part.prose)}"]


def _bullets(part: Bullets) -> list[str]:
    head = [f"{escape(part.label)}:", ""] if part.label else []
    return [*head, *(f"- {prose(item)}" for item in part.items)]


def _pairs(part: Pairs) -> list[str]:
    return [f"- **{escape(name)}:** {prose(held)}".replace("\n", "<br>") for name, held in part.rows]


def table(part: Table) -> list[str]:
    """Return a table; bars in cells are made literal."""
    head = f"| {' | '.join(escape(h) for h in part.heads)} |"
    rows = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in part.rows]
    return [head, f"|{' --- |' * len(part.heads)}", *rows]


def _cell(cell: Prose) -> str:
    # A bar ends a cell even inside code; there it is escaped too, and shown without the backslash.
    parts = (code(p.text).replace("|", "\\|") if isinstance(p, Code) else escape(p) for p in cell)
    return "".join(parts).replace("\n", "<br>") or " "


def _edits(part: Edits) -> list[str]:
    head = [f"**{escape(part.label.capitalize())}:**", ""] if part.label else []
    note = ["", prose(part.note)] if part.note else []
    return [*head, *fence(lines_of(part.edits)), *note]


def _choices(part: Choices) -> list[str]:
    lines = [f"**{escape(part.label.capitalize())}:**", ""]
    for choice in part.choices:
        costs = f" {prose(choice.costs)}" if choice.costs else ""
        edits = ", ".join(code(line) for line in choice.lines)
        lines.append(f"- {edits} ({escape(choice.became)}). {prose(choice.why)}{costs}")
    return lines


def _excerpt(part: Excerpt) -> list[str]:
    return fence(excerpt_lines(part, _WIDE))


def _command(part: Command) -> list[str]:
    head = [escape(part.label), ""] if part.label else []
    return [*head, *fence(part.lines, "sh")]


def _timeline(part: Timeline) -> list[str]:
    part, left = few(part)
    meaning, drawn = picture(part)
    drawing = ["", *map(escape, meaning), "", *fence(drawn)] if drawn else []
    return [*table(matrix(part)), *(["", escape(left)] if left else []), *drawing]


def _sums(part: Sums) -> list[str]:
    return [f"**{escape(part.label.capitalize())}:**", "", *fence(part.lines)]
