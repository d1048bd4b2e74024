"""The watch over one healthy server (`--keep`): cheap looks, until it is dead or ill."""

from relight.attempts.health import asked_again, port_for
from relight.attempts.judge.book import Book
from relight.attempts.life import patience_of
from relight.attempts.prepare import take
from relight.attempts.ranks import Ranks
from relight.attempts.site import Site
from relight.attempts.spent import DAY, count_absence
from relight.attempts.watch import GRACE
from relight.hosts.values import HttpRequest, NoAnswerError, Status
from relight.words.attempt import Attempt
from relight.words.errors import UnreachableError

LOOK_EVERY = 5.0
ASK_EVERY = 60.0
JUDGE_EVERY = 600.0
"""Seconds between two times that the server is asked the plain questions again."""
CONFIRM_AFTER = 30.0
NO_ANSWERS = 3
"""Health questions in a row without a yes, a minute apart, before a live server is called hung."""
AWAY_LONGEST = 60.0
"""The longest pause between two tries to reach a host that is away; it is waited for a day."""


def died(status: Status, when: str = "") -> str:
    """Say how a server ended that was healthy."""
    signal = status.exit.signal if status.state == "ended" else None
    return status.reason or f"the server died{when}{f' (signal {signal})' if signal else ''}"


class Guard:
    """Watches one server. Nothing but the server's own faults ends the watch; our link and our time-outs do not.

    `seen` is the last that the host said of it.
    """

    def __init__(self, site: Site, attempt: Attempt, book: Book) -> None:
        self.site, self.attempt, self.book = site, attempt, book
        self.ranks = Ranks(patience_of(site.order.playbook.engine).ranks)
        self.failures = 0
        self.seen: Status | None = None
        self.asked = self.told = self.judged = site.clock.monotonic()

    def until_dead(self) -> str:
        """Watch until the server is dead or ill; return why."""
        pause, locked = 0.0, False
        while True:
            # The first look is at once: who dies next was seen alive then.
            self.site.clock.sleep(pause)
            pause = LOOK_EVERY
            try:
                if not locked:
                    take(self.site, self.attempt.settings)
                    locked = True
                why = self._look()
            except (UnreachableError, NoAnswerError) as fault:
                self._wait_for_host(fault)
                continue
            if why:
                return why
            self._tell()

    def _look(self) -> str:
        status = self.seen = self.site.host.status(self.site.attempt_id(self.attempt.n))
        return self._gone(status) or self._lost(status) or self._silent() or self._ill()

    def _gone(self, status: Status) -> str:
        return "" if status.serves else died(status)

    def _lost(self, status: Status) -> str:
        """Look for ranks that died, or that somebody stopped, behind a parent that still answers."""
        now = self.site.clock.monotonic()
        self.ranks.look(now, status.tree)
        why = self.ranks.fault(now, after=GRACE)
        return f"relight: hung: serving: {why}" if why else ""

    def _silent(self) -> str:
        now = self.site.clock.monotonic()
        if now - self.asked < ASK_EVERY:
            return ""
        self.asked = now
        self.failures = 0 if self._answers() else self.failures + 1
        take(self.site, self.attempt.settings)
        if self.failures < NO_ANSWERS:
            return ""
        return f"relight: hung: serving: the health path said no {self.failures} times, a minute apart"

    def _answers(self) -> bool:
        url = f"http://127.0.0.1:{port_for(self.attempt)}{self.book.endpoints['health'][0]}"
        answer = self.site.host.http(HttpRequest(url, timeout=self.book.timeout["health"]))
        # Only a server that refuses or says no is counted; our own time-outs and lost links prove nothing.
        return answer.status == 200 or (answer.status is None and answer.error not in {"refused", "timeout"})

    def _ill(self) -> str:
        """Ask the plain questions again from time to time; a wrong answer counts when it is given twice."""
        now = self.site.clock.monotonic()
        if now - self.judged < JUDGE_EVERY or self.failures:
            return ""
        why = self._sick()
        if why:
            self.site.tell("marked", self.attempt.n, text=f"{why}; asked again in {CONFIRM_AFTER:.0f} s", line=0)
            self.site.clock.sleep(CONFIRM_AFTER)
            why = self._sick()
        self.judged = self.site.clock.monotonic()
        return why

    def _sick(self) -> str:
        verdict = asked_again(self.site, self.attempt, self.book)
        # A server that is busy, or that gives no answer in time, is left to the health path.
        wrong = verdict.outcome == "sick" and verdict.kind != "hang.health"
        return f"relight: sick: {verdict.kind}: {'; '.join(verdict.notes)}" if wrong else ""

    def _wait_for_host(self, fault: UnreachableError | NoAnswerError) -> None:
        """Wait until the host can be reached again; the server goes on meanwhile, so that this is no fault of it."""
        clock, pause = self.site.clock, LOOK_EVERY
        began = clock.monotonic()
        self.site.tell("marked", self.attempt.n, text=f"out of reach, waiting: {fault.text}", line=0)
        while clock.monotonic() - began < DAY:
            clock.sleep(pause)
            pause = min(pause * 2, AWAY_LONGEST)
            try:
                self.site.host.status(self.site.attempt_id(self.attempt.n))
            except (UnreachableError, NoAnswerError) as again:
                fault = again
                continue
            self.failures, self.asked = 0, clock.monotonic()
            count_absence(self.site, clock.monotonic() - began)
            return
        raise fault

    def _tell(self) -> None:
        now = self.site.clock.monotonic()
        if now - self.told >= DAY:
            self.told = now
            self.site.tell("marked", self.attempt.n, text="still healthy", line=0)
