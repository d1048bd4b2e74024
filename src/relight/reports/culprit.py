"""What a run has shown to be to blame: the one thing in which a healthy launch differs from one that failed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relight.reports.edits import COME, GONE, brief, diff, in_a_sentence
from relight.reports.price import healthy_attempt
from relight.reports.prose import listed
from relight.reports.steps import alike
from relight.words.attempt import Attempt, Outcome, Record
from relight.words.settings import Settings

_FEW = 3
_ENDS: Mapping[Outcome | None, str] = {"crashed": "the crash", "hung": "the hang", "sick": "the wrong answers"}
_OF_ITSELF = {"again", "clean", "person"}


@dataclass(frozen=True)
class Culprit:
    """What differs between a launch that `failed` and the one that is `healthy`, while nothing else does.

    `was` names what the failed one had, `took` what it lacked: one of them is empty. `names` are the settings it is
    about; of `several` each alone may have been enough.
    """

    was: str
    took: str
    failed: Attempt
    healthy: Attempt
    names: frozenset[str]
    several: bool = False

    @property
    def said(self) -> str:
        """Return it as a sentence, with what shows it."""
        among = "is among" if self.several else "is"
        head = (
            f"To blame for {_ENDS.get(self.failed.outcome, 'it')} {among} {self.was}"
            if self.was
            else f"What it took {among} {self.took}"
        )
        return f"{head}: {self.why}."

    @property
    def why(self) -> str:
        """Return what shows it."""
        return f"attempt {self.healthy.n} differs from attempt {self.failed.n} in nothing else, and is healthy"


def culprit(record: Record) -> Culprit | None:
    """Return what is to blame for the last failure that one change mended; None where no pair of launches shows it."""
    healthy = healthy_attempt(record)
    failed = [a for a in record.attempts if healthy and a.n < healthy.n and _by_its_settings(a)]
    found = [one for a in failed if healthy and (one := _between(a, healthy))]
    return min(found, key=lambda one: len(one.names), default=None)


def culprit_of(attempt: Attempt, record: Record) -> Culprit | None:
    """Return what is to blame for the failure of an attempt.

    Its own pair with the healthy launch shows it, else another's of the same failure where the attempt has it too.
    """
    healthy = healthy_attempt(record)
    own = _between(attempt, healthy) if healthy and attempt.n < healthy.n and _by_its_settings(attempt) else None
    found = own if own and not own.several else culprit(record)
    # What mended one failure after the other cannot be told apart by the first and the last of them.
    if found is None or (found.several and found != of_the_whole_run(record)):
        return None
    same = _one_failure(attempt, found.failed)
    return found if same and all(_held(attempt, n) == _held(found.failed, n) for n in found.names) else None


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
    if not names:
        return None
    moved = [n for n in failed.choice if failed.choice[n] != healthy.choice.get(n)]
    if len(moved) == 1 and not names & _repaired(failed, healthy):
        return Culprit(f"the lever {moved[0]} as it was", "", failed, healthy, names)
    edits = brief(diff(failed.settings, healthy.settings))
    return _of_few(edits, failed, healthy, names) if len(edits) <= _FEW else None


def _of_few(edits: Sequence[str], failed: Attempt, healthy: Attempt, names: frozenset[str]) -> Culprit:
    """Return what the edits between two launches say: what was there before, else what was added."""
    came = [f"`{e.removeprefix(COME)}`" for e in edits if e.startswith(COME)]
    was = [f"`{e.removeprefix(GONE).partition(' -> ')[0]}`" for e in edits if not e.startswith(COME)]
    if not came:
        return Culprit(listed(was), "", failed, healthy, names, len(edits) > 1)
    got = [f"`{e}`" if " -> " in e else in_a_sentence(e) for e in edits]
    return Culprit("", listed(got), failed, healthy, names, len(edits) > 1)


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
