"""How soon things are known and done, and what looking costs. Each prints its figure; a loaded machine spoils them."""

import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from relight.attempts.clock import SystemClock, stamp
from relight.attempts.loop import run
from relight.attempts.order import RunOrder
from relight.config.knowledge import load_knowledge
from relight.hosts.interface import Host, LaunchOrder
from relight.journal.journal import Journal
from relight.words.playbook import Health, Lever, Playbook, Variant
from tests.ssh.conftest import free_port
from tests.ssh.test_link import ancestors

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]
IDLE = float(os.environ.get("RELIGHT_SOAK_IDLE", "60"))
ROUNDS = int(os.environ.get("RELIGHT_SOAK_ROUNDS", "5"))
LINGER = 4.0
ENGINE = f"""
import http.server, json, os, sys, time
if "trtllm_mha" in sys.argv:
    print("[2026-11-29 10:00:00 TP0] Load weight begin. avail mem=94.60 GB")
    print("Traceback (most recent call last):")
    print('  File "/e/sglang/srt/managers/scheduler.py", line 3000, in run_scheduler_process')
    print("    scheduler.run()")
    print("RuntimeError: CUDA error: an illegal memory access was encountered")
    print("[2026-11-29 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):")
    print("RuntimeError: CUDA error: an illegal memory access was encountered", flush=True)
    open(os.environ["TIMES"], "a").write(json.dumps(["traceback", time.time()]) + "\\n")
    time.sleep({LINGER})
    open(os.environ["TIMES"], "a").write(json.dumps(["exit", time.time()]) + "\\n")
    os._exit(1)
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"{{}}")
    def log_message(self, *_):
        pass
print("The server is fired up and ready to roll!", flush=True)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Answers).serve_forever()
"""


def idle_host(sshd: Any) -> Host:
    host: Host = sshd.host(python=sys.executable)
    host.connect()
    return host


def test_a_question_costs_less_than_a_millisecond_of_the_channel(sshd: Any) -> None:
    host: Any = idle_host(sshd)
    took = []
    for _ in range(2000):
        began = time.perf_counter()
        host._ask("clock", timeout=5.0)
        took.append(time.perf_counter() - began)

    median = statistics.median(took) * 1000
    print(f"\n2000 questions over SSH: {median:.2f} ms each (median), {sorted(took)[1900] * 1000:.2f} ms (95 of 100)")  # noqa: T201
    assert median < 1.0


def cpu_of(pid: int) -> float:
    """Return the seconds of processor time that a process used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_an_idle_log_costs_less_than_a_hundredth_of_a_core(sshd: Any, tmp_path: Path) -> None:
    (tmp_path / "silent.py").write_text("import time\nprint('begins', flush=True)\ntime.sleep(3600)\n")
    host = idle_host(sshd)
    launched = host.launch(LaunchOrder("run-1", [], env={"PYTHONPATH": str(tmp_path)}, module="silent"))
    stream = host.follow("run-1", 0)
    assert stream.read(10.0) == b"begins\n"
    agents = [p.pid for p in host.processes() if "relight-agent" in p.command and p.pid != launched.supervisor]
    mine = [pid for pid in agents if ancestors(pid) & set(sshd.sessions())] + [launched.supervisor or 0]
    began, here = {pid: cpu_of(pid) for pid in mine}, time.process_time()
    until = time.monotonic() + IDLE

    while time.monotonic() < until:
        assert stream.read(0.5) == b""

    controller = (time.process_time() - here) / IDLE
    host_side = sum(cpu_of(pid) - before for pid, before in began.items()) / IDLE
    host.stop("run-1", patience=1.0)
    print(f"\nan idle log, {IDLE:.0f} s: {controller:.2%} of a core here, {host_side:.2%} on the host")  # noqa: T201
    assert controller < 0.01
    assert host_side < 0.03  # two agents and a supervisor


class Timed:
    """A host that notes when it was found clean and when a launch was sent."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.notes: list[tuple[str, float]] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._host, name)
        if name not in {"clean", "gpus", "launch", "listeners"}:
            return found

        def noted(*args: Any, **named: Any) -> Any:
            if name == "launch":
                self.notes.append((name, time.time()))
            answer = found(*args, **named)
            if name != "launch":
                self.notes.append((name, time.time()))
            return answer

        return noted


@contextmanager
def deployment(sshd: Any, folder: Path) -> Iterator[tuple[Playbook, Any]]:
    package = folder / "modules" / "sglang"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "version.py").write_text('__version__ = "0.5.9"\n')
    (package / "launch_server.py").write_text(ENGINE)
    attention = Lever("attention", tuple(Variant({"attention-backend": b}) for b in ("trtllm_mha", "triton")), 1.0)
    book = Playbook(
        "prompt", flags={"model-path": "m", "port": free_port()}, levers=(attention,),
        env={"TIMES": str(folder / "times")}, health=Health(judge="off", soak=0.0),
    )  # fmt: skip
    env = {"PYTHONPATH": str(package.parent)}
    host = sshd.host(python=sys.executable, env=env, workdir=str(folder / "work"))
    yield book, host
    for status in host.attempts():
        host.stop(status.attempt_id, patience=0.5)


def test_a_crash_is_known_at_once_and_the_next_launch_follows_a_clean_host(sshd: Any, tmp_path: Path) -> None:
    knowledge = load_knowledge()
    after_traceback, after_exit, after_clean, whole = [], [], [], []
    for n in range(ROUNDS):
        folder = tmp_path / f"round{n}"
        folder.mkdir()
        told: list[tuple[float, Any]] = []
        with deployment(sshd, folder) as (book, real):
            host: Any = Timed(real)
            order = RunOrder(book, real.spec, owner_user="t", owner_host="h")
            with Journal.create(
                folder / "state", playbook=book, specs=[real.spec], started=stamp(time.time())
            ) as journal:
                record = run(
                    order, host, journal, knowledge, clock=SystemClock(),
                    emit=lambda event: told.append((time.time(), event)),  # noqa: B023  run ends in this round
                )  # fmt: skip
        times = dict(json.loads(line) for line in (folder / "times").read_text().splitlines())
        crashed = [at for at, event in told if event.event == "crashed"]
        launch = [at for name, at in host.notes if name == "launch"][1]
        clean = max(at for name, at in host.notes if name in {"clean", "gpus"} and at < launch)

        assert [a.outcome for a in record.attempts] == ["crashed", "healthy"]
        after_traceback.append(crashed[0] - times["traceback"])
        after_exit.append(crashed[-1] - times["exit"])
        after_clean.append(launch - clean)
        whole.append(launch - times["exit"])

    figures = (
        f"{max(after_traceback):.2f} s after the last traceback, {max(after_exit):.2f} s after the exit; next launch "
        f"{max(after_clean):.2f} s after the host was clean, {max(whole):.2f} s after the exit"
    )
    print(f"\n{ROUNDS} crashes known at worst {figures}")  # noqa: T201
    assert max(after_traceback) <= 2.0
    assert max(after_exit) <= 1.0
    assert max(after_clean) <= 1.0
