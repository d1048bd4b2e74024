"""What is known of regexes is kept from run to run, and nothing depends on it."""

from pathlib import Path

import pytest

from relight.config import knowledge
from relight.config.regexes import Regexes, remember, remembered

REGEX = "the moon is (?:full|new)"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def kept(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("regexes-*") if path.is_file()]


def test_what_a_run_found_out_the_next_one_knows() -> None:
    first = Regexes()
    found = first.literals(REGEX)
    remember(first)

    again = remembered()

    assert (again.literals(REGEX), again.fresh) == (found, False)


def test_a_run_that_found_out_nothing_writes_nothing(cache: Path) -> None:
    remember(Regexes())

    assert kept(cache) == []


@pytest.mark.parametrize("damage", ["", "[1]", '{"a": 1}', "\x00", "{"])
def test_a_damaged_file_is_done_without(cache: Path, damage: str) -> None:
    first = Regexes()
    first.literals(REGEX)
    remember(first)
    kept(cache)[0].write_text(damage)

    assert remembered().known == {}


def test_a_folder_that_cannot_be_written_is_done_without(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "file"))
    first = Regexes()
    first.literals(REGEX)

    remember(first)

    assert remembered().known == {}


def test_a_regex_that_does_not_compile_is_never_kept() -> None:
    known = Regexes()

    assert known.wrong("the (moon")
    assert known.wrong("(?<=a+)moon is full")
    assert known.known == {}


def test_the_same_signatures_come_from_a_full_and_an_empty_cache() -> None:
    empty, full = knowledge.load_knowledge(), knowledge.load_knowledge()

    assert empty.signatures == full.signatures
