"""Failures that no change of settings is for: what passes by itself, what must be cleared, what needs a person."""

from relight.planning.ground import Ground
from relight.planning.history import PORT, TRIES_UNCHANGED, History, trailing, transient
from relight.words.attempt import Attempt
from relight.words.diagnosis import Cause
from relight.words.signature import Signature
from relight.words.step import Clean, Launch, Person, Step, Wait

MEMORY = "oom.gpu.other_process"
FOR_A_PERSON = frozenset({
    "model.auth", "model.not_found", "model.config", "env.disk", "env.permission", "env.network", "env.version",
    "env.abi", "env.import", "env.driver", "env.toolchain", "hardware.xid", "hardware.ecc", "hardware.pcie",
    MEMORY, PORT,
})  # fmt: skip


def again(history: History) -> Step | None:
    """Return the step after a transient failure: wait or clean, then the same settings, at most twice unchanged."""
    last = history.last
    if last is None or not transient(last) or foreign_port(history) or last in history.failures:
        return None
    if len(trailing(history.ended, history)) > TRIES_UNCHANGED:
        return None
    cause, ground = _cause(last), history.ground
    because = cause.summary if cause else "the failure may pass by itself"
    if ground.world.settled < last.n:
        first = _before_again(last, ground, because)
        if first:
            return first
    return relaunch(last, history, f"{because}; the same settings again")


def _before_again(last: Attempt, ground: Ground, because: str) -> Step | None:
    if last.diagnosis and last.diagnosis.action == "clean":
        return Clean(because)
    signature = signature_of(last, ground)
    seconds = max((r.wait for r in signature.remedies), default=0.0) if signature else 0.0
    return Wait(seconds, because) if seconds else None


def relaunch(attempt: Attempt, history: History, because: str) -> Launch:
    """Return the launch of an attempt's settings once more."""
    return Launch(history.candidate(attempt), attempt.rung, because)


def person(history: History) -> Person | None:
    """Return the step for a failure that only a person can mend, None if settings may be to blame."""
    last = history.last
    if last is None or last.outcome not in {"crashed", "hung", "rejected"}:
        return None
    cause = _cause(last)
    if cause is None or cause.kind not in FOR_A_PERSON or not _asks_for_one(last, history):
        return None
    if blamed_and_free(cause, last, history):
        return None
    return _said(cause, last, history)


def _asks_for_one(last: Attempt, history: History) -> bool:
    advice = last.diagnosis.action if last.diagnosis else "none"
    return advice == "person" or foreign_port(history) or _held(last, history) or _did_not_pass(last, history)


def _held(last: Attempt, history: History) -> bool:
    """Say whether a foreign process holds the memory that was missing: nothing passes while it does."""
    cause = _cause(last)
    return cause is not None and cause.kind == MEMORY and history.ground.world.memory_holder != ""


def _did_not_pass(last: Attempt, history: History) -> bool:
    """Say whether a failure that should pass by itself, or once leftovers are gone, came back every time."""
    kind = last.diagnosis.cause.kind if last.diagnosis and last.diagnosis.cause else ""
    return transient(last) and last in history.failures and kind != PORT


def foreign_port(history: History) -> bool:
    """Say whether the last attempt met a port that a process not ours listens on."""
    return history.last is not None and history.port_is_foreign(history.last)


def blamed_and_free(cause: Cause, attempt: Attempt, history: History) -> bool:
    """Say whether the failing settings hold a flag, variable or variant that is blamed and may be changed."""
    ground, view = history.ground, history.view(attempt)
    flags = [
        f for n in cause.blames if (f := ground.names.canonical(n)) in view.flags and not ground.guard.protected(f)
    ]
    env = [n for n in cause.blames_env if n in view.env and n not in ground.guard.env]
    allowed = any(ground.names.canonical(n) in ground.guard.allowed for n in cause.blames)
    return bool(flags or env or allowed)


def _said(cause: Cause, last: Attempt, history: History) -> Person:
    signature = signature_of(last, history.ground)
    world = history.ground.world
    holder = {PORT: world.port_holder, MEMORY: world.memory_holder}.get(cause.kind, "")
    because = f"{cause.summary} (held by {holder})" if holder else cause.summary
    port = f"stop {holder}, or choose another port" if holder and cause.kind == PORT else ""
    after = port or (signature.next if signature else "")
    return Person(because, after or "mend this on the host, then run again")


def signature_of(attempt: Attempt, ground: Ground) -> Signature | None:
    """Return the signature that named an attempt's failure."""
    cause = _cause(attempt)
    found = (s for s in ground.world.knowledge.signatures if cause is not None and s.id == cause.signature)
    return next(found, None)


def _cause(attempt: Attempt) -> Cause | None:
    return attempt.diagnosis.cause if attempt.diagnosis else None
