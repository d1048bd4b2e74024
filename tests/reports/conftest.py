"""Golden texts: plain files, rewritten by `pytest tests/reports --update-golden`."""

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden texts")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the golden file of that name, or rewrite the file."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden", default=False):
            path.write_text(text)
        assert path.exists(), f"{path} is missing: run pytest tests/reports --update-golden and read it"
        assert text == path.read_text()

    return check
