"""Commands against a host: every document valid, every status as documented (CONTRACT.md section 1)."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from relight.cli.schema import schema_of
from relight.lab import Lab
from relight.lab import open as open_lab
from tests.cli.conftest import Relight

pytestmark = pytest.mark.ssh
PORT = 31950
PLAYBOOK = f"""
name = "plain"
[flags]
model-path = "nvidia/Qwen3.5-397B-A17B-NVFP4"
tp-size = 8
port = {PORT}
quantization = "modelopt_fp4"
attention-backend = "triton"
[protect]
flags = ["attention-backend", "quantization"]
[health]
soak = "0s"
judge = "off"
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with open_lab(tmp_path_factory.mktemp("lab"), "plain") as machine:
        yield machine


@pytest.fixture
def files(lab: Lab, tmp_path: Path, relight: Relight) -> Iterator[Path]:
    (tmp_path / "hosts.toml").write_text(lab.snippet())
    (tmp_path / "play.toml").write_text(PLAYBOOK)
    yield tmp_path
    relight("stop")


@pytest.mark.usefixtures("files")
def test_check_finds_nothing_wrong_and_launches_nothing(relight: Relight) -> None:
    done = relight("check", "play.toml", "--host", "simulated", "--format", "json")

    jsonschema.validate(done.json, schema_of("check"))
    assert (done.status, done.json["ok"]) == (0, True)
    assert relight("runs", "--format", "json").json == []


def test_check_names_a_flag_the_host_does_not_have(relight: Relight, files: Path) -> None:
    (files / "play.toml").write_text(PLAYBOOK.replace("tp-size = 8", "tp-sise = 8"))

    done = relight("check", "play.toml", "--host", "simulated", "--format", "json")

    assert done.status == 1
    assert "--tp-sise" in next(f for f in done.json["findings"] if f["severity"] == "error")["text"]


def test_a_typo_in_a_flag_is_status_2_before_anything_is_launched(relight: Relight, files: Path) -> None:
    (files / "play.toml").write_text(PLAYBOOK.replace("tp-size = 8", "tp-sise = 8"))

    done = relight("deploy", "play.toml", "--host", "simulated", "--format", "json")

    assert done.status == 2
    jsonschema.validate(done.json, schema_of("error"))
    assert "tp-size" in done.json["error"]["next"] + done.json["error"]["text"]


@pytest.mark.usefixtures("files")
def test_a_dry_run_shows_the_launch_and_keeps_nothing(relight: Relight) -> None:
    done = relight(
        "retry", "play.toml", "--host", "simulated", "--dry-run", "--format", "json", "--set", "page-size=64"
    )

    jsonschema.validate(done.json, schema_of("plan"))
    launch = done.json["plan"][-1]
    assert (done.status, launch["step"], launch["rung"]) == (0, "launch", "real")
    assert launch["argv"][-2:] == ["--page-size", "64"]
    assert relight("runs", "--format", "json").json == []


def test_a_server_lives_through_its_whole_life(relight: Relight, files: Path) -> None:
    deployed = relight("deploy", "play.toml", "--host", "simulated", "--format", "json", "--events", "events.jsonl")
    assert deployed.status == 0, deployed.err
    jsonschema.validate(deployed.json, schema_of("record"))
    assert deployed.json["state"] == "healthy"
    run = deployed.json["run"]

    events = [json.loads(line) for line in (files / "events.jsonl").read_text().splitlines()]
    for event in events:
        jsonschema.validate(event, schema_of("event"))
    assert {e["run"] for e in events} == {run}
    assert events[-1]["event"] == "run_ended"

    status = relight("status", "--format", "json")
    jsonschema.validate(status.json, schema_of("runs"))
    assert status.json[0]["server"]["state"] == "running"

    assert "a stand-in for SGLang" in relight("logs").out

    busy = relight("deploy", "play.toml", "--host", "simulated", "--format", "json")
    assert (busy.status, busy.json["state"]) == (6, "busy")
    assert run in busy.json["reason"]

    stopped = relight("stop", run, "--format", "json")
    jsonschema.validate(stopped.json, schema_of("record"))
    assert stopped.status == 0
    assert relight("status", run, "--format", "json").json[0]["server"] is None


@pytest.mark.usefixtures("files")
def test_an_unknown_host_key_is_status_3_with_the_command_that_accepts_it(relight: Relight, files: Path) -> None:
    (files / "none").write_text("")
    hosts = (files / "hosts.toml").read_text().splitlines()
    kept = [line for line in hosts if not line.startswith("known_hosts")]
    (files / "hosts.toml").write_text("\n".join([*kept, 'known_hosts = "none"']))

    done = relight("check", "play.toml", "--host", "simulated", "--format", "json")

    assert done.status == 3
    jsonschema.validate(done.json, schema_of("error"))
    assert "ssh-keyscan" in done.json["error"]["next"] + done.json["error"]["text"]


def test_init_writes_files_that_check_accepts(relight: Relight, files: Path) -> None:
    made = relight("init", "simulated", "-o", "out", "--format", "json")
    # No model of the machine that simulates the host is offered as the host's.
    assert (made.status, made.json["name"], "a simulated host has no models" in made.json["playbook"]) == (
        0,
        "first",
        True,
    )
    playbook = files / "out" / f"{made.json['name']}.toml"
    playbook.write_text(playbook.read_text().replace("OWNER/MODEL", "nvidia/Qwen3.5-397B-A17B-NVFP4"))

    done = relight("check", playbook, "--host", "simulated", "--hosts", "out/hosts.toml", "--format", "json")

    assert (done.status, done.json["ok"]) == (0, True), done.out


def test_ctrl_c_leaves_the_server_and_resume_takes_it_up(relight: Relight, files: Path) -> None:
    code = "import sys; from relight.cli.main import run; run(sys.argv[1:])"
    words = ["deploy", "play.toml", "--host", "simulated", "--events", "events.jsonl", "-q"]
    child = subprocess.Popen([sys.executable, "-c", code, *words], cwd=files, env=dict(os.environ))
    events = files / "events.jsonl"
    until = time.monotonic() + 60
    while not (events.exists() and '"phase"' in events.read_text()) and time.monotonic() < until:
        time.sleep(0.05)

    child.send_signal(signal.SIGINT)

    assert child.wait(timeout=30) == 130
    status = relight("status", "--format", "json").json[0]
    assert (status["state"], status["server"]["state"]) == ("interrupted", "running")
    resumed = relight("retry", "--resume", status["run"], "--format", "json")
    assert (resumed.status, resumed.json["state"], len(resumed.json["attempts"])) == (0, "healthy", 1), resumed.err
