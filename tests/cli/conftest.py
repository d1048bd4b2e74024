"""A command line, run in this process."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from relight.cli.main import main


@dataclass(frozen=True)
class Done:
    """What a command line did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Relight: TypeAlias = Callable[..., Done]


@pytest.fixture
def relight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Relight:
    """Run `relight WORDS`; nothing of the user's own files is read or written."""
    monkeypatch.setenv("RELIGHT_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Done:
        capfd.readouterr()
        status = main([str(word) for word in words])
        out, err = capfd.readouterr()
        return Done(status, out, err)

    return run
