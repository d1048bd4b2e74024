"""The controller as a process of its own: killed, stopped, out of disk. The server and the run survive it."""

import json
import os
import random
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from relight.hosts.agent.processes import is_alive
from tests.ssh.contract_client import PORT, World, playbook, wait_until

KILLS = int(os.environ.get("RELIGHT_SOAK_KILLS", "30"))
TROUBLED = playbook("troubled").replace("quantization", "mem-fraction-static = 0.05\nquantization", 1)
"""Its first launch crashes for want of memory, its second is healthy."""


def servers(world: World, run: str) -> list[str]:
    """Return the attempts of a run whose server lives."""
    found = []
    for path in Path(world.lab["workdir"], "attempts").glob(f"{run}.*/state.json"):
        with suppress(OSError, ValueError):
            server = json.loads(path.read_text()).get("server")
            if server and is_alive(*server):
                found.append(path.parent.name)
    return found


@dataclass
class Watcher:
    """Counts the live servers of a run, all the time."""

    world: World
    run: str
    most: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def watching(self) -> Iterator["Watcher"]:
        thread = threading.Thread(target=self._look, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._over.set()
            thread.join(5)

    def _look(self) -> None:
        while not self._over.wait(0.02):
            self.most = max(self.most, len(servers(self.world, self.run)))


def newest(world: World, known: set[str]) -> str | None:
    """Return the run that is not among the known ones, None where none was begun."""
    folder = world.folder / "state" / "runs"
    new = {p.parent.name for p in folder.glob("*/base.json")} - known if folder.is_dir() else set()
    return new.pop() if new else None


def runs(world: World) -> set[str]:
    return {p.parent.name for p in (world.folder / "state" / "runs").glob("*/base.json")}


@pytest.fixture(autouse=True)
def nothing_runs_on(world: World) -> Iterator[None]:
    """End what a test left, its commands too."""
    yield
    for pid in _processes():
        if _parent(pid) == os.getpid() and "relight retry" in _command(pid) and _lives(pid):
            os.kill(pid, signal.SIGKILL)
    for run in runs(world):
        if servers(world, run):
            world.ask("stop", run)


def killed_after(world: World, words: tuple[str, ...], seconds: float) -> bool:
    """Start a command and SIGKILL it after a while; say whether it still ran then."""
    child = world.client.start(*words, "--format", "json", stdout=subprocess.PIPE)
    try:
        child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.kill(child.pid, signal.SIGKILL)
        child.communicate(timeout=30)
    return child.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(1, marks=[pytest.mark.soak, pytest.mark.timeout(600)]),
        pytest.param(KILLS, marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
    ],
    ids=["few", "many"],
)
def test_a_controller_killed_at_any_moment_is_taken_up_again(world: World, kills: int) -> None:
    world.write("troubled.toml", TROUBLED)
    rng = random.Random(kills)  # noqa: S311  reproducible moments
    began = time.monotonic()
    undisturbed = world.ask("retry", "troubled.toml", "--host", "box", "--forget")
    whole = time.monotonic() - began
    told = undisturbed.document.get("attempts", ()), undisturbed.err
    assert [a["outcome"] for a in told[0]] == ["crashed", "healthy"], told
    assert world.ask("stop", undisturbed.document["run"]).status == 0
    hit = most = 0

    for _ in range(kills):
        known = runs(world)
        hit += killed_after(world, ("retry", "troubled.toml", "--host", "box", "--forget"), rng.uniform(0.3, whole))
        run = newest(world, known)
        if run is None:
            continue
        # It may be killed once more while it goes on.
        with Watcher(world, run).watching() as watcher:
            hit += killed_after(world, ("retry", "--resume", run), rng.uniform(0.3, whole))
            done = world.ask("retry", "--resume", run)
        most = max(most, watcher.most)
        attempts = done.document["attempts"]
        there = {p.name for p in Path(world.lab["workdir"], "attempts").glob(f"{run}.*")}

        assert (done.status, done.document["state"]) == (0, "healthy"), done.err
        # Killed before it forgot, a run knows already what crashes.
        assert [a["outcome"] for a in attempts] in (["crashed", "healthy"], ["healthy"])
        assert there == {f"{run}.{a['n']}" for a in attempts}
        assert servers(world, run) == [f"{run}.{attempts[-1]['n']}"]
        assert [short_of(world, done.document, a) for a in attempts] == [""] * len(attempts)
        assert world.ask("stop", run).status == 0
        assert servers(world, run) == []

    print(f"\n{kills} runs, {hit} SIGKILLs: all ended as undisturbed, at most {most} server at a time")  # noqa: T201
    assert most <= 1
    assert hit > 0


def short_of(world: World, record: dict[str, Any], attempt: dict[str, Any]) -> str:
    """Say what is wrong with the stored log of an attempt: it is the host's to the byte, as far as it was followed."""
    stored = Path(record["folder"], attempt["log"]).read_bytes()
    there = Path(world.lab["workdir"], "attempts", f"{record['run']}.{attempt['n']}", "server.log").read_bytes()
    whole = stored == there if attempt["outcome"] == "crashed" else there.startswith(stored) and b"fired up" in stored
    return "" if whole else f"attempt {attempt['n']}: {len(stored)} of {len(there)} bytes"


def in_mid_start(world: World) -> tuple["subprocess.Popen[bytes]", str]:
    """Start a run and return its process and its name once its server is there."""
    world.write("plain.toml", playbook())
    known = runs(world)
    child = world.client.start("retry", "plain.toml", "--host", "box", "--format", "json", stdout=subprocess.PIPE)
    assert wait_until(lambda: bool((run := newest(world, known)) and servers(world, run)))
    run = newest(world, known)
    assert run
    return child, run


@pytest.mark.ssh
@pytest.mark.timeout(600)
def test_two_interrupts_leave_the_server_and_a_run_that_goes_on(world: World) -> None:
    child, run = in_mid_start(world)

    for _ in range(2):
        with suppress(ProcessLookupError):
            child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)

    assert child.returncode == 130, err
    assert json.loads(out)["state"] == "interrupted", err
    assert servers(world, run) == [f"{run}.1"]
    resumed = world.ask("retry", "--resume", run)
    assert (resumed.status, len(resumed.document["attempts"])) == (0, 1)
    assert world.ask("stop", run).status == 0


@pytest.mark.ssh
@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
def test_a_controller_that_is_killed_leaves_the_cards_to_its_resume_and_once_stopped_to_everybody(
    world: World, number: signal.Signals
) -> None:
    child, run = in_mid_start(world)

    child.send_signal(number)
    child.communicate(timeout=60)
    other = world.ask("retry", "plain.toml", "--host", "box", "--set", f"port={PORT + 7}")
    resumed = world.ask("retry", "--resume", run)
    assert world.ask("stop", run).status == 0
    began = time.monotonic()
    free = world.ask("retry", "plain.toml", "--host", "box")

    assert (other.status, run in other.text()) == (6, True), other.err
    assert (resumed.status, len(resumed.document["attempts"])) == (0, 1), resumed.err
    assert free.status == 0, free.err
    assert "waiting" not in free.err, free.err
    assert time.monotonic() - began < 60
    assert world.ask("stop", free.document["run"]).status == 0


def sshd_sessions(world: World) -> list[int]:
    """Return the processes of the lab's sshd that serve a connection."""
    folder = str(Path(world.lab["known_hosts"]).parent)
    masters = [p for p in _processes() if folder in _command(p) and "sshd" in _command(p)]
    return [p for p in _processes() if _parent(p) in masters and _command(p).startswith("sshd")]


def _processes() -> list[int]:
    return [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()]


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def _parent(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_laptop_that_slept_in_mid_start_goes_on_where_it_was(world: World) -> None:
    child, run = in_mid_start(world)

    os.kill(child.pid, signal.SIGSTOP)
    sessions = sshd_sessions(world)
    for pid in sessions:  # the host gives the connection up meanwhile
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: "fired up" in _log(world, run))
    os.kill(child.pid, signal.SIGCONT)
    out, err = child.communicate(timeout=90)

    done = world.client.checked(["retry"], child.returncode, out, err)
    assert sessions
    assert (done.status, done.document["state"], len(done.document["attempts"])) == (0, "healthy", 1), done.err
    stored = Path(done.document["folder"], done.document["attempts"][0]["log"]).read_text()
    assert _log(world, run).startswith(stored)
    assert world.ask("stop", run).status == 0


def _log(world: World, run: str) -> str:
    path = Path(world.lab["workdir"], "attempts", f"{run}.1", "server.log")
    return path.read_text() if path.exists() else ""


@pytest.mark.ssh
@pytest.mark.timeout(600)
def test_out_of_disk_here_is_said_the_server_is_untouched_and_the_run_goes_on(world: World) -> None:
    world.write("plain.toml", playbook())
    known = runs(world)

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000))

    # Python would keep compiled modules cut off at the limit, for everybody after this test.
    client = replace(world.client, env={**world.client.env, "PYTHONDONTWRITEBYTECODE": "1"})
    child = client.start(
        "retry", "plain.toml", "--host", "box", "--format", "json", stdout=subprocess.PIPE, preexec_fn=small
    )
    out, err = child.communicate(timeout=90)
    run = newest(world, known)
    assert run
    document: dict[str, Any] = json.loads(out)

    assert child.returncode not in {0, 70}, err
    assert b"cannot be" in err, err
    assert document
    live = servers(world, run)
    resumed = world.ask("retry", "--resume", run)
    assert (resumed.status, resumed.document["state"]) == (0, "healthy"), resumed.err
    assert set(live) <= set(servers(world, run)) == {f"{run}.1"}
    assert world.ask("stop", run).status == 0


@pytest.mark.ssh
@pytest.mark.timeout(600)
def test_a_supervisor_that_is_killed_takes_no_server_with_it_and_stop_still_takes_all(world: World) -> None:
    world.write("plain.toml", playbook())
    run = world.ask("retry", "plain.toml", "--host", "box").document["run"]
    state = Path(world.lab["workdir"], "attempts", f"{run}.1", "state.json")
    supervisor, server = (json.loads(state.read_text())[name] for name in ("supervisor", "server"))
    tree = [p for p in _processes() if run in _environ(p)]

    os.kill(supervisor[0], signal.SIGKILL)
    assert wait_until(lambda: not is_alive(*supervisor))

    assert is_alive(*server)
    status = world.ask("status", run).document[0]["server"]
    again = world.ask("retry", "--resume", run)
    other = world.ask("retry", "plain.toml", "--host", "box", "--set", f"port={PORT + 7}")
    stopped = world.ask("stop", run)

    assert status["state"] == "running"
    assert "supervisor was killed" in json.dumps(status)
    assert (again.status, len(again.document["attempts"])) == (0, 1)
    assert other.status == 6
    assert stopped.status == 0
    assert [p for p in tree if p != supervisor[0] and _lives(p)] == []


def _environ(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    return ""


def _lives(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
