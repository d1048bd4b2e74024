"""Secrets are planted wherever a secret can come from; nothing that relight keeps or shows holds one."""

import json
import os
import pty
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.ssh.contract_client import Client

SECRETS = int(os.environ.get("RELIGHT_SOAK_SECRETS", "500"))
ENGINE = """
import json, os, sys
here = os.path.dirname(os.path.abspath(__file__))
given = open(sys.argv[sys.argv.index("--config") + 1]).read()
print("[2026-11-29 10:00:00] server_args=ServerArgs(model_path='m', %s)" % given.replace("\\n", ", "))
print(json.dumps(dict(os.environ)))
for name, value in os.environ.items():
    print(f"{name}={value}")
    print("\\x1b[31m" + repr(value))
sys.stdout.flush()
for line in open(os.path.join(here, "shaped.txt")):
    sys.stdout.write(line)
raise RuntimeError("cannot work with " + repr({k: v for k, v in os.environ.items() if k.startswith("PLANTED")}))
"""
PLAYBOOK = 'schema = 1\nname = "leaky"\nengine = "sglang"\n[flags]\nmodel-path = "m"\nport = 29999\n'
SHAPES = (
    "api_key='{core}zz'", '"access_token": "{core}"', "password: {core}", "HF_TOKEN={core}", "token hf_{core}AAAA",
    "key sk-{core}BBBB", "https://ada:{core}@mirror.example/x", "Authorization: Bearer {core}",
    "--admin-api-key {core}", "ghp_{core}abcdef", "aws AKIA{big}", "client_secret={core};",
    "\\x1b[1mWANDB_API_KEY: '{core}'\\x1b[0m",
    "{{'auth_token': '{core}'}}", "progress 3%\\rprivate_key=\"{core}\"\\r100%",
)  # fmt: skip
AROUND = (
    "",
    "pass word ",
    "quo'te\"",
    "back\\slash",
    "söcret-",
    "a/b+c=d&",
    "$(touch canary)",
    "`id`;",
    "100%s{}",
    "-x ",
)


@dataclass(frozen=True)
class Planted:
    """A secret: `core` is what must not be found, `value` all of it, `way` how it is planted."""

    core: str
    value: str
    way: str


def plant(number: int) -> list[Planted]:
    rng = random.Random(number)  # noqa: S311  the same secrets every time
    found = []
    for n in range(number):
        core = f"{rng.getrandbits(80):020x}"
        way = ("env", "file", "shape", "env", "shape")[n % 5] if n > 1 else "flag"
        around = AROUND[n % len(AROUND)]
        found.append(Planted(core, f"{around}{core}{around[::-1]}" if way != "flag" else f"key {around}{core}", way))
    return found


@dataclass
class Site:
    """A host with a server that prints all it knows, and a client that names its secrets."""

    client: Client
    secrets: list[Planted]
    work: Path

    def leaks(self, *said: bytes) -> list[str]:
        """Return the secrets found in what was said or kept, however they are written."""
        files = [p for p in (self.client.folder / "state").rglob("*") if p.is_file()]
        kept = {str(p): p.read_bytes() for p in files} | {f"said {n}": text for n, text in enumerate(said)}
        return [
            f"{secret.core} in {name}"
            for name, data in kept.items()
            for secret in self.secrets
            if secret.core.encode() in data or b"AKIA" + secret.core.upper()[:16].encode() in data
        ]


@pytest.fixture
def site_at(sshd: Any, tmp_path: Path) -> Callable[[int], Site]:
    def make(number: int) -> Site:
        secrets = plant(number)
        package = tmp_path / "modules" / "sglang"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "version.py").write_text('__version__ = "0.5.9"\n')
        (package / "launch_server.py").write_text(ENGINE)
        shaped = [s for s in secrets if s.way == "shape"]
        lines = [SHAPES[n % len(SHAPES)].format(core=s.core, big=s.core.upper()[:16]) for n, s in enumerate(shaped)]
        (package / "shaped.txt").write_bytes(
            "".join(f"{line}\n" for line in lines).encode().decode("unicode_escape").encode()
        )
        folder = tmp_path / "client"
        folder.mkdir()
        rows, env = [], {}
        for n, secret in enumerate(secrets):
            if secret.way == "env":
                env[f"SOURCE_{n}"] = secret.value
                rows.append(f'PLANTED_{n} = "env:SOURCE_{n}"')
            elif secret.way == "file":
                (folder / f"secret{n}").write_text(secret.value)
                rows.append(f'PLANTED_{n} = "file:{folder}/secret{n}"')
        flags = [s for s in secrets if s.way == "flag"]
        env |= {"KEY_0": flags[0].value, "KEY_1": flags[1].value}
        spec = sshd.spec(python=sys.executable)
        table = {name: getattr(spec, name) for name in ("address", "port", "identity_file", "known_hosts", "workdir")}
        text = "\n".join(f"{k} = {json.dumps(v)}" for k, v in {**table, "python": sys.executable}.items())
        (folder / "hosts.toml").write_text(
            f'[hosts.box]\n{text}\n[hosts.box.env]\nPYTHONPATH = "{package.parent}"\n[hosts.box.secrets]\n'
            + "\n".join(rows)
            + '\n[hosts.box.secret-flags]\napi-key = "env:KEY_0"\nadmin-api-key = "env:KEY_1"\n'
        )
        (folder / "leaky.toml").write_text(PLAYBOOK)
        return Site(Client(folder, env), secrets, Path(spec.workdir))

    return make


@contextmanager
def command_lines_watched(secrets: list[Planted]) -> Iterator[list[str]]:
    """Look at every command line of this machine all the time; collect those with a secret."""
    found: list[str] = []
    over = threading.Event()
    cores = [s.core.encode() for s in secrets]

    def look() -> None:
        while not over.wait(0.01):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    data = path.read_bytes()
                    found.extend(core.decode() for core in cores if core in data)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    yield found
    over.set()
    thread.join(10)


def on_a_terminal(client: Client, *words: str) -> tuple[int, bytes]:
    """Run a command on a terminal of its own; return its status and all that was shown there."""
    ours, theirs = pty.openpty()
    env = {**client.environment(), "TERM": "xterm-256color", "COLUMNS": "160", "LINES": "50"}
    relight = str(Path(sys.executable).with_name("relight"))
    child = subprocess.Popen([relight, *words], cwd=client.folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    with suppress(OSError):
        while data := os.read(ours, 1 << 16):
            shown += data
    os.close(ours)
    return child.wait(60), shown


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(60, marks=[pytest.mark.ssh, pytest.mark.timeout(300)]),
        pytest.param(SECRETS, marks=[pytest.mark.soak, pytest.mark.timeout(1200)]),
    ],
    ids=["some", "many"],
)
def test_no_planted_secret_is_found_in_state_logs_reports_screens_or_command_lines(
    site_at: Callable[[int], Site], number: int
) -> None:
    site = site_at(number)
    client = site.client
    with command_lines_watched(site.secrets) as on_command_lines:
        status, screen = on_a_terminal(client, "deploy", "leaky.toml", "--host", "box", "-v")
    (run,) = (p.name for p in (client.folder / "state" / "runs").iterdir())
    (log,) = site.work.glob("attempts/*/server.log")
    stored = client.folder / "state" / "runs" / run / "attempts" / "001" / "server.log"
    commands = [
        ("report", run), ("report", run, "--format", "md"), ("report", run, "--format", "html"),
        ("report", run, "--format", "json"), ("report", run, "--issue"),
        ("report", run, "--bundle", "state/bundle.tar"),
        ("logs", run), ("logs", run, "--format", "json"), ("status", run), ("runs", "--format", "json"),
        ("diagnose", f"box:{log}"), ("diagnose", f"box:{log}", "--format", "json"), ("diagnose", str(stored)),
        ("check", "leaky.toml", "--host", "box"), ("stop", run), ("retry", "--resume", run, "--format", "json"),
    ]  # fmt: skip
    said = [client.plain(*words) for words in commands]

    printed = log.read_bytes()
    assert status == 1, screen[-2000:]
    assert len({found.split()[0] for found in site.leaks(printed)}) == number, "the server did not print them all"
    assert len(stored.read_bytes()) == len(printed)
    assert not [words for words, done in zip(commands, said, strict=True) if done.returncode == 70]
    assert site.leaks(screen, *(done.stdout + done.stderr for done in said)) == []
    assert on_command_lines == []
    assert not list(client.folder.rglob("canary")) + list(site.work.rglob("canary"))
    size = sum(p.stat().st_size for p in (client.folder / "state").rglob("*") if p.is_file())
    shown = len(screen) + sum(len(done.stdout + done.stderr) for done in said)
    print(f"\n{number} planted secrets: 0 found in {size} bytes kept, {shown} bytes shown, any command line")  # noqa: T201
