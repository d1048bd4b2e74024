"""A step of relight's own that takes long is told of while it goes on."""

from collections.abc import Sequence
from threading import Event as Finished

import pytest

from relight.attempts.busy import busy
from relight.attempts.order import RunOrder
from relight.attempts.site import Site
from relight.cli.screen_lines import lines
from relight.cli.screen_state import View, after
from relight.hosts.values import Owner, Validation
from relight.journal.journal import Journal
from relight.words.errors import BusyError
from relight.words.events import Event
from relight.words.settings import Settings
from tests.attempts.conftest import PORT, Bench, book, healthy

ELSE = Owner("another", "ada", "laptop", 7)


def told(events: Sequence[Event]) -> list[str]:
    """Return the lines that a screen without a terminal shows of events."""
    view, said = View(), []
    for event in events:
        before, view = view, after(view, event, 0.0)
        said += [line.plain for line in lines(before, event, view)]
    return said


@pytest.fixture
def site(bench: Bench) -> Site:
    host = bench.scripted(lambda _: healthy())
    with Journal.create(bench.state, playbook=book(), specs=[host.spec], started="2026-11-30T10:00:00Z") as journal:
        return Site(RunOrder(book(), host.spec), host, journal, bench.knowledge, host.clock, bench.events.append)


def test_a_step_that_goes_on_is_told_again_and_again_and_a_short_one_needs_no_line(bench: Bench, site: Site) -> None:
    twice = Finished()

    def emit(event: Event) -> None:
        bench.events.append(event)
        host_time = bench.host.clock.advance
        host_time(30.0)
        if len(bench.events) == 3:
            twice.set()

    site.emit = emit
    with busy(site, "asking the engine's own validation", first=0.001, every=0.001):
        assert twice.wait(20)

    assert bench.events[0].data["seconds"] == 0.0
    assert told(bench.events[:1]) == []
    assert [line.split(maxsplit=1)[1] for line in told(bench.events)[:2]] == [
        "run        asking the engine's own validation, 30 s",
        "run        asking the engine's own validation, 60 s",
    ]


def test_what_goes_on_is_on_the_screen_until_something_else_happens(bench: Bench, site: Site) -> None:
    with busy(site, "connecting to box"):
        pass
    view = after(View(), bench.events[0], 5.0)

    assert (view.busy, view.busy_since) == ("connecting to box", 5.0)
    assert after(view, Event("", "", None, "probed"), 6.0).busy == ""


def test_a_validation_that_could_not_be_asked_is_not_told_as_passed(bench: Bench) -> None:
    def silent(candidates: Sequence[Settings]) -> Validation:  # noqa: ARG001  it answers nobody
        return Validation(asked=False, why="no answer within 300 s")

    bench.scripted(lambda _: healthy()).validator = silent
    bench.run(book())

    said = "\n".join(told(bench.events))
    assert "could not be asked: no answer within 300 s" in said
    assert "shows only in a launch" in said
    assert " pass, " not in said


def test_cards_of_a_relight_that_is_gone_are_waited_for(bench: Bench) -> None:
    host = bench.scripted(lambda _: healthy())
    host.locks = {f"port {PORT}": ELSE}
    host.leaving = {ELSE.run: host.clock.now() + 8.0}

    record = bench.run(book())

    assert record.state == "healthy"
    waits = [str(e.data["text"]) for e in bench.events if e.event == "marked" and "waiting" in str(e.data.get("text"))]
    assert waits == [f"waiting 8 s: port {PORT} held by {ELSE}, which is gone or out of reach"]


def test_cards_that_somebody_works_with_are_not_waited_for(bench: Bench) -> None:
    host = bench.scripted(lambda _: healthy())
    host.locks = {f"port {PORT}": ELSE}
    began = host.clock.now()

    with pytest.raises(BusyError, match="another"):
        bench.run(book())

    assert host.clock.now() - began < 5
