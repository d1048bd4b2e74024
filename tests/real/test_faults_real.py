"""What happens around a start of the real engine: a cut link, Ctrl-C, a dead scheduler."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real.conftest import Desk

pytestmark = [pytest.mark.real, pytest.mark.timeout(1200)]


def until(what: Callable[[], object], seconds: float = 240) -> object:
    """Look until `what` finds something; fail after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.2)
    pytest.fail("it did not come in time")


def server_log(desk: Desk) -> Path | None:
    return next(iter(desk.sshd.folder.glob("work/**/server.log")), None)


def stored_log(desk: Desk) -> Path | None:
    return next(iter(desk.folder.glob("state/runs/*/attempts/*/server.log")), None)


def holds(desk: Desk, text: bytes) -> bool:
    path = stored_log(desk)
    return path is not None and text in path.read_bytes()


def test_a_link_cut_twice_during_a_start_loses_nothing(desk: Desk) -> None:
    process = desk.start("retry", desk.playbook("cut"), "--host", "cpu", "--format", "json")

    until(lambda: holds(desk, b"server_args="))
    first = desk.sshd.cut()
    until(lambda: holds(desk, b"Load weight end"))
    second = desk.sshd.cut()
    out, err = process.communicate(timeout=600)

    assert (first > 0, second > 0, process.returncode) == (True, True, 0), err
    record = json.loads(out)
    assert len([a for a in record["attempts"] if a["rung"] == "real"]) == 1
    here, there = stored_log(desk), server_log(desk)
    assert here is not None
    assert there is not None
    assert there.read_bytes().startswith(here.read_bytes())


def test_ctrl_c_leaves_the_server_and_resume_takes_it_up(desk: Desk) -> None:
    process = desk.start("retry", desk.playbook("paused"), "--host", "cpu")
    until(lambda: holds(desk, b"server_args="))

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    pids = until(desk.processes)
    _, runs, _ = desk.relight("status")
    status, record, err = desk.relight("retry", "--resume", runs[0]["run"])
    stopped, _, _ = desk.relight("stop")

    assert process.returncode == 130
    assert pids
    assert runs[0]["state"] == "interrupted"
    assert (status, record["state"]) == (0, "healthy"), err
    assert len(record["attempts"]) == 1
    assert stopped == 0
    assert desk.processes() == []


def test_a_scheduler_killed_after_healthy_is_noticed_and_the_server_comes_back(desk: Desk) -> None:
    events = desk.folder / "events.jsonl"
    desk.start("retry", desk.playbook("kept"), "--host", "cpu", "--keep", "--events", str(events))
    until(lambda: events.exists() and '"event": "healthy"' in events.read_text(), 400)

    pid = scheduler(desk)
    os.kill(pid, signal.SIGKILL)

    until(lambda: '"event": "crashed"' in events.read_text(), 120)
    until(lambda: events.read_text().count('"event": "healthy"') >= 2, 400)
    diagnosed = [json.loads(x) for x in events.read_text().splitlines() if '"event": "diagnosed"' in x]
    assert diagnosed[0]["diagnosis"]["cause"]["kind"] == "process.killed"


def scheduler(desk: Desk) -> int:
    """Return the scheduler of our own server: a descendant of the process that was launched."""
    listed = subprocess.run(["ps", "-wweo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout  # noqa: S607
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    mains = {r[0] for r in rows if str(desk.model) in r[2]}
    return next(int(r[0]) for r in rows if "sglang::scheduler" in r[2] and r[1] in mains)
