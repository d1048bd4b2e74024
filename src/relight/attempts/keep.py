"""Stay with a healthy server (`--keep`): watch it cheaply, name its death, and let the run go on."""

from relight.attempts.examine import examine
from relight.attempts.finish import stop_attempt
from relight.attempts.follow import log_of
from relight.attempts.judge.book import Book
from relight.attempts.launch import port_of
from relight.attempts.prepare import DEFAULT_PORT, take
from relight.attempts.site import Site
from relight.hosts.values import HttpRequest
from relight.words.attempt import Attempt

LOOK_EVERY = 5.0
ASK_EVERY = 60.0
DAY = 86400.0
FIRST_PAUSE = 5.0
LONGEST_PAUSE = 1800.0
NO_ANSWERS = 3
"""Health questions in a row without a yes, a minute apart, before a live server is called hung."""


def stay(site: Site, book: Book) -> None:
    """Watch the healthy server until it dies; then journal the incident so that the loop goes on.

    Launches after a death wait longer each time; what a day may cost is the playbook's budget of attempts.
    """
    attempt = site.record.attempts[-1]
    why = _until_dead(site, attempt, book)
    _pause(site)
    site.note("crashed", attempt.n, record={"state": "running", "ended": None}, reason=why)
    stop_attempt(site, attempt.n)
    _fetch_rest(site, attempt)
    remarked = why if why.startswith("relight: ") else ""
    site.note("stopped", attempt.n, attempt={"remarks": (remarked,) if remarked else ()}, why=why)
    found = examine(site, site.attempt(attempt.n))
    site.note("diagnosed", attempt.n, attempt={"diagnosis": found}, diagnosis=found)
    site.died = attempt.n
    site.incidents = (*site.incidents, site.clock.now())


def _until_dead(site: Site, attempt: Attempt, book: Book) -> str:
    take(site, attempt.settings)
    failures, asked, told = 0, site.clock.monotonic(), site.clock.monotonic()
    while True:
        site.clock.sleep(LOOK_EVERY)
        status = site.host.status(site.attempt_id(attempt.n))
        if not status.alive:
            return status.reason or "the server died"
        now = site.clock.monotonic()
        if now - asked >= ASK_EVERY:
            asked = now
            failures = 0 if _answers(site, attempt, book) else failures + 1
            take(site, attempt.settings)
        if failures >= NO_ANSWERS:
            return f"relight: hung: serving: the health path said no {failures} times, a minute apart"
        if now - told >= DAY:
            told = now
            site.tell("marked", attempt.n, text="still healthy", line=0)


def _answers(site: Site, attempt: Attempt, book: Book) -> bool:
    port = port_of(attempt.settings) or DEFAULT_PORT
    path = book.endpoints["health"][0]
    answer = site.host.http(HttpRequest(f"http://127.0.0.1:{port}{path}", timeout=book.timeout["health"]))
    # Only a server that refuses or says no is counted; our own time-outs and lost links prove nothing.
    return answer.status == 200 or (answer.status is None and answer.error not in {"refused", "timeout"})


def _fetch_rest(site: Site, attempt: Attempt) -> None:
    """Bring what the server wrote since it was healthy."""
    size = site.host.status(site.attempt_id(attempt.n)).log_size
    with log_of(site, attempt.n) as follower:
        follower.drain(size)


def _pause(site: Site) -> None:
    recent = [at for at in site.incidents if site.clock.now() - at < DAY]
    if recent:
        site.clock.sleep(min(FIRST_PAUSE * 2 ** len(recent), LONGEST_PAUSE))
