"""The real SGLang on the CPU behind a real sshd, and relight as a user runs it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.ssh.conftest import Server, free_port, sshd, sshd_at

__all__ = ["sshd", "sshd_at"]
RELIGHT = str(Path(sys.executable).with_name("relight"))
FOLDER = Path(os.environ.get("RELIGHT_REAL", Path.home() / ".cache/relight/real"))
ENGINE = "0.5.23"
BASE = {"device": "cpu", "attention-backend": "torch_native", "max-total-tokens": 4096, "max-running-requests": 4}


def interpreter(version: str = ENGINE) -> str:
    """Return the Python that has the real engine; without it the tier is skipped, or fails where CI asks for it."""
    python = FOLDER / version / "bin" / "python"
    if python.exists():
        return str(python)
    if os.environ.get("RELIGHT_REQUIRE") == "1":
        pytest.fail(f"the real SGLang {version} is missing: {python}")
    pytest.skip(f"the real SGLang {version} is not installed; make test-real installs it")


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the tiny model once."""
    folder = tmp_path_factory.mktemp("models") / "tiny-gpt2"
    script = Path(__file__).with_name("make_model.py")
    subprocess.run([interpreter(), str(script), str(folder)], check=True, capture_output=True, timeout=300)
    return folder


@dataclass
class Desk:
    """A user's folder: hosts.toml, playbooks, state, and the command."""

    folder: Path
    sshd: Server
    model: Path
    port: int = field(default_factory=free_port)
    running: list["subprocess.Popen[str]"] = field(default_factory=list)

    def hosts(self, version: str = ENGINE) -> None:
        """Write hosts.toml for the sshd."""
        spec = self.sshd.spec()
        (self.folder / "hosts.toml").write_text(
            f'[hosts.cpu]\naddress = "{spec.address}"\nport = {spec.port}\nidentity_file = "{spec.identity_file}"\n'
            f'known_hosts = "{spec.known_hosts}"\npython = "{interpreter(version)}"\nworkdir = "{spec.workdir}"\n'
            '[hosts.cpu.env]\nHF_HUB_OFFLINE = "1"\n'
        )

    def playbook(self, name: str, *, more: str = "", **flags: Any) -> str:
        """Write a playbook; a flag given as None is left out."""
        asked = {name.replace("_", "-"): value for name, value in flags.items()}
        given = {"model-path": str(self.model), "port": self.port, **BASE, **asked}
        lines = [f"{k} = {json.dumps(v)}" for k, v in given.items() if v is not None]
        text = f'schema = 1\nname = "{name}"\nengine = "sglang"\n[flags]\n' + "\n".join(lines)
        text += f'\n[health]\njudge = "shape"\nsoak = "1s"\ndeadline = "8m"\n{more}'
        path = self.folder / f"{name}.toml"
        path.write_text(text)
        return str(path)

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start relight without waiting for it."""
        process = subprocess.Popen(
            [RELIGHT, *words, "--state", str(self.folder / "state")],
            cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.running.append(process)
        return process

    def relight(self, *words: str, timeout: float = 900) -> tuple[int, Any, str]:
        """Run relight with --format json; return status, the document, and what people see."""
        process = self.start(*words, "--format", "json")
        out, err = process.communicate(timeout=timeout)
        return process.returncode, json.loads(out), err

    def processes(self) -> list[str]:
        """Return the command lines of everything that still uses the model or the work folder."""
        marks = (str(self.model), str(self.sshd.folder / "work"))
        found = [line for line in _command_lines() if any(m in line for m in marks)]
        return [line for line in found if "sshd" not in line]


def _command_lines() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue


@pytest.fixture
def desk(tmp_path: Path, sshd: Server, model: Path) -> Iterator[Desk]:
    """Give a user's folder; whatever is left running on the host is stopped at the end."""
    folder = tmp_path / "desk"
    folder.mkdir()
    desk = Desk(folder, sshd, model)
    desk.hosts()
    yield desk
    for process in desk.running:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
    for record in desk.relight("runs")[1]:
        desk.relight("stop", record["run"])
