"""The report as one HTML file: no network, light and dark, phone and paper."""

import base64
import hashlib
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from relight.reports.blocks import Bar, Code, Lane, Prose, Row, Timeline, words
from relight.reports.edits import COME, GONE, brief
from relight.reports.story import tell
from relight.reports.svg import curve, peak, rects, ticks
from relight.reports.timeline import between_ends, matrix
from relight.reports.times import span
from relight.words.attempt import Record

_COLOURS = 10
_SHORT = 30
"""Characters of code that stay on one line, on a phone too."""


def render(record: Record) -> str:
    """Return the post-mortem of a run as one self-contained HTML page."""
    return _template().render(story=tell(record))


@cache
def _template() -> Template:
    env = Environment(
        loader=PackageLoader("relight.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {"prose": prose, "marked": marked, "span": span, "shade": shade}
    env.filters |= {"brief": brief, "sign": sign}
    env.filters |= {"rows": _rows, "between": between_ends}
    env.globals |= {"kind": lambda block: type(block).__name__, "script_hash": _script_hash(env)}
    env.globals |= {
        "rects": rects,
        "curve": curve,
        "peak": peak,
        "ticks": ticks,
        "lane_label": lane_label,
        "matrix": matrix,
    }
    return env.get_template("report.html.j2")


def _rows(held: Prose) -> int:
    return words(held).count("\n") + 1


def _script_hash(env: Environment) -> str:
    """Return what lets the page run its own script and no other."""
    text = env.get_template("report.js").render().encode()
    return base64.b64encode(hashlib.sha256(text).digest()).decode()


def prose(parts: Prose) -> Markup:
    """Return prose as HTML, everything in it escaped; line ends break the line."""
    return Markup().join(_part(part) for part in parts)


def _part(part: str | Code) -> Markup:
    if isinstance(part, Code):
        kind = Markup(' class="short"') if len(part.text) <= _SHORT else ""
        return Markup("<code{}>{}</code>").format(kind, part.text.replace(" -> ", " \u2192 "))
    return Markup("<br>").join(escape(line) for line in part.split("\n"))


def marked(row: Row) -> Markup:
    """Return the text of a row, what matters in it between <mark> tags."""
    out, at = Markup(), 0
    for start, end, _ in row.marks:
        out += escape(row.text[at:start]) + Markup("<mark>{}</mark>").format(row.text[start:end])
        at = end
    return out + escape(row.text[at:])


def sign(line: str) -> str:
    """Return the class of an edit: what goes, what comes; "" for another value."""
    return "gone" if line.startswith(GONE) else "come" if line.startswith(COME) else ""


def shade(timeline: Timeline, phase: str) -> int:
    """Return the number of a phase's colour."""
    return timeline.phases.index(phase) % _COLOURS


def lane_label(lane: Lane) -> str:
    """Say what the picture of a lane shows, for who cannot see it."""
    parts = (_bar_label(bar) for bar in lane.bars)
    return f"Attempt {lane.n}, {lane.word}: {', '.join(parts) or 'no phase seen'}"


def _bar_label(bar: Bar) -> str:
    took = f"{bar.phase.replace('_', ' ')} {span(bar.end - bar.start)}"
    return f"{took} (failed)" if bar.broken else took
