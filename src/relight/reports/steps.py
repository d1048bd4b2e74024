"""The attempts of a run as steps: each beside the one before and the one that followed."""

from collections.abc import Sequence
from dataclasses import dataclass

from relight.reports.blocks import Edit
from relight.reports.edits import brief, diff, edits_of
from relight.words.attempt import Attempt, Record
from relight.words.diagnosis import Cause
from relight.words.settings import Change, Repair, Settings


@dataclass(frozen=True)
class Step:
    """One attempt, what it changed against the launch before it and against what was asked, and why.

    `reasons` are the repairs that are new in it, `moved` the levers whose variant changed.
    """

    attempt: Attempt
    before: Attempt | None
    edits: tuple[Edit, ...] = ()
    from_asked: tuple[Edit, ...] = ()
    reasons: tuple[Repair, ...] = ()
    moved: tuple[str, ...] = ()

    @property
    def in_words(self) -> str:
        """Return the change in its shortest form, one line each, as code."""
        return "\n".join(f"`{line}`" for line in brief(self.edits))


def steps(record: Record) -> tuple[Step, ...]:
    """Return the steps of a run. A refused candidate is compared with the launch it would have followed."""
    out: list[Step] = []
    launch: Attempt | None = None
    asked = asked_of(record)
    for attempt in record.attempts:
        before = launch or (out[0].attempt if out else None)
        out.append(_step(attempt, before, asked))
        launch = attempt if attempt.launched else launch
    return tuple(out)


def asked_of(record: Record) -> Settings:
    """Return the settings that were asked for; where a record does not say, those of the first attempt."""
    return record.asked or (record.attempts[0].settings if record.attempts else Settings())


def _step(attempt: Attempt, before: Attempt | None, asked: Settings) -> Step:
    if before is None:
        return Step(attempt, None, diff(asked, attempt.settings), reasons=attempt.changes)
    edits = diff(before.settings, attempt.settings)
    new = tuple(c for c in attempt.changes if c not in before.changes)
    moved = () if _all_repaired(before.settings, attempt.settings, new) else _moved(before, attempt)
    return Step(attempt, before, edits, diff(asked, attempt.settings), new, moved)


def _all_repaired(before: Settings, now: Settings, new: Sequence[Repair]) -> bool:
    """Say whether repairs explain every change: a lever whose variant one of them overwrites moved in name only."""
    repairs = [c for c in new if c.origin != "lever"]
    flags = {n for n in {*before.flags, *now.flags} if before.flags.get(n) != now.flags.get(n)}
    variables = {n for n in {*before.env, *now.env} if before.env.get(n) != now.env.get(n)}
    named = frozenset[str]().union(*(c.names for c in repairs))
    return bool(repairs) and flags <= named and variables <= frozenset[str]().union(*(c.variables for c in repairs))


def _moved(before: Attempt, now: Attempt) -> tuple[str, ...]:
    """Return the levers whose variant is another one, in words."""
    names = [n for n in dict.fromkeys((*before.choice, *now.choice)) if before.choice.get(n) != now.choice.get(n)]
    return tuple(f"{n} from {variant(before.choice.get(n))} to {variant(now.choice.get(n))}" for n in names)


def variant(position: int | None) -> str:
    """Return which variant of a lever is meant; positions count from 1, None is off."""
    return "off" if position is None else f"variant {position}"


def became(repair: Repair, settings: Settings, later: Sequence[Attempt]) -> Attempt | None:
    """Return the first of the `later` attempts that made this repair's edits, None if none did."""
    wanted = set(edits_of(repair, settings))
    for attempt in later:
        made = any(_same(repair, change) for change in attempt.changes)
        if made or wanted == set(diff(settings, attempt.settings)):
            return attempt
    return None


def _same(a: Change, b: Change) -> bool:
    return (dict(a.set), set(a.unset), dict(a.set_env), set(a.unset_env)) == (
        dict(b.set),
        set(b.unset),
        dict(b.set_env),
        set(b.unset_env),
    )


def first_alike(attempt: Attempt, earlier: Sequence[Attempt]) -> Attempt | None:
    """Return the first of the `earlier` attempts that failed in the same way."""
    cause = attempt.diagnosis.cause if attempt.diagnosis else None
    others = [(a, a.diagnosis.cause if a.diagnosis else None) for a in earlier]
    return next((a for a, other in others if cause and other and alike(other, cause)), None)


def alike(a: Cause, b: Cause) -> bool:
    """Say whether two causes are one failure."""
    return bool(a.fingerprint) and a.fingerprint == b.fingerprint
