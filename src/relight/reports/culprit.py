"""What a run has shown to be to blame: the one thing in which a healthy launch differs from one that failed."""

from dataclasses import dataclass

from relight.reports.edits import COME, GONE, brief, diff
from relight.reports.price import healthy_attempt
from relight.reports.steps import alike
from relight.words.attempt import Attempt, Record
from relight.words.settings import Settings

_OF_ITSELF = {"again", "clean", "person"}


@dataclass(frozen=True)
class Culprit:
    """What differs, as `what`, between a launch that `failed` and the one that is `healthy`, and nothing else does.

    `names` are the settings it is about.
    """

    what: str
    failed: Attempt
    healthy: Attempt
    names: frozenset[str]

    @property
    def why(self) -> str:
        """Return what shows it."""
        return f"attempt {self.healthy.n} differs from attempt {self.failed.n} in nothing else, and is healthy"


def culprit(record: Record) -> Culprit | None:
    """Return what is to blame for the last failure that one change mended; None where no pair of launches shows it."""
    healthy = healthy_attempt(record)
    failed = [a for a in record.attempts if healthy and a.n < healthy.n and _by_its_settings(a)]
    found = (_between(a, healthy) for a in failed if healthy)
    return next((one for one in found if one), None)


def culprit_of(attempt: Attempt, record: Record) -> Culprit | None:
    """Return what is to blame for the failure of an attempt: it is that of the pair, and the attempt has it too."""
    found = culprit(record)
    if found is None or not _one_failure(attempt, found.failed):
        return None
    return found if all(_held(attempt, n) == _held(found.failed, n) for n in found.names) else None


def of_the_whole_run(record: Record) -> Culprit | None:
    """Return what is to blame where every launch that failed shows the same failure."""
    found = culprit(record)
    failed = [a for a in record.attempts if a.launched and a.outcome not in {"healthy", "aborted", None}]
    return found if found and all(_one_failure(a, found.failed) for a in failed) else None


def _by_its_settings(attempt: Attempt) -> bool:
    """Say whether an attempt failed of what it was given, as far as its diagnosis tells."""
    found = attempt.diagnosis
    own = attempt.launched and attempt.outcome not in {"healthy", "aborted", None}
    return bool(own and found and found.cause and found.action not in _OF_ITSELF)


def _one_failure(one: Attempt, other: Attempt) -> bool:
    causes = [a.diagnosis.cause if a.diagnosis else None for a in (one, other)]
    return causes[0] is not None and causes[1] is not None and alike(causes[0], causes[1])


def _between(failed: Attempt, healthy: Attempt) -> Culprit | None:
    names = _names(failed.settings, healthy.settings)
    if len(names) == 1:
        edit = brief(diff(failed.settings, healthy.settings))[0]
        return Culprit(_said(edit), failed, healthy, names)
    moved = [n for n in failed.choice if failed.choice[n] != healthy.choice.get(n)]
    if len(moved) == 1 and names and not names & _repaired(failed, healthy):
        return Culprit(f"the lever {moved[0]} as it was", failed, healthy, names)
    return None


def _repaired(one: Attempt, other: Attempt) -> frozenset[str]:
    """Return what repairs touched that only one of two attempts has."""
    sides = ((one.changes, other.changes), (other.changes, one.changes))
    own = [c for mine, theirs in sides for c in mine if c not in theirs and c.origin != "lever"]
    return frozenset(n for repair in own for n in (*repair.names, *repair.variables))


def _names(one: Settings, other: Settings) -> frozenset[str]:
    sides = ((one.flags, other.flags), (one.env, other.env))
    return frozenset(n for a, b in sides for n in {*a, *b} if (n in a, a.get(n)) != (n in b, b.get(n)))


def _held(attempt: Attempt, name: str) -> object:
    return attempt.settings.flags.get(name, attempt.settings.env.get(name))


def _said(edit: str) -> str:
    """Return what was wrong before an edit: a value, a setting that was there, or one that was missing."""
    if edit.startswith(COME):
        return f"that `{edit.removeprefix(COME)}` was not given"
    return f"`{edit.removeprefix(GONE).partition(' -> ')[0]}`"
