"""Telling somebody how a run ended."""

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import pytest

from relight.cli.notify import TOLD, Send, sender, tell
from relight.words.errors import UsageError
from relight.words.events import Event
from tests.reports.more_stories import STORIES

AT = "2026-11-29T08:00:00Z"


def _into(sent: list[tuple[str, str]]) -> Send:
    def send(title: str, body: str) -> bool:
        sent.append((title, body))
        return True

    return send


@pytest.fixture
def no_apprise() -> Iterator[None]:
    before = sys.modules.get("apprise")
    # What Python itself puts there to say that a module is not to be had.
    sys.modules["apprise"] = None  # type: ignore[assignment]
    yield
    sys.modules.pop("apprise")
    if isinstance(before, ModuleType):
        sys.modules["apprise"] = before


@pytest.mark.parametrize("name", STORIES)
def test_each_end_is_told_once_and_only_if_it_is_one_to_tell(name: str) -> None:
    record = STORIES[name]()
    sent: list[tuple[str, str]] = []

    for event in (
        Event(AT, record.run, None, "probed"),
        Event(AT, record.run, None, "run_ended", {"state": record.state}),
    ):
        tell(event, lambda: record, _into(sent))

    assert len(sent) == int(record.state in TOLD)


def test_a_notice_says_the_verdict_and_the_command_that_shows_more() -> None:
    record = STORIES["healthy"]()
    sent: list[tuple[str, str]] = []

    tell(
        Event(AT, record.run, None, "run_ended", {"state": "healthy"}),
        lambda: record,
        _into(sent),
    )

    title, body = sent[0]
    assert title == f"Healthy, at a price: {record.playbook} on {record.host}"
    assert "answers correctly" in body
    assert f"relight report {record.run}" in body


def test_a_notice_that_does_not_arrive_is_said_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    record = STORIES["person"]()

    tell(Event(AT, record.run, None, "run_ended", {"state": "person"}), lambda: record, lambda *_: False)

    assert "did not arrive" in capsys.readouterr().err


@pytest.mark.usefixtures("no_apprise")
def test_without_apprise_the_error_names_the_extra_and_not_the_address() -> None:
    with pytest.raises(UsageError) as caught:
        sender(["mailto://somebody:hunter2@example.com"])

    said = str(caught.value) + caught.value.next
    assert "relight[notify]" in said
    assert "hunter2" not in said


@pytest.mark.usefixtures("no_apprise")
def test_without_an_address_nothing_is_needed() -> None:
    assert sender([]) is None


@pytest.mark.parametrize(
    ("address", "shown"),
    [("nosuch://me:hunter2@x", " (nosuch://...)"), ("hunter2", ""), ("me:hunter2@x", ""), ("", "")],
)
def test_an_address_that_is_none_is_not_shown_but_for_its_scheme(address: str, shown: str) -> None:
    apprise = ModuleType("apprise")
    apprise.Apprise = lambda: SimpleNamespace(add=lambda _: False)  # type: ignore[attr-defined]
    before, sys.modules["apprise"] = sys.modules.get("apprise"), apprise
    try:
        with pytest.raises(UsageError) as caught:
            sender([address])
    finally:
        sys.modules.pop("apprise")
        if before:
            sys.modules["apprise"] = before

    assert caught.value.text == f"address 1{shown} is none that apprise knows"
