"""One launch, from its order to its verdict."""

from contextlib import ExitStack
from dataclasses import replace

from relight.attempts.autopsy import with_autopsy
from relight.attempts.busy import busy
from relight.attempts.effects import guide_of, in_effect, remarks
from relight.attempts.fetching import Fetching, blobs
from relight.attempts.follow import log_of
from relight.attempts.health import Interview, died_meanwhile, judged, whose
from relight.attempts.judge.book import Book
from relight.attempts.launch import launch
from relight.attempts.life import Life
from relight.attempts.prepare import take
from relight.attempts.site import Site
from relight.attempts.spent import count_absence
from relight.attempts.watch import POLL, Ending, Vigil, ended
from relight.hosts.values import Status
from relight.words.attempt import Attempt
from relight.words.errors import RelightError

FIRST_ANSWER = (60.0, 360.0)
"""Seconds after a start's deadline in which a server that is ready has to answer at all: at least, at most."""
LISTEN_EVERY = 3.0
"""Seconds between two looks at who listens, once the log says that the server listens."""


def follow(site: Site, n: int, book: Book) -> Ending:
    """Start attempt `n` (safe to repeat) and watch it until it is healthy, crashed, hung or sick."""
    attempt = site.attempt(n)
    if site.beaten < 0:
        # An earlier relight began this attempt, or the link was lost: the cards may be somebody else's by now.
        take(site, attempt.settings)
    with busy(site, "starting the server on the host", n):
        again = launch(site, attempt).again
        status = site.host.status(site.attempt_id(n))
    with ExitStack() as stack:
        follower, *peers = (stack.enter_context(log_of(site, n, rank)) for rank in range(len(site.nodes)))
        now = site.clock.monotonic()
        began = now - (_running_for(site, status) if again else 0.0)
        phases = {p.name: p for p in attempt.phases}
        vigil = Vigil(
            site, attempt, follower, began, now, status,
            phases=phases, fetching=_fetching(site, attempt), peers=tuple(peers),
        )  # fmt: skip
        ending, info = _verdict(vigil, book)
        if ending.outcome == "hung":
            with busy(site, "looking at what the hung server is in", n):
                ending = with_autopsy(site, n, ending, vigil.status.tree)
        site.note("phase", n, attempt={"phases": vigil.close_phases(), "gpu_memory": tuple(vigil.memory)})
        effective = in_effect(guide_of(site.order.playbook.engine), follower.progress, info)
        said = remarks(site, attempt, effective, ending.measured) if ending.outcome == "healthy" else ()
        count_absence(site, vigil.away)
        faults = (one.fault for one in (follower, *peers) if one.fault)
        touched: tuple[str, ...] = tuple(f"relight: log touched: {fault}" for fault in faults)
        if not vigil.status.supervised:
            touched += ("relight: supervisor gone: how the server ends cannot be recorded",)
        return replace(
            ending, effective=effective, judged=(*ending.judged, *said, *touched), lines=(*ending.lines, *touched)
        )


def _fetching(site: Site, attempt: Attempt) -> Fetching:
    home = site.known.facts.home if site.known else ""
    return Fetching(site.host, blobs(attempt.settings, home) if home else "")


def _running_for(site: Site, status: Status) -> float:
    """Return for how many seconds a server has been running, by its host's clock: ours may have jumped meanwhile."""
    offset = site.known.facts.clock_offset if site.known else 0.0
    return max(0.0, site.clock.now() + offset - status.started) if status.started else 0.0


def _verdict(vigil: Vigil, book: Book) -> tuple[Ending, str]:
    """Return the ending, and what the server said of itself."""
    life = Life(vigil)
    interview: Interview | None = None
    listened = vigil.began
    try:
        while True:
            vigil.pump(interview.pause() if interview else POLL)
            ending = ended(vigil) or _overdue(vigil, interview) or life.hung()
            if ending:
                break
            if interview is None and vigil.now - listened >= LISTEN_EVERY and _listens(vigil):
                listened = vigil.now
                ending, interview = _begin(vigil, book)
            elif interview:
                interview.step()
                # Sound answers may come from before a rank died: it has its time to be missed.
                ending = None if interview.verdict and life.short_of_ranks() else _judged(vigil, interview)
            if ending:
                break
        return ending, interview.info if interview else ""
    finally:
        if interview:
            interview.close()


def _listens(vigil: Vigil) -> bool:
    return vigil.follower.progress.ready is not None or vigil.follower.progress.phase in {"serving", "warmup"}


def _begin(vigil: Vigil, book: Book) -> tuple[Ending | None, Interview | None]:
    owner = whose(vigil)
    if owner == "none":
        return None, None
    if owner == "foreign":
        line = "relight: foreign listener: another process answers on this port"
        return Ending("crashed", "another process answers on the port", lines=(line,)), None
    return None, Interview(vigil, book)


def _judged(vigil: Vigil, interview: Interview) -> Ending | None:
    verdict = interview.verdict
    if verdict is None:
        return None
    died = died_meanwhile(vigil, verdict)
    if died:
        return died
    if verdict.outcome == "unjudged":
        raise RelightError(
            f"the server cannot be judged: {'; '.join(verdict.notes)}",
            place=vigil.site.order.spec.name,
            next=f"it runs on untouched; relight retry --resume {vigil.site.record.run} asks again",
        )
    return judged(vigil, verdict)


def _overdue(vigil: Vigil, interview: Interview | None) -> Ending | None:
    """Return the verdict of a start that takes longer than the playbook allows; a download has its own limit."""
    health = vigil.site.order.playbook.health
    if vigil.downloading > health.download:
        return hang(vigil, "download", f"the model was not fetched within {health.download:.0f} s")
    limit = health.deadline
    spent = vigil.now - vigil.began - vigil.downloading
    if spent < limit:
        return None
    if interview and interview.ready:
        late = interview.waited > longest_first_answer(limit)
        return (
            hang(vigil, "warmup", f"ready, and no answer to a first request for {interview.waited:.0f} s")
            if late
            else None
        )
    phase = vigil.follower.progress.phase or "start"
    return hang(vigil, phase, f"not healthy within {limit:.0f} s")


def longest_first_answer(limit: float) -> float:
    """Return for how many seconds a first request may go unanswered where a start may take `limit`: it may compile."""
    return min(FIRST_ANSWER[1], max(FIRST_ANSWER[0], limit))


def hang(vigil: Vigil, phase: str, why: str) -> Ending:
    """Return the ending of a start that is called hung, journaled."""
    vigil.site.note("hung", vigil.attempt.n, phase=phase, reason=why)
    return Ending("hung", why, lines=(f"relight: hung: {phase}: {why}",))
