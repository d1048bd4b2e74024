"""One server over two machines of the lab, each behind an sshd on a loopback address of its own."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from relight.hosts.agent.processes import is_alive
from relight.lab import Lab
from relight.lab import open as open_lab
from tests.ssh.conftest import Proxy
from tests.ssh.contract_client import PORT, Client, wait_until

if TYPE_CHECKING:
    import subprocess

pytestmark = pytest.mark.timeout(240)
SCENARIO = """
title = "two nodes"
version = "0.5.9"
pace = 0.02
release = 0.0
[model]
weights_gib = 40.0
[[fault]]
phase = "moe"
when = ["moe-runner-backend == flashinfer_trtllm", "node-rank == 1"]
type = "AssertionError"
text = "This kernel requires 10.x architecture. Current device has SM 120"
at = "flashinfer/fused_moe/core.py:1482 trtllm_fp4_block_scale_moe_op"
"""
PLAYBOOK = f"""
name = "two"
[flags]
model-path = "nvidia/Qwen3.5-397B-A17B-NVFP4"
tp-size = 2
port = {PORT + 8}
quantization = "modelopt_fp4"
attention-backend = "triton"
MORE
[protect]
flags = ["tp-size"]
[health]
soak = "0s"
judge = "off"
"""


@dataclass
class Pair:
    """Two machines, the way to the second, and a client that knows them as a and b."""

    client: Client
    labs: tuple[Lab, Lab]
    way: Proxy
    started: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    def book(self, name: str, more: str = "") -> str:
        (self.client.folder / name).write_text(PLAYBOOK.replace("MORE", more))
        return name

    def servers(self, run: str) -> list[str]:
        """Return the attempts of a run whose server lives, on both machines."""
        return [name for lab in self.labs for name, server in self._states(lab, run) if server and is_alive(*server)]

    def server(self, rank: int, run: str) -> tuple[int, int]:
        pid, start = next(s for _, s in self._states(self.labs[rank], run) if s and is_alive(*s))
        return pid, start

    def _states(self, lab: Lab, run: str) -> Iterator[tuple[str, Any]]:
        for path in sorted(Path(lab.spec.workdir, "attempts").glob(f"{run}.*/state.json")):
            yield path.parent.name, json.loads(path.read_text()).get("server")

    def launches(self) -> list[int]:
        boxes = (lab.folder / "box" / "launches" for lab in self.labs)
        return [box.stat().st_size if box.exists() else 0 for box in boxes]

    def start(self, *words: object) -> "subprocess.Popen[bytes]":
        events = self.client.folder / "events.jsonl"
        events.unlink(missing_ok=True)
        self.started.append(self.client.start(*words, "--events", events, "-q"))
        return self.started[-1]

    def events(self) -> list[dict[str, Any]]:
        path = self.client.folder / "events.jsonl"
        text = path.read_text() if path.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def seen(self, name: str, times: int = 1) -> bool:
        """Wait until an event has come so many times."""
        return wait_until(lambda: sum(e["event"] == name for e in self.events()) >= times, 90)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Have the way to the second machine carry nothing."""
        self.way.refusing.set()
        self.way.cut()
        yield
        self.way.refusing.clear()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("nodes")
    (folder / "two.toml").write_text(SCENARIO)
    with ExitStack() as stack:
        addresses = ("127.0.0.1", "127.0.0.2")
        labs = [stack.enter_context(open_lab(folder / "lab", str(folder / "two.toml"), address=a)) for a in addresses]
        way = Proxy(labs[1].spec.port or 22, addresses[1])
        known = Path(str(labs[1].spec.known_hosts))
        key = known.read_text().partition(" ")[2]
        with known.open("a") as file:
            file.write(f"[127.0.0.1]:{way.port} {key}")
        second = labs[1].snippet("b").replace('address = "127.0.0.2"', 'address = "127.0.0.1"')
        second = second.replace(f"port = {labs[1].spec.port}", f"port = {way.port}")
        (folder / "hosts.toml").write_text(labs[0].snippet("a") + second)
        made = Pair(Client(folder), (labs[0], labs[1]), way)
        yield made
        for process in made.started:
            process.kill()
            process.wait()
        way.close()


BOTH = ("--host", "a", "--host", "b")


@pytest.mark.ssh
def test_two_nodes_are_one_server_that_a_cut_link_does_not_touch_and_stop_leaves_nothing(pair: Pair) -> None:
    before = pair.launches()
    run = pair.start("deploy", pair.book("two.toml"), *BOTH)
    assert pair.seen("launched")
    assert wait_until(lambda: pair.launches() == [n + 1 for n in before])
    name = f"{pair.events()[0]['run']}.1"
    log = Path(pair.labs[1].spec.workdir, "attempts", f"{name}-node1", "server.log")
    with pair.away():
        # The server comes up meanwhile: the link is nothing to it.
        assert wait_until(lambda: log.exists() and "Dummy health check server" in log.read_text())
    run.communicate(timeout=120)

    record = pair.client.ask("report").document
    attempt = record["attempts"][0]
    assert (run.returncode, record["state"], record["hosts"], len(record["attempts"])) == (0, "healthy", ["a", "b"], 1)
    assert pair.launches() == [n + 1 for n in before]
    assert [n["log"] for n in attempt["nodes"]] == ["attempts/001/server.log", "attempts/001/server.node1.log"]
    for lab, node, host in zip(pair.labs, attempt["nodes"], (name, f"{name}-node1"), strict=True):
        there = Path(lab.spec.workdir, "attempts", host, "server.log").read_bytes()
        here = Path(record["folder"], node["log"]).read_bytes()
        assert here
        assert there.startswith(here)
    (status,) = pair.client.ask("status").document
    assert [(n["host"], n["state"]) for n in status["server"]["nodes"]] == [("a", "running"), ("b", "running")]

    stopped = pair.client.ask("stop")

    assert (stopped.status, pair.servers(record["run"])) == (0, [])


@pytest.mark.ssh
def test_a_follower_that_fails_first_is_diagnosed_and_repaired(pair: Pair) -> None:
    book = pair.book("broken.toml", 'moe-runner-backend = "flashinfer_trtllm"')

    done = pair.client.ask("retry", book, *BOTH, "--forget")

    failed, *_, well = [a for a in done.document["attempts"] if a["rung"] == "real"]
    assert (done.status, failed["outcome"], well["outcome"]) == (0, "crashed", "healthy")
    assert failed["diagnosis"]["log"] == failed["nodes"][1]["log"]
    assert failed["diagnosis"]["cause"]["text"].startswith("AssertionError: This kernel requires")
    assert [n["first"] for n in failed["nodes"]] == [False, True]
    assert failed["nodes"][0]["kind"] in {"comm.peer_died", ""}
    name = f"{done.document['run']}.{well['n']}"
    assert pair.servers(done.document["run"]) == [name, f"{name}-node1"]
    assert pair.client.ask("stop").status == 0


@pytest.mark.soak
def test_a_controller_that_is_killed_takes_both_nodes_up_again(pair: Pair) -> None:
    before = pair.launches()
    run = pair.start("retry", pair.book("two.toml"), *BOTH)
    assert pair.seen("launched")
    assert wait_until(lambda: pair.launches() == [n + 1 for n in before])
    run.kill()
    run.communicate()
    name = pair.events()[0]["run"]

    done = pair.client.ask("retry", "--resume", name)

    assert (done.status, done.document["state"], len(done.document["attempts"])) == (0, "healthy", 1)
    assert pair.launches() == [n + 1 for n in before]

    with pair.away():
        lost = pair.client.ask("stop")
    assert lost.status == 3
    assert lost.error["place"] == "b"
    assert "attempt 1 on a" in lost.error["text"]
    assert pair.client.ask("stop", name).status == 0
    assert pair.servers(name) == []


@pytest.mark.soak
def test_a_follower_killed_under_a_kept_server_is_noticed_and_both_come_back(pair: Pair) -> None:
    run = pair.start("retry", pair.book("two.toml"), *BOTH, "--keep")
    assert pair.seen("healthy")
    name = pair.events()[0]["run"]

    os.kill(pair.server(1, name)[0], signal.SIGKILL)
    assert pair.seen("healthy", 2)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)

    record = pair.client.ask("report", name).document
    assert [(a["outcome"], [n["first"] for n in a["nodes"]]) for a in record["attempts"]] == [
        ("healthy", [False, True]),
        ("healthy", [False, False]),
    ]
    assert record["attempts"][0]["nodes"][1]["exit"] == {"code": None, "signal": 9}
    assert pair.servers(name) == [f"{name}.2", f"{name}.2-node1"]
    assert pair.client.ask("stop", name).status == 0


@pytest.mark.ssh
def test_a_node_out_of_reach_is_status_3_and_nothing_is_launched(pair: Pair) -> None:
    before = pair.launches()

    with pair.away():
        done = pair.client.ask("deploy", pair.book("two.toml"), *BOTH)

    assert (done.status, done.error["place"], pair.launches()) == (3, "b", before)


@pytest.mark.ssh
def test_check_looks_at_every_node_and_the_way_between_them(pair: Pair) -> None:
    done = pair.client.ask("check", pair.book("two.toml"), *BOTH, "--no-validate")

    found = {f["place"]: f["text"] for f in done.document["findings"]}
    assert (done.status, done.document["ok"]) == (0, True)
    assert found["a + b: meeting"].startswith("all nodes reach a at ")
    assert {"a: engine", "b: engine"} <= found.keys()
