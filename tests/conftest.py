"""What holds for every test."""

import signal


def pytest_configure() -> None:
    """Let Ctrl-C reach what the tests start, also when a script runs them in the background and ignores it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
