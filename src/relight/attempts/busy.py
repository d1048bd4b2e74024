"""Say what goes on while a step of relight's own takes long."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event as Finished
from threading import Thread

from relight.attempts.site import Site
from relight.words.events import Event

FIRST, EVERY = 10.0, 30.0
"""Seconds after which a step is told of in a line of its own, and between two such lines."""


@contextmanager
def busy(site: Site, what: str, n: int | None = None, *, first: float = FIRST, every: float = EVERY) -> Iterator[None]:
    """Tell that `what` begins, and for how many seconds it has gone on, for as long as it does.

    The step itself waits for the host: a thread of its own tells.
    """
    began, over, run = site.clock.monotonic(), Finished(), site.record.run

    def tell(text: str, seconds: float) -> None:
        site.emit(Event(site.stamp(), run, n, "marked", {"text": text, "busy": what, "seconds": seconds}))

    def beat() -> None:
        pause = first
        while not over.wait(pause):
            seconds, pause = site.clock.monotonic() - began, every
            # Who cannot be told now is met by the next event of the run.
            with suppress(OSError):
                tell(f"{what}, {seconds:.0f} s", seconds)

    tell(what, 0.0)
    teller = Thread(target=beat, name="relight-busy", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
