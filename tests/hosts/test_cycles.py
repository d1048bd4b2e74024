"""Crash after crash: nothing is left before the next launch, nothing foreign is touched."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from relight.hosts.remote import AgentHost

CYCLES = int(os.environ.get("RELIGHT_SOAK_CYCLES", "200"))


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


@pytest.mark.parametrize(
    "cycles", [3, pytest.param(CYCLES, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])], ids=["few", "many"]
)
def test_no_crash_leaves_anything_before_the_next_launch(
    host: AgentHost, start: Callable[..., str], until: Callable[..., Any], strangers: list[int], cycles: int
) -> None:
    for n in range(cycles):
        how = ("--exit", "1") if n % 2 else ("--signal", "9")
        attempt = start("--child", "--orphan", "--ignore-term", *how)
        until(lambda name=attempt: host.status(name).state == "ended")

        host.stop(attempt, patience=0.2)

        assert host.clean([attempt]) == ()
        assert host.leftovers() == ()
        assert host.status(attempt).tree == ()

    alive = {p.pid for p in host.processes() if p.state != "Z" and p.ours is None}
    assert set(strangers) <= alive
