"""Measure how soon the planner finds its way out of failures nobody can name, and what that gives up.

Run: `python benchmarks/planning_nameless.py [--spaces 100] [--levers 7] [--first 0]`. Exit status 1 if a bar is missed.
The logs are told to the real diagnosis.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import mean, median
from time import process_time
from typing import Any

from planning_spaces.nameless import BASE, Nameless, healthy, nameless

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.logs.lines import split
from relight.planning.plan import next_step
from relight.planning.world import World
from relight.words.argv import to_argv
from relight.words.attempt import Attempt, Outcome, Record
from relight.words.diagnosis import Diagnosis
from relight.words.parser import HostParser
from relight.words.playbook import Lever
from relight.words.settings import Settings
from relight.words.step import Launch, Reject

KNOWLEDGE = load_knowledge()
VERSION = "0.5.9"
MOST_STEPS = 80
MARKS = {
    "pools": (
        "Load weight begin. avail mem=93.00 GB",
        "Load weight end. type=Qwen3Next, avail mem=60.00 GB, mem usage=33.00 GB.",
        "KV Cache is allocated. #tokens: 400000, K size: 10 GB, V size: 10 GB",
    ),
    "capture": ("Capture cuda graph begin. This can take up to several minutes. avail mem=20.00 GB",),
    "warmup": (
        "Capture cuda graph end. Time elapsed: 20.00 s. mem usage=1.00 GB. avail mem=19.00 GB.",
        "Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)",
    ),
    "serving": ("The server is fired up and ready to roll!",),
}
PLACE = "/opt/venv/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py"
OUTCOMES: dict[str, Outcome] = {"crash": "crashed", "hang": "hung", "garbage": "sick"}
ENDS = {
    "one": ("run_event_loop", "RuntimeError: the step did not come out as expected"),
    "other": ("handle_batch", "RuntimeError: the state is not what it was"),
}


@dataclass(frozen=True)
class Run:
    """One run: how it ended, what it launched, what its last launch kept, and what could have been kept."""

    space: Nameless
    end: str
    launches: int
    kept: float
    best: float
    slowest: float


def main() -> int:
    """Print the table and the bars; return 1 if a bar is missed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--spaces", type=int, default=100)
    options.add_argument("--levers", type=int, default=7)
    options.add_argument("--first", type=int, default=0, help="the first seed: other spaces than those of the bars")
    given = options.parse_args()
    seeds = range(given.first, given.first + given.spaces)
    seven = [played(nameless(seed, given.levers)) for seed in seeds]
    often = [played(nameless(1000 + seed, given.levers, often=True)) for seed in seeds]
    many = [played(nameless(2000 + seed)) for seed in seeds]
    print(f"{'':44}{'healthy':>9}{'median':>8}{'p90':>6}{'max':>6}{'kept':>8}{'of best':>9}")
    _rows(f"{given.levers} levers, any at fault", seven)
    _rows(f"{given.levers} levers, the usual ones", often)
    _rows("5 to 10 levers", many)
    print("(kept: worth of the levers that are still as asked; of best: of what could have been kept)\n")
    return int(sum(not _bar(*bar) for bar in _bars(seven, often)) > 0)


def _rows(name: str, runs: Sequence[Run]) -> None:
    _row(name, runs)
    for how in ("one", "two", "pair", "base"):
        _row(f"    {how}", [r for r in runs if r.space.how == how])
    for symptom in ("crash", "hang", "garbage"):
        _row(f"    {symptom}", [r for r in runs if r.space.symptom == symptom])


def _row(name: str, runs: Sequence[Run]) -> None:
    if runs:
        counted = sorted(r.launches for r in runs)
        kept, best = mean(r.kept for r in runs), mean(min(1.0, r.kept / r.best) for r in runs if r.best)
        numbers = f"{median(counted):>8g}{_p90(counted):>6}{counted[-1]:>6}"
        print(f"{name:44}{mean(r.end == 'healthy' for r in runs):>9.0%}{numbers}{kept:>8.1%}{best:>9.1%}")


def _p90(numbers: Sequence[int]) -> int:
    return sorted(numbers)[int(0.9 * (len(numbers) - 1))]


def _bars(seven: Sequence[Run], often: Sequence[Run]) -> Iterable[tuple[str, float, str, float]]:
    yield "launches to healthy, median", median(r.launches for r in seven), "<=", 5
    yield "launches to healthy, p90", _p90([r.launches for r in seven]), "<=", 12
    yield "the usual ones at fault, median", median(r.launches for r in often), "<=", 7
    yield "healthy, %", 100 * mean(r.end == "healthy" for r in seven), ">=", 100
    yield "kept of what could be, %", 100 * mean(min(1.0, r.kept / r.best) for r in seven if r.best), ">=", 92
    yield "slowest step, ms", 1000 * max(r.slowest for r in seven), "<=", 200


def _bar(name: str, value: float, op: str, limit: float) -> bool:
    met = value <= limit if op == "<=" else value >= limit
    print(f"{'ok  ' if met else 'MISS'} {name:44}{value:>8.2f} ({op} {limit:g})")
    return met


def played(space: Nameless) -> Run:
    """Play a run until it is healthy or over."""
    parser = KNOWLEDGE.versions[VERSION]
    world = World(parser=parser, version=VERSION, knowledge=KNOWLEDGE, load_seconds=600.0)
    attempts: list[Attempt] = []
    end, slowest = "no end", 0.0
    for n in range(1, MOST_STEPS + 1):
        began = process_time()
        step = next_step(Record("r", "f", "p", "h", ("h",), attempts=tuple(attempts)), space.playbook, world).step
        slowest = max(slowest, process_time() - began)
        if not isinstance(step, Launch | Reject):
            end = type(step).__name__.lower()
            break
        attempts.append(_attempt(n, step, space, parser))
        if attempts[-1].outcome == "healthy":
            end = "healthy"
            break
    launched = [a for a in attempts if a.launched]
    return Run(space, end, len(launched), _kept(space, launched[-1].settings), _best(space), slowest)


def _attempt(n: int, step: Launch | Reject, space: Nameless, parser: HostParser) -> Attempt:
    made, met = step.candidate, [g for g in space.guilts if g.met(step.candidate.settings.flags)]
    if isinstance(step, Reject):
        return Attempt(n, step.rung, made.settings, changes=made.changes, choice=made.choice, outcome="rejected")
    order = list(MARKS)
    first = min(met, key=lambda g: order.index(g.phase), default=None)
    found = diagnosed(space.symptom, first.print, first.phase, made.settings, parser) if first else None
    outcome = OUTCOMES[space.symptom] if first else "healthy"
    return Attempt(n, step.rung, made.settings, changes=made.changes, choice=made.choice, diagnosis=found,
                   outcome=outcome)  # fmt: skip


def diagnosed(symptom: str, print_: str, phase: str, settings: Settings, parser: HostParser) -> Diagnosis:
    """Return what the real diagnosis says of a log that names nothing."""
    order = list(MARKS)
    seen = [line for name in order[: order.index(phase) + 1] for line in MARKS[name]]
    log = [f"[2026-03-01 10:00:{i:02} TP0] {line}" for i, line in enumerate(seen)]
    text = "\n".join([*log, *_last_words(symptom, print_, phase), ""])
    return diagnose(split([text.encode()]), KNOWLEDGE, name="log", argv=to_argv(settings.flags, parser),
                    env=settings.env)  # fmt: skip


def _last_words(symptom: str, print_: str, phase: str) -> list[str]:
    if symptom == "garbage":
        return ["relight: sick: numerics.garbage: plain question: language salad"]
    if symptom == "hang":
        return [f"relight: hung: {phase}: silent for 900 s and no sign of life"]
    where, message = ENDS[print_]
    return ["Traceback (most recent call last):", f'  File "{PLACE}", line 700, in {where}', "    step()", message]


def _kept(space: Nameless, settings: Settings) -> float:
    """Return the share of the levers' worth that settings hold."""
    levers = space.playbook.levers
    return sum(_held(lever, settings.flags) for lever in levers) / sum(lever.keep for lever in levers)


def _held(lever: Lever, flags: Any) -> float:
    for j, variant in enumerate(lever.variants):
        first = variant.first_flag
        if first and all(flags.get(n) == v for n, v in variant.flags.items()):
            return lever.keep * (1 - j / len(lever.variants))
    return 0.0


def _best(space: Nameless) -> float:
    """Return the most that healthy settings can keep, base flags left out of the sum."""
    best = 0.0
    for choice in product(*(range(len(lever.variants)) for lever in space.playbook.levers)):
        flags: dict[str, Any] = {} if space.how == "base" else dict(BASE)
        for lever, position in zip(space.playbook.levers, choice, strict=True):
            flags.update(lever.variants[position].flags)
        if healthy(space, flags):
            best = max(best, _kept(space, Settings(flags)))
    return best


if __name__ == "__main__":
    sys.exit(main())
