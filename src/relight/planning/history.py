"""What the attempts of a run say, before anything is concluded from them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from relight.planning.equal import Key, equal_resolved, key
from relight.planning.ground import Ground
from relight.planning.names import View
from relight.words.attempt import Attempt, Record
from relight.words.diagnosis import Cause
from relight.words.settings import Repair, Settings
from relight.words.step import Answer, Candidate

FAILED = frozenset({"crashed", "hung", "sick", "rejected"})
TRANSIENT = frozenset({"again", "clean"})
PORT = "comm.port_in_use"
WEIGHTS = "oom.gpu.weights"
WEIGHT_KINDS = frozenset({"model.weights", "model.quantization", WEIGHTS})
TRIES_UNCHANGED = 2


@dataclass(frozen=True)
class History:
    """The attempts of a run under the host's parser."""

    record: Record
    ground: Ground
    _views: dict[int, View] = field(default_factory=dict, compare=False)

    def view(self, attempt: Attempt) -> View:
        """Return an attempt's settings as they are compared."""
        if attempt.n not in self._views:
            self._views[attempt.n] = self.ground.names.view(attempt.settings)
        return self._views[attempt.n]

    def key(self, attempt: Attempt) -> Key:
        """Return what equal attempts share."""
        return self.view(attempt).key

    @cached_property
    def phases(self) -> dict[str, int]:
        """Return the phases of a start in their order."""
        ordered = dict.fromkeys(p.phase for p in self.ground.world.knowledge.phases)
        return {phase: i for i, phase in enumerate(ordered)}

    @cached_property
    def launches(self) -> tuple[Attempt, ...]:
        """Return the attempts that cost a launch."""
        return tuple(a for a in self.record.attempts if a.launched)

    @cached_property
    def ended(self) -> tuple[Attempt, ...]:
        """Return the attempts that have an outcome and were not broken off."""
        return tuple(a for a in self.record.attempts if a.outcome in FAILED | {"healthy"})

    @property
    def last(self) -> Attempt | None:
        """Return the last attempt that ended by itself."""
        return self.ended[-1] if self.ended else None

    @cached_property
    def failures(self) -> tuple[Attempt, ...]:
        """Return the attempts whose failure would come again with the same settings."""
        failed = (a for a in self.ended if a.outcome in FAILED)
        return tuple(a for a in failed if not self._passing(a) and not of_dummy_weights(a))

    def _passing(self, attempt: Attempt) -> bool:
        """Say whether a failure may pass by itself: transient, and not yet seen too often with the same settings.

        What came back every time with some settings does not pass with others either.
        """
        if not transient(attempt) or (attempt is self.last and self.port_is_foreign(attempt)):
            return False
        before = (a for a in self.ended if a.n < attempt.n)
        lasted = Counter(self.key(a) for a in before if transient(a) and _alike(a, attempt))
        same = [a for a in self.ended if transient(a) and self.key(a) == self.key(attempt)]
        return max(len(same), *lasted.values(), 0) <= TRIES_UNCHANGED

    def port_is_foreign(self, attempt: Attempt) -> bool:
        """Say whether an attempt met a port that a process not ours listens on."""
        cause = attempt.diagnosis.cause if attempt.diagnosis else None
        return cause is not None and cause.kind == PORT and self.ground.world.port_holder != ""

    @cached_property
    def tried(self) -> dict[Key, tuple[Attempt, ...]]:
        """Return the settings that are known to fail because they were tried, with their attempts."""
        found: dict[Key, tuple[Attempt, ...]] = {}
        for attempt in self.failures:
            found[self.key(attempt)] = (*found.get(self.key(attempt), ()), attempt)
        return found

    @cached_property
    def rejected(self) -> frozenset[Key]:
        """Return the settings that are on record as refused before launch."""
        return frozenset(self.key(a) for a in self.failures if a.outcome == "rejected")

    @cached_property
    def healthy(self) -> tuple[Attempt, ...]:
        """Return the attempts that ended healthy."""
        return tuple(a for a in self.ended if a.outcome == "healthy" and a.rung == "real")

    def candidate(self, attempt: Attempt) -> Candidate:
        """Return an attempt's settings as something to launch once more."""
        return Candidate(attempt.settings, attempt.choice, attempt.changes, 0.0, attempt.alters_answers)

    @cached_property
    def answers(self) -> dict[Key, Answer]:
        """Return what the host's validation said, by settings."""
        return {key(s, self.ground.world.parser): answer for s, answer in self.ground.world.answers}

    def resolved_as(self, settings: Settings) -> Attempt | None:
        """Return the failed launch that the engine resolves to the same as `settings`, if validation shows one."""
        parser = self.ground.world.parser
        answer = self.answers.get(key(settings, parser))
        if answer is None or not answer.resolved:
            return None
        return next((a for a in self.failures if a.launched and self._same(a, settings, answer)), None)

    def _same(self, attempt: Attempt, settings: Settings, answer: Answer) -> bool:
        theirs = self.answers.get(self.key(attempt))
        mine = (settings, answer.resolved)
        parser = self.ground.world.parser
        return theirs is not None and equal_resolved((attempt.settings, theirs.resolved), mine, parser)


def history_of(record: Record, ground: Ground) -> History:
    """Return the history of a record on a ground that knows which repairs got past a failure."""
    history = History(record, ground)
    return replace(history, ground=ground.with_helped(_helped(history)))


def _helped(history: History) -> Iterator[Repair]:
    """Yield the repairs that give up nothing and were all that changed before another failure came, no earlier."""
    for attempt in history.failures:
        proposed = attempt.diagnosis.repairs if attempt.diagnosis and attempt.launched else ()
        for repair in (r for r in proposed if not r.gives_up):
            wanted = key(attempt.settings.changed(repair), history.ground.world.parser)
            tries = [a for a in (*history.tried.get(wanted, ()), *history.healthy) if history.key(a) == wanted]
            if any(_went_further(attempt, later, history) for later in tries):
                yield repair


def _went_further(attempt: Attempt, later: Attempt, history: History) -> bool:
    if not later.launched or later.outcome == "healthy":
        return later.outcome == "healthy"
    return not _alike(attempt, later) and reached(later, history) >= reached(attempt, history) >= 0


def _alike(one: Attempt, other: Attempt) -> bool:
    causes = [a.diagnosis.cause for a in (one, other) if a.diagnosis]
    prints = [c.fingerprint for c in causes if c]
    return len(prints) == 2 and prints[0] == prints[1] != ""


def reached(attempt: Attempt, history: History) -> int:
    """Return how far a start got, as the number of the phase it failed in; -1 where that is not known."""
    cause = attempt.diagnosis.cause if attempt.diagnosis else None
    return history.phases.get((cause.phase if cause else None) or "", -1)


def of_dummy_weights(attempt: Attempt) -> bool:
    """Say whether a launch with dummy weights failed of the weights: that says nothing about the real ones."""
    if attempt.rung != "dummy":
        return False
    cause = attempt.diagnosis.cause if attempt.diagnosis else None
    return attempt.outcome == "sick" or (cause is not None and of_weights(cause))


def of_weights(cause: Cause) -> bool:
    """Say whether a failure depends on what the weights hold."""
    return cause.alters_weights or cause.family == "numerics" or cause.kind in WEIGHT_KINDS


def transient(attempt: Attempt) -> bool:
    """Say whether an attempt failed of something that can pass by itself.

    A silent hang never does; one that was seen in the process table, and so is named by a remark, may.
    """
    if attempt.outcome not in {"crashed", "hung"} or attempt.diagnosis is None:
        return False
    cause = attempt.diagnosis.cause
    seen = cause is not None and cause.text in attempt.remarks
    return attempt.diagnosis.action in TRANSIENT and (attempt.outcome == "crashed" or seen)


def trailing(attempts: Sequence[Attempt], history: History) -> tuple[Attempt, ...]:
    """Return the transient failures of the last attempt's settings that stand unbroken at the end."""
    found: list[Attempt] = []
    for attempt in reversed(attempts):
        if not transient(attempt) or (found and history.key(attempt) != history.key(found[0])):
            break
        found.append(attempt)
    return tuple(found)
