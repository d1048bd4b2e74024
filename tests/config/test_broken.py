"""Files that are wrong, each with what the user is told."""

from pathlib import Path

import pytest

from relight.config.hosts import load_hosts
from relight.config.playbook import load_playbook
from relight.words.errors import UsageError

BROKEN = Path(__file__).parent / "broken"
FILES = sorted(BROKEN.glob("*.toml"))


def told(path: Path) -> str:
    load = load_hosts if path.name.startswith("hosts-") else load_playbook
    with pytest.raises(UsageError) as caught:
        load(path)
    assert caught.value.exit_status == 2
    return str(caught.value).replace(f"{BROKEN}/", "") + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_broken_file_is_told_with_place_fault_and_next_action(path: Path) -> None:
    assert told(path) == path.with_suffix(".txt").read_text()


def test_every_message_names_the_file_and_a_line() -> None:
    texts = [path.with_suffix(".txt").read_text() for path in FILES]

    assert [text for text in texts if ".toml:" not in text and "the file has no" not in text] == []


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_no_message_repeats_a_planted_secret(path: Path) -> None:
    assert "planted" not in told(path).replace(path.name, "")
