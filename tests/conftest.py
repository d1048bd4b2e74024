"""What holds for every test."""

import signal
from collections.abc import Iterator

import pytest


def pytest_configure() -> None:
    """Let Ctrl-C reach what the tests start, also when a script runs them in the background and ignores it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def locks_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what is simulated on this machine apart from what else works on it, other runs of the tests included."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELIGHT_LOCKS", str(tmp_path_factory.mktemp("locks")))
        yield
