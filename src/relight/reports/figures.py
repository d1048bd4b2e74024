"""What was measured on the way of a healthy server, and how often it died since."""

import re
from math import isfinite

from relight.reports.blocks import Pairs, Prose, Table
from relight.reports.prose import count, sentence
from relight.reports.times import moment, span
from relight.reports.world import stand_in
from relight.words.attempt import Record

_TOGETHER = re.compile(r"tokens_per_second_(\d+)")
_NAMED = {
    "tokens_per_second": ("one stream", "{:.0f} tokens/s at best"),
    "time_to_first_token": ("first token", "after {:.3f} s"),
    "accept_length": ("speculation", "{:.2f} tokens accepted per step"),
}

_SOURCE = "the judge's questions to a server just started; no benchmark"


def figures_block(record: Record) -> Pairs | None:
    """Return how fast the healthy server was; None where nothing was measured. It is no benchmark, and says so."""
    attempt = next((a for a in reversed(record.attempts) if a.outcome == "healthy" and a.measured), None)
    if attempt is None:
        return None
    known = {name: figure for name, figure in attempt.measured.items() if isfinite(figure)}
    told = sorted(row for name, figure in known.items() if (row := _told(name, figure)))
    if not told:
        return None
    source = "a simulated host: nothing about real cards" if stand_in(record) else _SOURCE
    return Pairs((*((name, (said,)) for _, name, said in told), ("taken from", (source,))))


def _told(name: str, figure: float) -> tuple[int, str, str] | None:
    if name in _NAMED:
        label, form = _NAMED[name]
        return list(_NAMED).index(name), label, form.format(figure)
    together = _TOGETHER.fullmatch(name)
    if not together:
        return None
    number = int(together[1])
    return 10 + number, count(number, "request") + " at once", f"{figure:.0f} tokens/s together"


def incidents_table(record: Record) -> Table | None:
    """Return each death of a server that had been healthy; None where there was none."""
    rows: list[tuple[Prose, ...]] = [
        ((str(i.attempt),), (moment(i.at),), (span(i.healthy) or "-",), sentence(i.why)) for i in record.incidents
    ]
    return Table("A healthy server that died", ("#", "when", "healthy for", "why"), tuple(rows)) if rows else None
