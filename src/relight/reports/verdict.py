"""The verdict of a run in one word and one sentence."""

from relight.reports.blocks import Prose, Tone
from relight.reports.prose import capital, count, listed, outcome, prose, why_failed
from relight.words.attempt import Attempt, LeverState, Record, State

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
_TONES: dict[State, Tone] = {
    "healthy": "good",
    "failed": "bad",
    "exhausted": "bad",
    "person": "bad",
    "running": "plain",
}


def word_of(record: Record) -> str:
    """Return the verdict in a word or two."""
    return _WORDS[record.state]


def tone_of(record: Record) -> Tone:
    """Return the tone of the verdict."""
    return _TONES.get(record.state, "warn")


def verdict(record: Record) -> Prose:
    """Return the verdict in one sentence."""
    tellers = {"healthy": _healthy, "failed": _failed, "exhausted": _exhausted, "running": _running}
    teller = tellers.get(record.state)
    return prose(teller(record) if teller else _stopped(record))


def last_launch(record: Record) -> Attempt | None:
    """Return the last attempt that was launched, else the last attempt, else None."""
    launches = [a for a in record.attempts if a.launched]
    return (launches or list(record.attempts) or [None])[-1]  # type: ignore[list-item]


def furthest(record: Record) -> Attempt | None:
    """Return the launch that got through most phases, the later of two equals; None if nothing was launched."""
    launches = [a for a in record.attempts if a.launched]
    return max(launches, key=lambda a: (len(a.phases), a.n), default=None)


def _launches(record: Record) -> str:
    return count(sum(a.launched for a in record.attempts), "launch", "launches")


def _healthy(record: Record) -> str:
    levers = record.final.levers if record.final else ()
    text = f"The server answers correctly after {_launches(record)}"
    return f"{text}{_levers_in_words(levers)}{_doubt(record)}."


def _levers_in_words(levers: tuple[LeverState, ...]) -> str:
    idle = [lever.name for lever in levers if lever.kept is not None and lever.in_effect is False]
    said = f"; {listed(idle)} {'is' if len(idle) == 1 else 'are'} asked for and not in effect" if idle else ""
    return f"{_kept_in_words(levers)}{said}"


def _kept_in_words(levers: tuple[LeverState, ...]) -> str:
    lost = [lever.name for lever in levers if lever.requested is not None and lever.kept is None]
    wanted = sum(lever.requested is not None for lever in levers)
    if not wanted:
        return ""
    if not lost:
        return ", with every lever kept" if wanted > 1 else f", with the lever {levers[0].name} kept"
    return f", keeping {wanted - len(lost)} of {count(wanted, 'lever')}: {listed(lost)} had to go"


def _doubt(record: Record) -> str:
    """Say that answers may differ from what was asked for, which a healthy server does not show."""
    final = next((a for a in reversed(record.attempts) if a.outcome == "healthy"), None)
    return "; one change made on the way can alter answers" if final and final.alters_answers else ""


def _failed(record: Record) -> str:
    attempt = last_launch(record)
    if attempt is None:
        return _stopped(record)
    return f"The launch {_ended(attempt)}: {_cause(attempt)}."


def _ended(attempt: Attempt) -> str:
    return {"sick": "gave wrong answers", "rejected": f"was {outcome(attempt)}"}.get(
        attempt.outcome or "", outcome(attempt)
    )


def _cause(attempt: Attempt) -> str:
    said = why_failed(attempt.diagnosis) or next(iter(attempt.judged), "") or "no cause is known"
    return said.rstrip(".")


def _exhausted(record: Record) -> str:
    attempt = furthest(record)
    tail = (
        f" The launch that got furthest (attempt {attempt.n}) {_ended(attempt)}: {_cause(attempt)}." if attempt else ""
    )
    return f"No settings within the playbook's limits work: {_launches(record)}, none healthy.{tail}"


def _running(record: Record) -> str:
    attempt = last_launch(record)
    where = (
        f"attempt {attempt.n} is in phase {attempt.phases[-1].name.replace('_', ' ')}"
        if (attempt and attempt.phases)
        else "nothing has been launched yet"
    )
    return f"The run goes on: {where}."


def _stopped(record: Record) -> str:
    said = record.reason.partition(AND_NEXT)[0].strip().rstrip(".")
    attempt = last_launch(record)
    if said and record.state == "budget" and attempt:
        return f"{capital(said)}. The last launch (attempt {attempt.n}) {_ended(attempt)}: {_cause(attempt)}."
    if not said and attempt and attempt.outcome not in {None, "healthy"}:
        said = f"the last launch {_ended(attempt)}: {_cause(attempt)}"
    return f"{capital(said)}." if said else f"{_WORDS[record.state]} after {_launches(record)}."
