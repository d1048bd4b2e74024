"""Runs beside, after and against each other, secrets and ports, as somebody sees it who has only read the contract."""

import json
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.ssh.contract_client import KEY, PORT, TOKEN, World, playbook, wait_until

pytestmark = [pytest.mark.ssh, pytest.mark.timeout(600)]  # a busy machine takes its time


def test_secrets_reach_the_server_and_nothing_else(world: World) -> None:
    secrets = '[hosts.keyed.secrets]\nHF_TOKEN = "env:PLANTED_TOKEN"\n'
    world.host("keyed", f'{secrets}[hosts.keyed.secret-flags]\napi-key = "env:PLANTED_KEY"\n')
    world.write("keyed.toml", playbook("keyed").replace('"off"', '"shape"'))

    done = world.ask("deploy", "keyed.toml", "--host", "keyed", "--events", "keyed.jsonl")
    lines = [p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline") if p.exists()]
    world.client.plain("report", done.document["run"], "-o", "keyed.txt")
    world.client.plain("report", done.document["run"], "--bundle", "keyed.tar")
    log = world.client.plain("logs", done.document["run"])
    attempt = Path(world.lab["workdir"], "attempts", f"{done.document['run']}.1")
    modes = {oct(p.stat().st_mode & 0o777) for p in attempt.iterdir() if p.is_file() and KEY.encode() in p.read_bytes()}
    assert world.ask("stop", done.document["run"]).status == 0

    assert (done.status, done.document["state"]) == (0, "healthy"), done.err
    assert modes == {"0o600"}
    for value in (TOKEN, KEY):
        assert not any(value.encode() in line for line in lines)
        assert value not in done.text() + (log.stdout + log.stderr).decode()
        assert world.files_with(value, world.folder / "state" / "runs") == []
        assert not any(value.encode() in p.read_bytes() for p in world.folder.glob("keyed.*"))


def test_secret_flags_of_an_old_engine_are_refused_with_the_reason(world: World) -> None:
    world.write("old.scenario.toml", 'title = "an older release"\nversion = "0.5.4"\n')
    world.write("plain.toml", playbook())
    with world.client.lab("old.scenario.toml") as reached:
        world.host("old", '[hosts.old.secret-flags]\napi-key = "env:PLANTED_KEY"\n', **reached)
        checked = world.ask("check", "plain.toml", "--host", "old")
        done = world.ask("deploy", "plain.toml", "--host", "old")

    assert (checked.status, done.status) == (1, 2)
    for said in (checked, done):
        assert "0.5.5.post3" in said.text()
        assert "0.5.4" in said.text()


def test_two_servers_on_different_cards_of_one_host_at_once(world: World) -> None:
    for name, cards, port in (("left", [0, 1, 2, 3], PORT + 1), ("right", [4, 5, 6, 7], PORT + 2)):
        world.host(name, gpus=cards)
        world.write(f"{name}.toml", playbook(name, port=port, tp=4))
    small = "--set", "context-length=4096"

    both = [world.client.start("retry", f"{n}.toml", "--host", n, *small, "--format", "json", stdout=subprocess.PIPE)
            for n in ("left", "right")]  # fmt: skip
    said = [world.client.checked(["retry"], p.wait(), out, err) for p in both for out, err in [p.communicate(None, 90)]]
    same = world.ask("deploy", "left.toml", "--host", "left", "--set", f"port={PORT + 5}")
    stopped = [world.ask("stop", done.document["run"]).status for done in said]

    assert [done.document["state"] for done in said] == ["healthy", "healthy"], [done.err for done in said]
    assert (same.status, stopped) == (6, [0, 0])
    assert said[0].document["run"] in same.err


def test_wait_waits_until_the_cards_are_free_and_their_memory_is_back(world: World) -> None:
    world.write("plain.toml", playbook())
    world.write("late.scenario.toml", 'title = "memory that comes back late"\nrelease = 3.0\n')
    with world.client.lab("late.scenario.toml") as reached:
        world.host("late", **reached)
        first = world.ask("deploy", "plain.toml", "--host", "late")
        waiting = world.client.start("deploy", "plain.toml", "--host", "late", "--wait", "--format", "json",
                                     "--events", "waiting.jsonl", stdout=subprocess.PIPE)  # fmt: skip
        assert wait_until(lambda: "probed" in _text(world.folder / "waiting.jsonl"))
        assert waiting.poll() is None

        assert world.ask("stop", first.document["run"]).status == 0
        out, err = waiting.communicate(timeout=90)
        done = world.client.checked(["deploy"], waiting.returncode, out, err)
        again = world.ask("deploy", "plain.toml", "--host", "late", "--replace", "--set", "context-length=4096")
        stopped = world.ask("stop", again.document["run"]).status

    assert (done.status, again.status, stopped) == (0, 0, 0), done.err + again.err


def test_a_log_is_followed_until_its_server_ends(world: World) -> None:
    world.write("plain.toml", playbook())
    run = world.ask("deploy", "plain.toml", "--host", "box").document["run"]
    out = world.folder / "followed.txt"
    with out.open("wb") as file:
        following = world.client.start("logs", "-f", run, stdout=file)

    assert wait_until(lambda: "fired up" in out.read_text())
    assert following.poll() is None
    assert world.ask("stop", run).status == 0
    following.communicate(timeout=60)

    assert following.returncode == 0
    assert "Load weight" in out.read_text()


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_an_interrupted_run_is_resumed(world: World) -> None:
    world.write("plain.toml", playbook())
    child = world.client.start("retry", "plain.toml", "--host", "box", "--events", "broken.jsonl", "--format", "json",
                               stdout=subprocess.PIPE)  # fmt: skip
    assert wait_until(lambda: '"phase"' in _text(world.folder / "broken.jsonl"))

    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    broken = world.client.checked(["retry"], child.returncode, out, err)
    running = world.ask("status", broken.document["run"])
    resumed = world.ask("retry", "--resume", broken.document["run"])

    assert (broken.status, broken.document["state"]) == (130, "interrupted")
    assert running.document[0]["server"]["state"] == "running"
    assert (resumed.status, len(resumed.document["attempts"])) == (0, 1)
    assert world.ask("stop", broken.document["run"]).status == 0


def test_a_port_that_somebody_else_has_needs_a_person_or_another_port(world: World) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        port = stranger.getsockname()[1]
        world.write("taken.toml", playbook("taken", port=port))
        world.write("moved.toml", playbook("moved", port=port, more='[allow]\nflags = ["port"]\n'))

        checked = world.ask("check", "taken.toml", "--host", "box")
        person = world.ask("retry", "taken.toml", "--host", "box")
        moved = world.ask("retry", "moved.toml", "--host", "box")

    assert checked.status == 1
    assert (person.status, person.document["state"]) == (5, "person")
    assert str(port) in json.dumps(person.document)
    assert (moved.status, moved.document["state"]) == (0, "healthy"), moved.err
    argv = moved.document["final"]["argv"]
    assert argv[argv.index("--port") + 1] != str(port)
    assert world.ask("stop", moved.document["run"]).status == 0


def test_a_run_that_fails_says_what_was_tried(world: World) -> None:
    world.write("huge.toml", playbook("huge").replace("quantization", "mem-fraction-static = 0.05\nquantization", 1)
                .replace('"tp-size"]', '"tp-size", "mem-fraction-static"]'))  # fmt: skip

    deployed = world.ask("deploy", "huge.toml", "--host", "box", "--deadline", "5m")
    spent = world.ask("retry", "huge.toml", "--host", "box", "--max-attempts", 1)
    shown = world.client.plain("logs", spent.document["run"])
    past = world.ask("diagnose", str(Path(deployed.document["folder"], deployed.document["attempts"][0]["log"])))

    assert (deployed.status, deployed.document["state"]) == (1, "failed")
    assert spent.status in {1, 4}
    assert spent.document["final"] is None
    assert past.document[0]["verdict"] == "failed"
    assert past.document[0]["cause"]["kind"] == deployed.document["attempts"][0]["diagnosis"]["cause"]["kind"]
    assert shown.returncode == 0


def test_the_lab_is_a_host_of_its_own(world: World) -> None:
    world.write("plain.toml", playbook())

    assert world.ask("check", "plain.toml", "--host", "lab").status == 0
