"""phases.toml is checked when it is read."""

from pathlib import Path

import pytest

from relight.config.phases import load_phases
from relight.config.shipped import engine
from relight.words.errors import UsageError

GOOD = '[phases]\nload = 60\n[[pattern]]\nid = "a"\nphase = "load"\nrole = "begin"\nregex = "^Loading now"\n'


def test_patience_comes_from_the_phase(tmp_path: Path) -> None:
    path = tmp_path / "phases.toml"
    path.write_text(GOOD)

    assert [(p.id, p.patience, p.literal) for p in load_phases(path)] == [("a", 60.0, ("loading now",))]


@pytest.mark.parametrize(("old", "new"), [("begin", "start"), ("regex", "rex"), ("^Loading", "(Loading")])
def test_a_broken_pattern_is_refused(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "phases.toml"
    path.write_text(GOOD.replace(old, new))

    with pytest.raises(UsageError, match=r"phases.toml: a"):
        load_phases(path)


def test_the_shipped_phases_load() -> None:
    assert {"ready", "load_begin", "server_args"} <= {p.id for p in load_phases(engine() / "phases.toml")}
