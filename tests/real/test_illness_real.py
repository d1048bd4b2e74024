"""Servers of the real engine that are stopped, killed, shadowed or fed with broken weights."""

import json
import os
import shutil
import signal
import socket
import socketserver
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.real.conftest import BASE, Desk, interpreter
from tests.real.test_faults_real import holds, scheduler, until
from tests.ssh.conftest import free_port

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]
WAIT = 600.0
ALLOWED = '[allow]\nflags = ["port"]\n'


def broken(desk: Desk, change: Callable[[bytearray], bytes]) -> str:
    """Return a copy of the model whose weight file is what `change` makes of it."""
    folder = desk.folder / "broken"
    shutil.copytree(desk.model, folder)
    file = folder / "model.safetensors"
    file.write_bytes(change(bytearray(file.read_bytes())))
    return str(folder)


def cut(data: bytearray) -> bytes:
    return bytes(data[: len(data) // 2])


def nan(data: bytearray) -> bytes:
    """Let the last norm's weights be NaN: the file is sound, every answer is not."""
    size = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + size])
    begin, end = next(about["data_offsets"] for name, about in head.items() if "ln_f.weight" in name)
    for at in range(8 + size + begin, 8 + size + end, 2):
        data[at : at + 2] = b"\xc0\x7f"
    return bytes(data)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [(cut, "model.weights", "A weight file is corrupt"), (nan, "numerics.nan", "NaN or infinity")],
    ids=["cut", "nan"],
)
def test_broken_weights_are_named(desk: Desk, change: Callable[[bytearray], bytes], kind: str, said: str) -> None:
    book = desk.playbook("broken", model_path=broken(desk, change))

    status, record, err = desk.relight("deploy", book, "--host", "cpu")

    cause = record["attempts"][0]["diagnosis"]["cause"]
    assert (status, cause["kind"]) == (1, kind), err
    assert said in cause["summary"]
    assert desk.processes() == []


def outcomes(record: Any) -> list[str]:
    return [a["outcome"] for a in record["attempts"]]


def retried(desk: Desk, name: str, fault: Callable[[Desk], None]) -> Any:
    """Run `retry` and do `fault` once the weights are loaded; return the record."""
    process = desk.start("retry", desk.playbook(name), "--host", "cpu", "--format", "json")
    until(lambda: holds(desk, b"Load weight begin"), WAIT)
    fault(desk)
    out, err = process.communicate(timeout=1500)
    assert process.returncode == 0, err
    return json.loads(out)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("number", "outcome", "kinds"),
    [(signal.SIGSTOP, "hung", {"hang.startup", "hang.health"}), (signal.SIGKILL, "crashed", {"process.killed"})],
)
def test_a_scheduler_stopped_or_killed_in_mid_start_is_named_and_started_again(
    desk: Desk, number: signal.Signals, outcome: str, kinds: set[str]
) -> None:
    record = retried(desk, "struck", lambda desk: os.kill(scheduler(desk), number))

    assert outcomes(record) == [outcome, "healthy"]
    assert record["attempts"][0]["diagnosis"]["cause"]["kind"] in kinds
    if number == signal.SIGKILL:
        # The kernel killed nothing for want of memory: no setting is to blame.
        assert record["attempts"][0]["diagnosis"]["action"] == "again"
        assert record["attempts"][1]["argv"] == record["attempts"][0]["argv"]


@pytest.mark.soak
def test_a_scheduler_stopped_after_healthy_is_noticed_within_half_a_minute(desk: Desk) -> None:
    events = desk.folder / "events.jsonl"
    desk.start("retry", desk.playbook("kept"), "--host", "cpu", "--keep", "--events", str(events))
    until(lambda: events.exists() and '"event": "healthy"' in events.read_text(), WAIT)

    os.kill(scheduler(desk), signal.SIGSTOP)
    began = time.monotonic()
    until(lambda: '"event": "crashed"' in events.read_text(), 120)
    noticed = time.monotonic() - began
    until(lambda: events.read_text().count('"event": "healthy"') >= 2, WAIT)

    diagnosed = [json.loads(x) for x in events.read_text().splitlines() if '"event": "diagnosed"' in x]
    assert noticed < 40
    assert diagnosed[0]["diagnosis"]["cause"]["kind"] == "hang.health"
    assert list(desk.folder.glob("state/runs/*/attempts/001/hung.txt"))


@pytest.mark.soak
def test_a_kept_server_that_is_killed_again_and_again_ends_when_the_day_is_spent(desk: Desk) -> None:
    events = desk.folder / "events.jsonl"
    book = desk.playbook("day", more="[budget]\nattempts = 2\n")
    process = desk.start("retry", book, "--host", "cpu", "--keep", "--events", str(events), "--format", "json")
    for n, victim in enumerate((parent, scheduler), start=1):
        until(partial(was_healthy, events, n), WAIT)
        os.kill(victim(desk), signal.SIGKILL)
    out, err = process.communicate(timeout=600)

    record = json.loads(out)
    assert (process.returncode, record["state"], outcomes(record)) == (4, "budget", ["healthy", "healthy"]), err
    assert [i["why"] for i in record["incidents"]] == ["the server died (signal 9)"] * 2
    assert record["attempts"][0]["argv"] == record["attempts"][1]["argv"]
    assert [a["diagnosis"]["cause"]["kind"] for a in record["attempts"]] == ["process.killed"] * 2
    assert desk.processes() == []


def was_healthy(events: Path, times: int) -> bool:
    return events.exists() and events.read_text().count('"event": "healthy"') >= times


def parent(desk: Desk) -> int:
    """Return the main process of our own server."""
    status = Path(f"/proc/{scheduler(desk)}/stat").read_text()
    return int(status.rpartition(")")[2].split()[1])


@contextmanager
def another_server(desk: Desk) -> Iterator[int]:
    """Run a server of the engine that relight knows nothing of; yield its port."""
    port = free_port()
    flags = [word for name, value in BASE.items() for word in (f"--{name}", str(value))]
    argv = [interpreter(), "-m", "sglang.launch_server", "--model-path", str(desk.model), "--port", str(port), *flags]
    with (desk.folder / "another.log").open("wb") as log:
        env = {**os.environ, "HF_HUB_OFFLINE": "1"}
        process = subprocess.Popen(argv, stdout=log, stderr=log, env=env, start_new_session=True)
        try:
            until(lambda: answers(port), WAIT)
            yield port
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5) as said:
            return bool(said.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@pytest.mark.soak
def test_a_port_that_another_server_has_is_named_or_left_for_another(desk: Desk) -> None:
    with another_server(desk) as desk.port:
        status, taken, err = desk.relight("retry", desk.playbook("taken"), "--host", "cpu")
        moved_status, moved, _ = desk.relight("retry", desk.playbook("moved", more=ALLOWED), "--host", "cpu")

        assert (status, taken["state"]) == (5, "person"), err
        assert f"--model-path {desk.model}"[:40] in taken["reason"]
        assert (moved_status, moved["state"]) == (0, "healthy")
        assert moved["attempts"][-1]["settings"]["flags"]["port"] != desk.port
        assert answers(desk.port)


class Forward(socketserver.BaseRequestHandler):
    """Hands every connection on to `target`."""

    target = 0

    def handle(self) -> None:
        """Copy both ways until one side ends."""
        with socket.create_connection(("127.0.0.1", self.target)) as there:
            back = threading.Thread(target=copied, args=(there, self.request), daemon=True)
            back.start()
            copied(self.request, there)
            back.join(5.0)


def copied(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return


@pytest.mark.soak
def test_another_server_that_takes_the_port_in_mid_start_is_not_taken_for_ours(desk: Desk) -> None:
    with another_server(desk) as Forward.target:
        process = desk.start("retry", desk.playbook("late"), "--host", "cpu", "--max-attempts", "1", "--format", "json")
        until(lambda: holds(desk, b"Load weight begin"), WAIT)
        socketserver.ThreadingTCPServer.daemon_threads = True
        with socketserver.ThreadingTCPServer(("127.0.0.1", desk.port), Forward) as door:
            threading.Thread(target=door.serve_forever, daemon=True).start()
            out, err = process.communicate(timeout=1500)
            door.shutdown()

    record = json.loads(out)
    assert outcomes(record)[0] == "crashed", err
    assert record["attempts"][0]["diagnosis"]["cause"]["kind"] == "comm.port_in_use"
    assert process.returncode != 0
    assert desk.processes() == []


@pytest.mark.soak
def test_a_pool_too_small_for_the_warm_up_is_named_and_made_larger(desk: Desk) -> None:
    status, record, err = desk.relight("retry", desk.playbook("tiny", max_total_tokens=24), "--host", "cpu")

    assert (status, outcomes(record)) == (0, ["crashed", "healthy"]), err
    assert record["attempts"][0]["diagnosis"]["cause"]["kind"] == "oom.gpu.kv_pool"
    assert [c["set"] for c in record["attempts"][1]["changes"]] == [{"max-total-tokens": 4096}]


@pytest.mark.soak
def test_a_pool_smaller_than_one_long_request_is_healthy_as_far_as_it_goes_and_told(desk: Desk) -> None:
    status, record, err = desk.relight("retry", desk.playbook("small", max_total_tokens=160), "--host", "cpu")

    assert (status, outcomes(record)) == (0, ["healthy"]), err
    assert any("the pool holds 160 tokens" in note for note in record["attempts"][0]["judged"])
