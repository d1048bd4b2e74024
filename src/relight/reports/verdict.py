"""The verdict of a run in one word and one sentence."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from textwrap import shorten

from relight.reports.blocks import Prose, Tone
from relight.reports.culprit import of_the_whole_run
from relight.reports.price import price
from relight.reports.prose import REFUSED, broke_in, capital, count, numbered, outcome, prose, why_failed
from relight.reports.timeline import lane
from relight.reports.times import span
from relight.words.attempt import Attempt, Record, State

_WORDS: dict[State, str] = {
    "running": "Running",
    "healthy": "Healthy",
    "failed": "Failed",
    "exhausted": "Every option was tried",
    "budget": "Budget spent",
    "person": "Needs a person",
    "busy": "Busy",
    "unreachable": "Host unreachable",
    "interrupted": "Interrupted",
    "replaced": "Replaced",
}
AND_NEXT = "; next: "
"""What stands in a reason before the step that would come next."""
_LONGEST = 92
"""Characters of a cause in a verdict, which has two lines; what is longer is told with its attempt."""
_ALONE = 170
_TIME = re.compile(r"(\d+(?:\.\d+)?) s are over")
_TONES: dict[State, Tone] = {
    "healthy": "good",
    "failed": "bad",
    "exhausted": "bad",
    "person": "bad",
    "running": "plain",
}


def word_of(record: Record) -> str:
    """Return the verdict in a few words."""
    return f"{_WORDS[record.state]}, at a price" if _has_a_price(record) else _WORDS[record.state]


def tone_of(record: Record) -> Tone:
    """Return the tone of the verdict."""
    return _TONES.get(record.state, "warn")


def _has_a_price(record: Record) -> bool:
    return record.state == "healthy" and bool(price(record))


def verdict(record: Record) -> Prose:
    """Return the verdict in one sentence."""
    tellers = {"healthy": _healthy, "failed": _failed, "exhausted": _exhausted, "running": _running}
    teller = tellers.get(record.state)
    return prose(teller(record) if teller else _stopped(record))


def last_launch(record: Record) -> Attempt | None:
    """Return the last attempt that was launched, else the last attempt, else None."""
    launches = [a for a in record.attempts if a.launched]
    return (launches or list(record.attempts) or [None])[-1]  # type: ignore[list-item]


def furthest(record: Record) -> Sequence[Attempt]:
    """Return the launches that reached the latest phase, in their order; () if nothing was launched."""
    launches = [a for a in record.attempts if a.launched]
    reached = _progress(launches)
    most = max(reached.values(), default=None)
    return [a for a in launches if reached[a.n] == most]


def progress(record: Record) -> Mapping[int, tuple[bool, int]]:
    """Return how far each launch that ended by itself got, by its number: what is greater got further."""
    return _progress([a for a in record.attempts if a.launched and a.outcome not in {"aborted", None}])


def _progress(launches: Sequence[Attempt]) -> Mapping[int, tuple[bool, int]]:
    """Return how far each launch got, by the phases that a report shows of it.

    One that answered, if wrongly, got further than any that ended before.
    """
    starts = {a.n: [bar.phase for bar in lane(a).bars] for a in launches}
    ranks = _ranks(list(starts.values()))
    answered = {a.n: a.outcome in {"healthy", "sick"} for a in launches}
    return {n: (answered[n], max((ranks[name] for name in names), default=0)) for n, names in starts.items()}


def _ranks(starts: Sequence[Sequence[str]]) -> Mapping[str, int]:
    """Return how late each phase comes: a start may pass one over, so what any start shows of the order counts."""
    ranks = {name: 1 for names in starts for name in names}
    for _ in ranks:
        for names in starts:
            for before, after in pairwise(dict.fromkeys(names)):
                ranks[after] = min(max(ranks[after], ranks[before] + 1), len(ranks))
    return ranks


def _launches(record: Record) -> str:
    return count(sum(a.launched for a in record.attempts), "launch", "launches")


def _healthy(record: Record) -> str:
    text = f"The server answers correctly after {_launches(record)}"
    costs, died = price(record), len(record.incidents)
    found = of_the_whole_run(record)
    blame = f" {found.said}" if found else ""
    since = f"{blame} Since it was first healthy it failed {_times(died)} and was brought back." if died else blame
    return f"{text}, at a price: {'; '.join(costs)}.{since}" if costs else f"{text}{_as_asked(record)}.{since}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _as_asked(record: Record) -> str:
    levers = [lever for lever in (record.final.levers if record.final else ()) if lever.requested is not None]
    if not levers:
        return ""
    return ", with every lever as asked" if len(levers) > 1 else f", with the lever {levers[0].name} as asked"


def _failed(record: Record) -> str:
    attempt = last_launch(record)
    if attempt is None:
        return _stopped(record)
    return f"The launch {_ended(attempt)}: {_cause(attempt, _ALONE)}"


def _ended(attempt: Attempt) -> str:
    died = "was healthy, then died" if attempt.diagnosis else "was healthy"
    word = outcome(attempt)
    told = {"healthy": died, "wrong answers": "gave wrong answers", REFUSED: f"was {word}"}
    return told.get(word, word)


def _cause(attempt: Attempt, longest: int = _LONGEST) -> str:
    """Return the cause up to its full stop, cut to what two lines hold beside the rest of a verdict."""
    said = why_failed(attempt.diagnosis) or next(iter(attempt.judged), "") or "no cause is known"
    text = shorten(said.rstrip("."), longest, placeholder=" ...")
    return text if text.endswith("...") else f"{text}."


def _exhausted(record: Record) -> str:
    best = furthest(record)
    tail = f" {_of_the_best(record, best)}: {_cause(best[-1])}" if best else ""
    return f"No settings within the playbook's limits work: {_launches(record)}, none healthy.{tail}"


def _of_the_best(record: Record, best: Sequence[Attempt]) -> str:
    """Say which launches got furthest, where some got further than others, and how the last of them ended."""
    last, launches = best[-1], [a for a in record.attempts if a.launched]
    where = f" in phase {broke_in(last).replace('_', ' ')}" if broke_in(last) else ""
    alike = {(_ended(a), broke_in(a)) for a in best} == {(_ended(last), broke_in(last))}
    if len(best) == len(launches):
        who = (
            {1: "The launch", 2: "Both"}.get(len(best), f"All {len(best)}") if alike else f"The last, attempt {last.n},"
        )
        return f"{who} {_ended(last)}{where}"
    if len(best) == 1 or not alike:
        return f"Attempt {last.n} got {'furthest' if len(best) == 1 else 'as far as any'} and {_ended(last)}{where}"
    which = numbered(f"attempts {', '.join(str(a.n) for a in best)}")
    return f"{capital(which)} got furthest and {_ended(last)}{where}"


def _running(record: Record) -> str:
    attempt = last_launch(record)
    if attempt is None or not attempt.launched:
        where = "nothing has been launched yet"
    elif attempt.outcome:
        where = f"attempt {attempt.n} {_ended(attempt)}, and the next step is being chosen"
    elif attempt.phases:
        where = f"attempt {attempt.n} is in phase {attempt.phases[-1].name.replace('_', ' ')}"
    else:
        where = f"attempt {attempt.n} begins"
    return f"The run goes on: {where}."


def out_of_time(record: Record) -> float:
    """Return the seconds that a run was allowed and has used; 0 where something else ended it."""
    found = _TIME.match(record.reason)
    return float(found[1]) if found and record.state == "budget" else 0.0


def _stopped(record: Record) -> str:
    said = record.reason.partition(AND_NEXT)[0].strip().rstrip(".")
    allowed = out_of_time(record)
    said = f"the time allowed, {span(allowed)}, is over" if allowed else said
    attempt = last_launch(record)
    if said and record.state == "budget" and attempt:
        return f"{capital(said)}. The last launch, attempt {attempt.n}, {_ended(attempt)}: {_cause(attempt)}"
    if not said and attempt and attempt.outcome not in {None, "healthy"}:
        said = f"the last launch {_ended(attempt)}: {_cause(attempt, _ALONE)}".removesuffix(".")
    said = said if said.endswith("...") or not said else f"{said}."
    launched = any(a.launched for a in record.attempts)
    after = f"after {_launches(record)}" if launched else "before anything was launched"
    return capital(said) if said else f"{_WORDS[record.state]} {after}."
