"""Crash after crash: nothing is left before the next launch, nothing foreign is touched."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from relight.hosts.remote import AgentHost

CYCLES = int(os.environ.get("RELIGHT_SOAK_CYCLES", "200"))
SMI = """#!{python}
import os, sys
folder, held = {folder!r}, []
for pid in os.listdir(folder):
    try:
        if open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()[0] != "Z":
            held.append(pid)
    except OSError:
        pass
if "--query-compute-apps" in " ".join(sys.argv):
    for pid in held:
        print(f"GPU-0, {{pid}}, 1000, python")
else:
    print(f"0, GPU-0, NVIDIA Test, 97887, {{1000 * len(held)}}, 570.1, 100, 0")
"""


@pytest.fixture
def strangers() -> Iterator[list[int]]:
    """Processes of the same user: one carries the mark of an attempt of the same name, below another work folder."""
    code = [sys.executable, "-c", "import time; time.sleep(7200)"]
    children = [
        subprocess.Popen(code),
        subprocess.Popen(code, env={"RELIGHT_ATTEMPT": "run-1", "RELIGHT_WORKDIR": "/elsewhere"}),
    ]
    yield [child.pid for child in children]
    for child in children:
        child.kill()
        child.wait()


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A card whose memory is held by every live process of the stand-in; return the folder that says which."""
    held, tools = tmp_path / "held", tmp_path / "tools"
    held.mkdir()
    tools.mkdir()
    smi = tools / "nvidia-smi"
    smi.write_text(SMI.format(python=sys.executable, folder=str(held)))
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".profile").write_text(f'PATH="{tools}:$PATH"\nexport PATH\n')
    return held


@pytest.mark.parametrize(
    "cycles", [3, pytest.param(CYCLES, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])], ids=["few", "many"]
)
def test_no_crash_leaves_anything_before_the_next_launch(
    card: Path,
    host_at: Callable[..., AgentHost],
    launcher: Callable[..., str],
    until: Callable[..., Any],
    strangers: list[int],
    cycles: int,
) -> None:
    host = host_at()
    processes, took = 0, []
    for n in range(cycles):
        how = ("--exit", "1") if n % 2 else ("--signal", "9")
        attempt = launcher(host, "--child", "--orphan", "--ignore-term", *how, env={"GPU_FOLDER": str(card)})
        until(lambda name=attempt: host.status(name).state == "ended")
        until(lambda: len(list(card.iterdir())) >= 3)
        processes += len(list(card.iterdir()))
        held = host.gpus()[0].memory_used
        began = time.monotonic()

        host.stop(attempt, patience=0.2)

        assert host.clean([attempt]) == ()
        assert host.gpus()[0].memory_used == 0 < held
        assert host.leftovers() == ()
        assert host.status(attempt).tree == ()
        took.append(time.monotonic() - began)
        for path in card.iterdir():
            path.unlink()

    alive = {p.pid for p in host.processes() if p.state != "Z" and p.ours is None}
    assert set(strangers) <= alive
    figures = f"{processes} processes ended, 0 left, 0 of {len(strangers)} foreign ones touched"
    print(f"\n{cycles} crashes: {figures}; clean after {max(took):.2f} s at worst")  # noqa: T201
