"""A client that knows the page of the contract and nothing else: commands, documents, statuses."""

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema

RELIGHT = str(Path(sys.executable).with_name("relight"))
DOCUMENTS = {
    "deploy": "record", "retry": "record", "stop": "record", "report": "record", "runs": "runs", "status": "runs",
    "check": "check", "diagnose": "diagnosis",
}  # fmt: skip
STATUS_OF_STATE = {
    "healthy": {0}, "failed": {1}, "exhausted": {1}, "budget": {4}, "person": {5}, "busy": {6}, "interrupted": {130},
}  # fmt: skip
STATUSES = {0, 1, 2, 3, 4, 5, 6, 70, 130}

PORT = 20000 + os.getpid() % 1000 * 10  # of its own for each run of the tests
MODEL = "nvidia/Qwen3.5-397B-A17B-NVFP4"
PLAYBOOK = """
schema = 1
name = "NAME"
engine = "sglang"
[flags]
model-path = "nvidia/Qwen3.5-397B-A17B-NVFP4"
tp-size = TP
port = PORT
quantization = "modelopt_fp4"
attention-backend = "triton"
[protect]
flags = ["attention-backend", "quantization", "tp-size"]
[health]
soak = "0s"
judge = "off"
"""
TOKEN = "hf_plantedtokenplantedtoken"
KEY = "planted-key-of-the-server"


@dataclass(frozen=True)
class Answer:
    """What one command line said."""

    status: int
    document: Any
    err: str

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = self.document["error"]
        return found

    def text(self) -> str:
        return json.dumps(self.document) + self.err


@dataclass
class Client:
    """Runs command lines in a folder with nothing of the user's own, and holds every answer against the contract."""

    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)
    asked: list[tuple[str, ...]] = field(default_factory=list)
    _schemas: dict[str, Any] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        own = {
            "HOME": str(self.folder / "home"), "RELIGHT_STATE": str(self.folder / "state"),
            "XDG_CONFIG_HOME": str(self.folder / "config"), "PATH": os.environ["PATH"],
        }  # fmt: skip
        (self.folder / "home").mkdir(exist_ok=True)
        return {**own, **self.env}

    def start(self, *words: object, **more: Any) -> "subprocess.Popen[bytes]":
        argv = [RELIGHT, *map(str, words)]
        return subprocess.Popen(argv, cwd=self.folder, env=self.environment(), stderr=subprocess.PIPE, **more)

    @contextmanager
    def lab(self, scenario: str) -> Iterator[dict[str, Any]]:
        """Yield how to reach a lab that runs meanwhile."""
        out = self.folder / f"{Path(scenario).name}.lab"
        with out.open("wb") as file:
            lab = self.start("lab", "--scenario", scenario, stdout=file)
        try:
            assert wait_until(lambda: "workdir" in out.read_text() and out.read_text().endswith("\n\n"))
            (reached,) = tomllib.loads(out.read_text())["hosts"].values()
            yield reached
        finally:
            lab.send_signal(signal.SIGINT)
            lab.communicate(timeout=30)
            assert lab.returncode == 0

    def plain(self, *words: object, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        self.asked.append(tuple(map(str, words)))
        argv = [RELIGHT, *map(str, words)]
        return subprocess.run(
            argv, cwd=self.folder, env=self.environment(), input=stdin, capture_output=True, timeout=300, check=False
        )

    def schema(self, name: str) -> Any:
        if name not in self._schemas:
            self._schemas[name] = json.loads(self.plain("schema", name).stdout)
        return self._schemas[name]

    def ask(self, *words: object, stdin: bytes = b"") -> Answer:
        """Run a command line with --format json; its document and status are valid, or this fails."""
        done = self.plain(*words, "--format", "json", stdin=stdin)
        return self.checked(words, done.returncode, done.stdout, done.stderr)

    def checked(self, words: Sequence[object], status: int, out: bytes, err: bytes) -> Answer:
        said = err.decode()
        assert status in STATUSES, (words, status, said)
        assert b"\x1b" not in out + err, words
        document = json.loads(out)  # exactly one document: anything beside it is an error here
        name = self._document(words, status, document)
        if name:
            jsonschema.validate(document, self.schema(name))
        if name == "record" and words[0] in {"deploy", "retry"}:
            assert status in STATUS_OF_STATE[document["state"]], (words, status, document["state"])
        if name == "error":
            assert document["error"]["status"] == status
            assert document["error"]["text"] in said
        return Answer(status, document, said)

    def _document(self, words: Sequence[object], status: int, document: Any) -> str | None:
        if "--dry-run" in words and status in {0, 1}:
            return "plan"
        several = words[0] == "diagnose" and isinstance(document, list)
        return "error" if status in {2, 3, 70} and not several else DOCUMENTS.get(str(words[0]))


def wait_until(done: Callable[[], bool], seconds: float = 180) -> bool:
    """Look until `done` or the time is over."""
    until = time.monotonic() + seconds
    while not done() and time.monotonic() < until:
        time.sleep(0.05)
    return done()


def playbook(name: str = "plain", *, port: int = PORT, tp: int = 8, more: str = "") -> str:
    return PLAYBOOK.replace("NAME", name).replace("PORT", str(port)).replace("TP", str(tp)) + more


class World:
    """A client, a lab that runs, and the hosts file that names it in several ways."""

    def __init__(self, client: Client, lab: dict[str, Any]) -> None:
        self.client, self.lab, self.ask, self.folder = client, lab, client.ask, client.folder
        self.hosts: dict[str, str] = {}
        self.host("box")

    def host(self, name: str, extra: str = "", **changes: Any) -> str:
        rows = {**self.lab, **changes}
        text = "\n".join(f"{key} = {json.dumps(value)}" for key, value in rows.items())
        self.raw(name, f"[hosts.{name}]\n{text}\n{extra}")
        return name

    def raw(self, name: str, text: str) -> None:
        self.hosts[name] = text
        (self.folder / "hosts.toml").write_text("\n".join(self.hosts.values()))

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def files_with(self, value: str, *where: Path) -> list[str]:
        found = [p for root in where for p in root.rglob("*") if p.is_file()]
        return [str(p) for p in found if value.encode() in p.read_bytes()]
