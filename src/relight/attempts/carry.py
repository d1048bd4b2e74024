"""Carry out a planned step: launch, ask, reject, wait, clean."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from relight.attempts.busy import busy
from relight.attempts.examine import ROUNDS, fetched, host_knowledge
from relight.attempts.fetching import model_of
from relight.attempts.launch import port_of
from relight.attempts.nodes import node_words
from relight.attempts.prepare import DEFAULT_PORT, clean, free_port, port_holder, take
from relight.attempts.refusal import model_missing, port_taken, refusal
from relight.attempts.site import Site, log_name
from relight.attempts.trust import known_outcome
from relight.attempts.wishes import wishes_of
from relight.hosts.oracle import trusted
from relight.hosts.values import HostError, Validation
from relight.words.argv import to_argv
from relight.words.attempt import Attempt, NodeEnd, Rung
from relight.words.diagnosis import Diagnosis
from relight.words.step import Answer, Ask, Candidate, Clean, Launch, Plan, Reject, Wait


def carry(site: Site, plan: Plan) -> None:
    """Carry out the step of `plan`; each is journaled and safe to repeat."""
    match plan.step:
        case Launch(candidate, rung, because):
            _launch(site, candidate, rung, because)
        case Ask(candidates, because):
            _ask(site, candidates, because)
        case Reject(candidate, rung, because):
            _reject(site, candidate, rung, because)
        case Wait(seconds, because):
            site.note("changed", because=because, wait=seconds)
            with busy(site, f"waiting {seconds:.0f} s before the next launch"):
                site.clock.sleep(seconds)
            _settle(site)
        case Clean(because):
            site.note("changed", because=because)
            clean(site)
            _settle(site)


def _settle(site: Site) -> None:
    site.settled = site.record.attempts[-1].n if site.record.attempts else 0


def _launch(site: Site, candidate: Candidate, rung: Rung, because: str) -> None:
    """Make the host ready, then journal the intent; the next action starts and follows it."""
    number = len(site.record.attempts) + 1
    site.note("changed", number, changes=candidate.changes, because=because, settings=candidate.settings)
    take(site, candidate.settings)
    clean(site)
    if _port_taken(site, candidate) or _model_missing(site, candidate):
        return
    attempt = _over_nodes(site, replace(_attempt(site, candidate, rung), because=because))
    site.note("launched", attempt.n, attempt=_fields(attempt), argv=attempt.argv, rung=rung, because=because)


def _over_nodes(site: Site, attempt: Attempt) -> Attempt:
    """Return the attempt with what several nodes add to it: where they meet this time, and a log of each."""
    words = node_words(site, attempt.settings)
    if not words:
        return attempt
    nodes = tuple(NodeEnd(r, host.spec.name, log_name(attempt.n, r)) for r, host in enumerate(site.nodes))
    return replace(attempt, argv=(*attempt.argv, *words), nodes=nodes, logs=tuple(node.log for node in nodes))


def _port_taken(site: Site, candidate: Candidate) -> bool:
    """Say whether a stranger listens on the port; that is recorded as a refusal before launch, for the planner."""
    site.port_holder = port_holder(site, candidate.settings)
    if not site.port_holder:
        return False
    asked = port_of(candidate.settings) or DEFAULT_PORT
    found = port_taken(asked, site.port_holder, free_port(site, candidate.settings))
    because = found.cause.summary if found.cause else site.port_holder
    _record_rejected(site, _attempt(site, candidate, "validate"), found, because)
    return True


def _model_missing(site: Site, candidate: Candidate) -> bool:
    """Say whether a host lacks the model's path; that is recorded as a refusal before launch, too."""
    found = _missing_model(site, candidate)
    if found is None:
        return False
    path = model_of(candidate.settings)
    _record_rejected(site, _attempt(site, candidate, "validate"), found, found.cause.text if found.cause else path)
    return True


def _missing_model(site: Site, candidate: Candidate) -> Diagnosis | None:
    path = model_of(candidate.settings)
    away = [host for host in site.nodes if path.startswith("/") and host.stat(path) is None]
    return model_missing(path, ", ".join(host.spec.name for host in away)) if away else None


def _attempt(site: Site, candidate: Candidate, rung: Rung) -> Attempt:
    n = len(site.record.attempts) + 1
    name = log_name(n)
    return Attempt(
        n=n,
        rung=rung,
        settings=candidate.settings,
        argv=to_argv(candidate.settings.flags, site.parser),
        changes=candidate.changes,
        alters_answers=candidate.alters_answers,
        started=site.stamp(),
        log=name,
        logs=(name,),
        choice=candidate.choice,
    )


def _fields(attempt: Attempt) -> dict[str, object]:
    return {name: getattr(attempt, name) for name in Attempt.__dataclass_fields__}


def _ask(site: Site, candidates: tuple[Candidate, ...], because: str) -> None:
    validation = _validated(site, candidates)
    site.can_ask = validation.asked
    asked = zip(candidates, validation.answers, strict=False)
    site.answers += tuple((candidate.settings, answer) for candidate, answer in asked)
    refused = [answer for answer in validation.answers if answer.refused]
    unanswered = sum(1 for answer in validation.answers if not (answer.passed or answer.refused))
    site.note(
        "asked",
        candidates=len(candidates),
        refused=len(refused),
        unanswered=unanswered,
        because=because,
        why=validation.why,
        refusals=tuple(f"{a.type}: {a.message} ({PurePosixPath(a.file).name}:{a.line})" for a in refused),
        seconds=validation.seconds,
    )


def _validated(site: Site, candidates: tuple[Candidate, ...]) -> Validation:
    """Ask behind settings whose outcome a log already showed; an answer that contradicts it is not believed."""
    if site.parser is None:
        return Validation(asked=False, why="the host's parser could not be asked")
    shown = known_outcome(site.record)
    settings = [c.settings for c in candidates]
    first = [shown[0]] if shown else []
    try:
        with busy(site, "asking the engine's own validation"):
            said = site.host.validate([*first, *settings], site.parser)
    except HostError as fault:
        return Validation(asked=False, why=str(fault))
    said = trusted(said, shown[1] if shown else None)
    return replace(said, answers=said.answers[len(first) :])


def _reject(site: Site, candidate: Candidate, rung: Rung, because: str) -> None:
    """Record settings that are refused before any launch, with the diagnosis of the refusal."""
    attempt = _attempt(site, candidate, rung)
    missing = _missing_model(site, candidate) if rung == "validate" else None
    if missing:
        # Validation reads the model's configuration: without the folder it says whatever comes of that.
        _record_rejected(site, attempt, missing, because)
        return
    answer = _answer(site, candidate)
    sources: dict[str, str] = {}
    found = _refusal(site, attempt, answer, because, sources)
    for _ in range(ROUNDS):
        more = fetched(site, found.wants, sources)
        if not more:
            break
        sources |= more
        found = _refusal(site, attempt, answer, because, sources)
    _record_rejected(site, attempt, found, because)


def _record_rejected(site: Site, attempt: Attempt, found: Diagnosis, because: str) -> None:
    rejected = replace(attempt, outcome="rejected", diagnosis=found, ended=site.stamp(), log="", logs=(), nodes=())
    site.note("changed", attempt.n, changes=attempt.changes, because=because)
    site.note("diagnosed", attempt.n, attempt=_fields(rejected), diagnosis=found, rung=attempt.rung)


def _refusal(
    site: Site, attempt: Attempt, answer: Answer | None, because: str, sources: Mapping[str, str]
) -> Diagnosis:
    return refusal(
        attempt,
        answer,
        host_knowledge(site),
        rung=attempt.rung,
        parser=site.parser,
        because=because,
        sources=sources,
        wishes=wishes_of(site),
    )


def _answer(site: Site, candidate: Candidate) -> Answer | None:
    return next((a for s, a in reversed(site.answers) if s == candidate.settings and a.refused), None)
