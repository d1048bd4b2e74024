"""`--notify`: tell somebody how a run ended, through apprise (the extra `notify`)."""

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from relight.cli.output import say
from relight.journal.redact import redact_text
from relight.reports.notice import notice
from relight.words.attempt import Record, State
from relight.words.errors import UsageError
from relight.words.events import Event

TOLD: frozenset[State] = frozenset({"healthy", "failed", "exhausted", "budget", "person", "unreachable"})
"""The ends of a run that are told; who interrupted it or was told that it is busy was there."""
Send: TypeAlias = Callable[[str, str], bool]


def sender(urls: Sequence[str]) -> Send | None:
    """Return what sends a title and a text to all `urls`, None where there is none; nothing is sent here.

    UsageError where apprise is not installed or does not know the address. An address may hold a password: it is
    never stored and never shown, but for what stands before its ://.
    """
    if not urls:
        return None
    try:
        apprise: Any = import_module("apprise")
    except ImportError as error:
        text = "this needs the package apprise, which is not installed"
        raise UsageError(
            text, place="--notify", next="pip install 'relight[notify]', or pip install apprise"
        ) from error
    service = apprise.Apprise()
    for i, url in enumerate(urls, 1):
        if not service.add(url):
            text = f"address {i}{_scheme(url)} is none that apprise knows"
            raise UsageError(
                text, place="--notify", next="such as mailto://, slack://, ntfy://, json://; see apprise's docs"
            )
    return lambda title, body: bool(service.notify(title=title, body=body))


def _scheme(url: str) -> str:
    """Return what may be shown of an address: nothing where it is none, for it may be a password alone."""
    found = re.match(r"([a-z][a-z0-9+.-]{0,19})://", url, re.IGNORECASE)
    return f" ({found[1]}://...)" if found else ""


def tell(event: Event, record: Callable[[], Record], send: Send) -> None:
    """Send a notice if `event` is the end of a run; one that does not arrive is said and changes nothing else."""
    if event.event != "run_ended" or event.data.get("state") not in TOLD:
        return
    title, body = notice(record())
    if not send(redact_text(title), redact_text(body)):
        say("relight: the notice of --notify did not arrive everywhere; the run is not affected", err=True)
