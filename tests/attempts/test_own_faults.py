"""A healthy server is never touched because relight itself fails: a full disk here, a bug, a link that stalls."""

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from relight.attempts import guard, health, start
from relight.attempts.follow import Follower, log_of
from relight.attempts.judge import session
from relight.attempts.site import Site
from relight.hosts.values import HostError, HttpAnswer, HttpRequest
from relight.journal import journal as journal_file
from relight.journal.files import append_line
from relight.journal.journal import Journal
from relight.testing import ScriptedHost
from relight.words.errors import RelightError, UnreachableError
from tests.attempts.conftest import Bench, book, healthy

# In the order in which a run that ends well writes them; before the launch there is no server to be touched.
EVENTS = ("launched", "phase", "judged", "healthy", "run_ended")


def untouched(host: ScriptedHost) -> bool:
    """Say whether the one server that was launched still runs, and was never told to stop."""
    return len(host.orders) == 1 and "stop" not in host.asked and any(p.ours for p in host.processes())


def goes_on(bench: Bench) -> bool:
    """Resume the run; say whether the same server is healthy then."""
    with Journal(bench.folder) as journal:
        record = bench.go_on(book(), journal)
    return record.state == "healthy" and len(bench.host.orders) == 1 and untouched(bench.host)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG])
@pytest.mark.parametrize("event", EVENTS)
def test_a_journal_that_cannot_be_written_stops_relight_and_not_the_server(
    event: str, code: int, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.scripted(lambda _: healthy())
    append = append_line

    def full(file: Any, text: str) -> None:
        if json.loads(text)["event"] == event:
            raise OSError(code, "it cannot be written")
        append(file, text)

    monkeypatch.setattr(journal_file, "append_line", full)
    with pytest.raises(RelightError, match="journal cannot be written"):
        bench.run(book())
    monkeypatch.undo()

    assert "stop" not in bench.host.asked
    assert event == "launched" or untouched(bench.host)
    assert goes_on(bench)


def test_a_log_that_cannot_be_stored_stops_relight_and_not_the_server(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.scripted(lambda _: healthy())
    opened = log_of

    def full(site: Site, n: int, rank: int = 0) -> Follower:
        follower = opened(site, n, rank)
        follower._file.close()
        follower._file = Path("/dev/full").open("ab", buffering=0)  # noqa: SIM115  the follower closes it
        return follower

    monkeypatch.setattr(start, "log_of", full)
    with pytest.raises(RelightError, match="the log cannot be stored: No space left"):
        bench.run(book())
    monkeypatch.undo()

    assert untouched(bench.host)
    assert goes_on(bench)


@pytest.mark.parametrize("where", [(session, "judge"), (session, "learn"), (health, "_read")], ids=lambda w: str(w[1]))
def test_a_bug_in_the_judge_is_raised_and_leaves_the_server_alone(
    where: tuple[Any, str], bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: object, **__: object) -> Any:
        raise IndexError("a bug of ours")

    bench.scripted(lambda _: healthy())
    monkeypatch.setattr(*where, wrong)
    with pytest.raises(IndexError):
        bench.run(book())
    monkeypatch.undo()

    assert untouched(bench.host)
    assert goes_on(bench)


def test_a_bug_while_keeping_leaves_the_server_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object, **__: object) -> Any:
        raise IndexError("a bug of ours")

    bench.scripted(lambda _: healthy())
    bench.order = {"keep": True}
    monkeypatch.setattr(guard, "asked_again", wrong)
    with pytest.raises(IndexError):
        bench.run(book())

    assert untouched(bench.host)


def stalls(request: HttpRequest) -> HttpAnswer:
    raise HostError(f"no answer to 'http' within {request.timeout:.0f} s", place="box")


def gone(_: HttpRequest) -> HttpAnswer:
    raise UnreachableError("no sign of life from the host for 12 s", place="box")


def late(request: HttpRequest) -> HttpAnswer:
    return HttpAnswer(None, error="timeout", seconds=request.timeout)


@pytest.mark.parametrize("fault", [stalls, gone, late])
@pytest.mark.parametrize("first", [1, 5, 9])
def test_answers_that_do_not_come_through_judge_nobody(
    first: int, fault: Callable[[HttpRequest], HttpAnswer], bench: Bench
) -> None:
    """From the n-th question on nothing comes back, while the server's own health path says that all is well."""
    host: Any = bench.scripted(lambda _: healthy())
    answers, asked = host.http, iter(range(1, 1000))

    def http(request: HttpRequest) -> HttpAnswer:
        lost = request.method == "POST" and next(asked) >= first
        return fault(request) if lost else answers(request)

    host.http = http
    with pytest.raises(RelightError, match="the server cannot be judged"):
        bench.run(book())
    host.http = answers

    assert untouched(host)
    assert goes_on(bench)
