"""Ctrl-C and SIGTERM while a command works."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupted_once() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C: the server keeps its state and the run can be resumed.

    A second one does not disturb the end that the first began, which says so in the journal and on stdout; a third
    breaks that off too. A process that was started with Ctrl-C ignored goes on ignoring it.
    """
    came = 0

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  the signal module's signature
        nonlocal came
        came += 1
        if came != 2:
            raise KeyboardInterrupt

    heeded = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
