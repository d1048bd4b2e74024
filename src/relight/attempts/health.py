"""Ask a server that listens, from its own host, until there is a verdict; the log is followed meanwhile."""

import json
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import replace

from relight.attempts.judge.answers import Answered, Fault, Question
from relight.attempts.judge.book import Book
from relight.attempts.judge.facts import Facts
from relight.attempts.judge.listener import Ownership, ownership
from relight.attempts.judge.plan import plain_questions
from relight.attempts.judge.session import Ask, Got, session
from relight.attempts.judge.verdict import Verdict, judge, standing
from relight.attempts.launch import port_of, revealed
from relight.attempts.prepare import DEFAULT_PORT
from relight.attempts.site import Site
from relight.attempts.watch import POLL, Ending, Vigil, ended
from relight.hosts.values import HttpAnswer, HttpRequest, Status
from relight.words.attempt import Attempt
from relight.words.secret import Secret

ON = frozenset({"1", "true", "yes", "on", "y", "t"})
FAULTS: dict[str, Fault] = {"refused": "refused", "timeout": "timeout"}
OF_THE_START = frozenset({"ready", "facts"})
"""Stages of the conversation that make no text."""
ANSWERS_EVERY = 0.05
"""Seconds to wait for answers between two looks at the log."""
PARALLEL = 64
"""Questions asked at once at most."""
AGAIN = 60.0
"""Seconds a question to a server that was healthy before may take."""


class Interview:
    """One conversation with one server, and the questions that are out."""

    def __init__(self, vigil: Vigil, book: Book) -> None:
        site = vigil.site
        self.vigil = vigil
        self._port, self._token = port_for(vigil.attempt), _token(site)
        self._talk = session(site.order.playbook.health, book, _facts(site, vigil.attempt, book))
        self._next: Ask = next(self._talk)
        self._due = vigil.now
        self._out: list[Future[HttpAnswer]] = []
        self._pool = ThreadPoolExecutor(PARALLEL, thread_name_prefix="ask")
        self.verdict: Verdict | None = None
        self.info = ""
        self._asked: float | None = None
        self._answered = False

    def pause(self) -> float:
        """Wait a moment for answers that are out; return for how many seconds there is nothing to do here."""
        if self.verdict:
            return POLL
        if self._out:
            wait(self._out, ANSWERS_EVERY, FIRST_EXCEPTION)
            return 0.0
        return min(POLL, max(0.0, self._due - self.vigil.now))

    def step(self) -> None:
        """Send what is due; take in what came back."""
        if self.verdict is None and not self._out and self.vigil.now >= self._due:
            requests = [_request(q, self._port, self._token) for q in self._next.questions]
            self._out = [self._pool.submit(self.vigil.site.host.http, r) for r in requests]
            self.vigil.site.tell("judged", self.vigil.attempt.n, stage=self._next.stage)
            if self._next.stage not in OF_THE_START and self._asked is None:
                self._asked = self.vigil.now
        if self._out and all(f.done() for f in self._out):
            answers = tuple(_answered(q, f) for q, f in zip(self._next.questions, self._out, strict=True))
            self._out = []
            self._listen(answers)
            self._advance(Got(answers, self.vigil.now))

    def _listen(self, answers: tuple[Answered, ...]) -> None:
        for answer in answers:
            self._answered |= self._asked is not None and answer.status is not None
            if answer.question.role == "server" and answer.status == 200:
                self.info = answer.body

    def _advance(self, got: Got) -> None:
        try:
            self._next = self._talk.send(got)
            self._due = self.vigil.now + self._next.pause
        except StopIteration as stop:
            self.verdict = stop.value

    @property
    def ready(self) -> bool:
        """Say whether the server has said that it takes requests."""
        return self._next.stage != "ready"

    @property
    def waited(self) -> float:
        """Return for how many seconds the very first generation has been waited for, 0.0 once one was answered."""
        return 0.0 if self._asked is None or self._answered else self.vigil.now - self._asked

    def close(self) -> None:
        """Give up the conversation."""
        self._talk.close()
        self._pool.shutdown(wait=False, cancel_futures=True)


def _request(question: Question, port: int, token: Secret | None) -> HttpRequest:
    body = json.dumps(question.body).encode() if question.body is not None else b""
    return HttpRequest(
        url=f"http://127.0.0.1:{port}{question.path}",
        method=question.method,
        body=body,
        headers={"Content-Type": "application/json"} if body else {},
        token=token,
        timeout=question.timeout,
    )


def port_for(attempt: Attempt) -> int:
    """Return the HTTP port of an attempt's server."""
    return port_of(attempt.settings) or DEFAULT_PORT


def _facts(site: Site, attempt: Attempt, book: Book) -> Facts:
    asked = attempt.settings.flags.get("speculative-algorithm")
    overlap = str(attempt.settings.env.get(book.overlap_env, "")).lower() in ON
    return Facts(version=site.version, speculation=str(asked) if asked else None, overlap=overlap)


def _token(site: Site) -> Secret | None:
    spec = site.order.spec
    keys = {k: v for k, v in spec.secret_flags.items() if k == "api-key"}
    return next(iter(revealed(keys, f"hosts.{spec.name}.secret-flags").values()), None)


def _answered(question: Question, future: Future[HttpAnswer]) -> Answered:
    fault = future.exception()
    if fault is not None:
        return Answered(question, None, fault="ours", error=str(fault))
    return _read(question, future.result())


def _read(question: Question, answer: HttpAnswer) -> Answered:
    text = answer.body.decode("utf-8", "replace")
    if answer.status is not None:
        return Answered(question, answer.status, text, seconds=answer.seconds)
    return Answered(
        question, None, fault=FAULTS.get(answer.error, "closed"), error=answer.error, seconds=answer.seconds
    )


def asked_again(site: Site, attempt: Attempt, book: Book) -> Verdict:
    """Ask a healthy server the plain questions and the operator's own once more; return the verdict."""
    health, port, token = site.order.playbook.health, port_for(attempt), _token(site)
    answers: list[Answered] = []
    for question in plain_questions(health, book, _facts(site, attempt, book)):
        quick = replace(question, timeout=AGAIN)
        answers.append(_read(quick, site.host.http(_request(quick, port, token))))
        if standing(answers[-1]) in {"gone", "ours"}:
            break
    return judge(answers, health, book)


def whose(vigil: Vigil) -> Ownership:
    """Say whose the port is."""
    return ownership(vigil.site.host.listeners(), port_for(vigil.attempt), _pids(vigil.status))


def _pids(status: Status) -> set[int]:
    """Return the pids of our launch on the host that is asked; nodes on one machine show there too."""
    here = [node for node in status.nodes if node.boot_id == status.boot_id]
    return {p.pid for node in here or (status,) for p in node.tree}


def judged(vigil: Vigil, verdict: Verdict) -> Ending:
    """Return the ending that a verdict gives; it is journaled."""
    attempt = vigil.attempt
    outcome = verdict.outcome
    notes = (*verdict.notes, *verdict.evidence)
    vigil.site.note("judged", attempt.n, attempt={"judged": notes}, verdict=outcome, kind=verdict.kind, notes=notes)
    if outcome == "well":
        return Ending("healthy", "; ".join(verdict.notes), judged=notes, measured=verdict.measured)
    lines = tuple(f"relight: sick: {verdict.kind}: {note}" for note in (verdict.notes or ("no note",)))
    # A server that gives no answers is hung; one that gives wrong ones is sick.
    return Ending(
        "hung" if (verdict.kind or "").startswith("hang.") else "sick",
        "; ".join(verdict.notes),
        judged=notes,
        lines=lines,
    )


def died_meanwhile(vigil: Vigil, verdict: Verdict) -> Ending | None:
    """An unjudged server may be one that died between two questions: give the host a moment to say so."""
    if verdict.outcome != "unjudged":
        return None
    patience = vigil.now + 5.0
    while vigil.now < patience:
        vigil.pump()
        ending = ended(vigil)
        if ending:
            return ending
    return None
