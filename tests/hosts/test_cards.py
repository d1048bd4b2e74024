"""Cards through a program called nvidia-smi that is on a login's PATH."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from relight.hosts.remote import AgentHost
from relight.hosts.values import HostError

Smi = Callable[[str], None]


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Smi:
    """Write the program; a login file puts its folder on PATH."""
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in (".profile", ".bash_profile", ".zprofile"):
        (home / name).write_text(f'export PATH="{home}/bin:$PATH"\n')

    def write(text: str) -> None:
        program = home / "bin" / "nvidia-smi"
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)

    return write


def test_cards_and_their_processes_are_asked_for(host_at: Callable[..., AgentHost], smi: Smi) -> None:
    smi(
        'case "$1" in --query-gpu=*)\n'
        'echo "0, GPU-a, NVIDIA X, 97887, 10, 580.1"; echo "1, GPU-b, NVIDIA X, 97887, 0, 580.1";;\n'
        '*) echo "GPU-a, 4711, 9, python";; esac'
    )

    (card,) = host_at(gpus=(0,)).gpus()

    assert (card.index, card.memory_total, card.driver, card.processes[0].pid) == (0, 97887, "580.1", 4711)


def test_a_driver_that_fails_is_quoted(host_at: Callable[..., AgentHost], smi: Smi) -> None:
    smi('echo "Failed to initialize NVML: Driver/library version mismatch"; exit 18')

    with pytest.raises(HostError, match="version mismatch"):
        host_at().gpus()


def test_the_program_is_found_beside_the_interpreter_that_launches_use(
    host_at: Callable[..., AgentHost], tmp_path: Path
) -> None:
    folder = tmp_path / "venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(sys.executable)
    program = folder / "nvidia-smi"
    program.write_text('#!/bin/sh\ncase "$1" in --query-gpu=*) echo "0, GPU-a, NVIDIA X, 97887, 10, 580.1";; esac\n')
    program.chmod(0o755)

    (card,) = host_at(python=str(folder / "python")).gpus()

    assert card.uuid == "GPU-a"
