"""A simulated machine in a folder, and servers started on it by hand."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest

from relight.lab.lab import end_processes
from relight.lab.machine import install
from relight.lab.scenario import load_scenario, read_scenario

FAST = 0.01
MODEL = "nvidia/Qwen3.5-397B-A17B-NVFP4"
READY = "The server is fired up and ready to roll!"


class Server:
    """A server of the stand-in; its output is read as it comes."""

    def __init__(self, python: Path, argv: list[str], env: Mapping[str, str]) -> None:
        self.port = free_port()
        base = [str(python), "-m", "sglang.launch_server", "--model-path", MODEL, "--port", str(self.port)]
        self.process = subprocess.Popen(
            [*base, *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(env), start_new_session=True
        )
        self.log = ""

    def read_until(self, text: str, patience: float = 20.0) -> str:
        """Read until `text` has come or the output has ended; return all of it."""
        assert self.process.stdout
        until = time.monotonic() + patience
        while text not in self.log and time.monotonic() < until:
            if not select.select([self.process.stdout], [], [], until - time.monotonic())[0]:
                break
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                break
            self.log += data.decode()
        return self.log

    def ended(self) -> int:
        """Read to the end and return the exit status."""
        self.read_until("\0never")
        return self.process.wait(60)

    def ask(self, path: str, body: Any = None, headers: Mapping[str, str] = {}) -> tuple[int, Any]:
        """Ask over HTTP; status 0 where nobody listens."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, dict(headers))
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            return error.code, None
        except OSError:
            return 0, None

    def close(self) -> None:
        """End the whole tree."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)
        if self.process.stdout:
            self.process.stdout.close()


class Start(Protocol):
    """Lay out the machine of a scenario and start a server on it."""

    def __call__(
        self, scenario: str, *argv: str, tp: int = 8, pace: float = FAST, env: Mapping[str, str] = {}
    ) -> Server: ...


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Where the machine is laid out."""
    return tmp_path / "machine"


@pytest.fixture
def start(machine: Path) -> Iterator[Start]:
    """Start servers; all of them are ended afterwards."""
    started: list[Server] = []

    def begin(scenario: str, *argv: str, tp: int = 8, pace: float = FAST, env: Mapping[str, str] = {}) -> Server:
        python = machine / "opt" / "sglang" / "bin" / "python"
        if not python.exists():
            install(machine, read_scenario(hurried(scenario, pace), scenario, scenario))
        base = {"PATH": os.defpath, "HOME": str(machine / "home"), "SPT_NOENV": "1"}
        server = Server(python, ["--tp-size", str(tp), *argv], base | dict(env))
        started.append(server)
        return server

    yield begin
    for server in started:
        server.close()
    end_processes(machine)


def hurried(scenario: str, pace: float) -> str:
    """Return the text of a scenario at another pace; memory of the dead comes back at once unless it is about that."""
    text = re.sub(r"(?m)^pace = .*$", "", load_scenario(scenario).text)
    return "\n".join([f"pace = {pace}", "" if "release =" in text else "release = 0.0", text])


@pytest.fixture
def smi(machine: Path) -> Any:
    """Ask the machine's nvidia-smi; rows of CSV."""

    def ask(*words: str) -> list[list[str]]:
        program = machine / "opt" / "sglang" / "bin" / "nvidia-smi"
        done = subprocess.run([str(program), *words], capture_output=True, text=True, check=True, timeout=20)
        return [line.split(", ") for line in done.stdout.splitlines()]

    return ask
