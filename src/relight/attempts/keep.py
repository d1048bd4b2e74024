"""Stay with a healthy server (`--keep`): watch it cheaply and name its death; the loop then goes on."""

from relight.attempts import signs
from relight.attempts.autopsy import with_autopsy
from relight.attempts.clock import epoch
from relight.attempts.judge.book import Book
from relight.attempts.launch import port_of
from relight.attempts.life import lost, patience_of
from relight.attempts.prepare import DEFAULT_PORT, take
from relight.attempts.site import Site
from relight.attempts.spent import DAY, of_today
from relight.attempts.watch import Ending
from relight.hosts.values import HostError, HttpRequest, Status
from relight.words.attempt import Attempt, Incident
from relight.words.step import Plan, Spent

LOOK_EVERY = 5.0
RANKS_EVERY = 15.0
ASK_EVERY = 60.0
FIRST_PAUSE = 5.0
LONGEST_PAUSE = 1800.0
NO_ANSWERS = 3
"""Health questions in a row without a yes, a minute apart, before a live server is called hung."""


def stay(site: Site, book: Book) -> None:
    """Watch the healthy server until it dies; journal the incident, so that the loop stops, diagnoses, launches.

    Launches after a death wait longer each time; what a day may cost is the playbook's budget of attempts.
    """
    attempt = site.record.attempts[-1]
    why = Guard(site, attempt, book).until_dead()
    if why.startswith("relight: "):
        tree = site.host.status(site.attempt_id(attempt.n)).tree
        why = with_autopsy(site, attempt.n, Ending("hung", lines=(why,)), tree).lines[0]
    incident(site, attempt, why)
    _pause(site)


def look_after(site: Site) -> None:
    """Journal an incident where the server that was healthy when the run was left is gone now."""
    last = site.record.attempts[-1] if site.record.attempts else None
    if last is None or last.outcome != "healthy" or last.rung != "real" or last.n == site.died:
        return
    status = site.host.status(site.attempt_id(last.n))
    if not status.alive:
        incident(site, last, status.reason or "the server died while nobody watched")


def incident(site: Site, attempt: Attempt, why: str) -> None:
    """Journal that the healthy server of `attempt` is no longer one."""
    healthy = max(0.0, site.clock.now() - epoch(attempt.ended or attempt.started))
    new = Incident(attempt.n, site.stamp(), why.removeprefix("relight: "), healthy)
    site.note(
        "crashed",
        attempt.n,
        record={"state": "running", "ended": None, "final": None, "incidents": (*site.record.incidents, new)},
        attempt={"remarks": (why,) if why.startswith("relight: ") else ()},
        reason=new.why,
    )


def stormy(site: Site) -> Plan | None:
    """Return the end of a run whose healthy server dies more often in a day than the budget has attempts."""
    given = site.order.max_attempts
    most = site.order.playbook.budget.attempts if given is None else given
    today = of_today(site.record.incidents, site.clock.now())
    if not site.order.keep or len(today) < most:
        return None
    because = f"the healthy server died {len(today)} times within a day; the last time: {today[-1].why}"
    return Plan(Spent((), because), site.record.nogoods, site.record.options)


def _pause(site: Site) -> None:
    earlier = len(of_today(site.record.incidents, site.clock.now())) - 1
    if earlier > 0:
        site.clock.sleep(min(FIRST_PAUSE * 2**earlier, LONGEST_PAUSE))


class Guard:
    """The watch over one healthy server."""

    def __init__(self, site: Site, attempt: Attempt, book: Book) -> None:
        self.site, self.attempt, self.book = site, attempt, book
        self.patience = patience_of(site.order.playbook.engine)
        self.failures = 0
        self.asked = self.told = self.looked = site.clock.monotonic()
        self.signs: signs.Signs | None = None

    def until_dead(self) -> str:
        """Watch until the server is dead or ill; return why."""
        take(self.site, self.attempt.settings)
        while True:
            self.site.clock.sleep(LOOK_EVERY)
            status = self.site.host.status(self.site.attempt_id(self.attempt.n))
            why = self._gone(status) or self._lost(status) or self._silent()
            if why:
                return why
            self._tell()

    def _gone(self, status: Status) -> str:
        return "" if status.alive else status.reason or "the server died"

    def _lost(self, status: Status) -> str:
        """Look for ranks that died behind a parent that still answers."""
        now = self.site.clock.monotonic()
        if now - self.looked < RANKS_EVERY:
            return ""
        self.looked = now
        try:
            said = self.site.host.run(signs.command(p.pid for p in status.tree)).stdout.decode(errors="replace")
        except HostError:
            return ""
        before, self.signs = self.signs, signs.read(said, status.tree, at=now)
        why = lost(before, self.signs, self.patience)
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
        port = port_of(self.attempt.settings) or DEFAULT_PORT
        url = f"http://127.0.0.1:{port}{self.book.endpoints['health'][0]}"
        answer = self.site.host.http(HttpRequest(url, timeout=self.book.timeout["health"]))
        # Only a server that refuses or says no is counted; our own time-outs and lost links prove nothing.
        return answer.status == 200 or (answer.status is None and answer.error not in {"refused", "timeout"})

    def _tell(self) -> None:
        now = self.site.clock.monotonic()
        if now - self.told >= DAY:
            self.told = now
            self.site.tell("marked", self.attempt.n, text="still healthy", line=0)
