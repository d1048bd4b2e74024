"""The timeline drawn in letters: the phases of each launch, and its memory below, on one scale of time."""

from collections.abc import Mapping, Sequence

from relight.reports.blocks import Lane, Timeline
from relight.reports.timeline import peak
from relight.reports.times import span

_MOST = 10
_LEAST = 0.1
"""Seconds that a column stands for at least."""
_NOTHING, _BROKE = ".", "!"
_SPARE = "0123456789+*#@%"


def picture(part: Timeline, columns: int = 60) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what the letters mean, and the launches in letters, `columns` wide at most; () where one phase is all.

    A line of letters tells the phase of a launch over time, a line of digits below it the memory in use, in tenths of
    a card, where it was seen. Of many launches the last are drawn.
    """
    lanes = [lane for lane in part.lanes if lane.bars or _seen(lane)][-_MOST:]
    step = max(part.longest / columns, _LEAST)
    telling = len({bar.phase for lane in lanes for bar in lane.bars}) > 1 or any(map(_seen, lanes))
    if not telling or not part.longest:
        return (), ()
    letters = _letters(part.phases)
    full = part.total or max((used for lane in lanes for _, used in lane.memory), default=0)
    gutter = max(len(str(lane.n)) for lane in lanes)
    drawn = [line for lane in lanes for line in _lane(lane, letters, step, full, gutter)]
    memory = any(line.startswith(" " * gutter) for line in drawn)
    return (_legend(lanes, letters, step), *([_digits_mean(full)] if memory else [])), tuple(drawn)


def _legend(lanes: Sequence[Lane], letters: Mapping[str, str], step: float) -> str:
    named = ", ".join(f"{letter} {name.replace('_', ' ')}" for name, letter in letters.items())
    broke = f"; {_BROKE} where it broke" if any(bar.broken for lane in lanes for bar in lane.bars) else ""
    return f"One column is {span(step)}. {named or 'no phase was seen'}{broke}; {_NOTHING} in none of them (other)."


def _digits_mean(full: int) -> str:
    return f"Digits: GPU memory of the fullest card, in tenths of {full / 1024:.1f} GiB."


def _letters(phases: Sequence[str]) -> dict[str, str]:
    """Return a letter of its own for each phase: of its name where one is free."""
    found: dict[str, str] = {}
    for name in phases:
        wanted = [*name.replace("_", ""), *name.replace("_", "").upper(), *_SPARE]
        found[name] = next((letter for letter in wanted if letter not in found.values()), "?")
    return found


def _lane(lane: Lane, letters: Mapping[str, str], step: float, full: int, gutter: int) -> list[str]:
    lines = [f"{lane.n:>{gutter}}  {_phases(lane, letters, step)}"]
    memory = _digits(lane, step, full) if full and _seen(lane) else ""
    return [*lines, f"{'':>{gutter}}  {memory}"] if memory.strip(" 0") else lines


def _phases(lane: Lane, letters: Mapping[str, str], step: float) -> str:
    columns = range(max(1, int(lane.length // step) + 1))
    drawn = [_phase(lane, (column + 0.5) * step, letters) for column in columns]
    broken = next((bar for bar in lane.bars if bar.broken), None)
    if broken:
        at = min(int(broken.end // step), len(drawn))
        drawn[at : at + 1] = [_BROKE]
    return "".join(drawn)


def _phase(lane: Lane, at: float, letters: Mapping[str, str]) -> str:
    """Return the letter of the phase at a time: of two that overlap, the one that began last."""
    running = [bar for bar in lane.bars if bar.start <= at < bar.end]
    return letters[max(running, key=lambda bar: bar.start).phase] if running else _NOTHING


def _seen(lane: Lane) -> bool:
    return peak(lane) > 0


def _digits(lane: Lane, step: float, full: int) -> str:
    """Return the most that was in use in each step of time; between two samples the first of them holds."""
    out, held, samples = "", None, sorted(lane.memory)
    for column in range(int(lane.length // step) + 1):
        within = [used for at, used in samples if column * step <= at < (column + 1) * step]
        out += " " if held is None and not within else str(min(9, 10 * max([*within, held or 0]) // full))
        held = within[-1] if within else held
    return out.rstrip()
