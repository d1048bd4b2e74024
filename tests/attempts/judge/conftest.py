import pytest

from relight.attempts.judge.book import Book, read_book
from relight.config import shipped


@pytest.fixture(scope="session")
def book() -> Book:
    return read_book((shipped.engine() / "judge.toml").read_text())
