"""The lab as a whole: a host behind SSH that is gone without a trace when it is closed."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from relight import lab
from relight.hosts import open_host
from relight.hosts.loopback import make_keys
from relight.hosts.program import python_of, start_line
from relight.lab.front import PRIVILEGE_SEPARATION, usable_sshd
from relight.lab.lab import machine_processes, sweep
from relight.words.errors import UnreachableError, UsageError
from tests.lab.conftest import free_port

FRONTS = [pytest.param(False, id="loopback"), pytest.param(True, id="sshd", marks=pytest.mark.ssh)]


@pytest.fixture(params=FRONTS)
def front(request: pytest.FixtureRequest) -> bool:
    """Which of the two fronts: sshd or not."""
    if request.param and os.getuid() == 0:
        PRIVILEGE_SEPARATION.mkdir(exist_ok=True)
    return bool(request.param)


@pytest.fixture
def opened(front: bool, tmp_path: Path) -> Iterator[lab.Lab]:
    """A lab with the story."""
    with lab.open(tmp_path, sshd=front) as machine:
        yield machine


def test_the_lab_is_a_host_with_eight_cards_and_an_engine(opened: lab.Lab, front: bool) -> None:
    host = open_host(opened.spec)

    facts = host.connect()
    cards = host.gpus()
    parser = host.parser()

    assert opened.front == ("sshd" if front else "loopback")
    assert facts.home == str(opened.folder / "home")
    assert [card.index for card in cards] == list(range(8))
    assert {card.memory_total for card in cards} == {97887}
    assert host.engine_version() == "0.5.9"
    assert len(parser.flags) >= 40
    assert "mamba-scheduler-strategy" in parser
    host.close()


def test_nothing_is_left_behind(front: bool, tmp_path: Path) -> None:
    with lab.open(tmp_path, "oom-other-process", sshd=front) as machine:
        host = open_host(machine.spec)
        host.connect()
        assert [card.memory_used for card in host.gpus()][3] == 52004
        folder = machine.folder
        assert machine_processes(folder)
        host.close()

    assert list(tmp_path.iterdir()) == []
    assert machine_processes(folder) == []


def test_a_server_ends_with_the_lab(front: bool, tmp_path: Path) -> None:
    with lab.open(tmp_path, "nccl-hang", sshd=front) as machine:
        argv = [machine.spec.python, "-m", "sglang.launch_server", "--model-path", "m/m", "--tp-size", "2"]
        server = subprocess.Popen(
            [*argv, "--attention-backend", "triton"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert server.stdout
        assert "stand-in" in server.stdout.readline().decode()

    server.communicate(timeout=20)
    assert server.returncode == -9
    assert machine_processes(machine.folder) == []


def test_a_strange_key_is_refused(opened: lab.Lab, tmp_path: Path) -> None:
    strange = make_keys(tmp_path / "strange")
    words = _ssh(opened, str(strange.client), "true")

    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)

    assert done.returncode == 255
    assert "Permission denied (publickey)" in done.stderr


def test_an_unknown_host_key_is_not_taken(opened: lab.Lab) -> None:
    assert opened.spec.known_hosts
    other = make_keys(opened.folder / "other")
    text = Path(opened.spec.known_hosts).read_text()
    key = other.authorized.read_text().rpartition(" ")[0]
    Path(opened.spec.known_hosts).write_text(f"{text.split()[0]} {key}\n")

    with pytest.raises(UnreachableError):
        open_host(opened.spec).connect()


def test_the_loopback_server_starts_nothing_but_the_agent(tmp_path: Path) -> None:
    with lab.open(tmp_path, sshd=False) as machine:
        assert machine.spec.identity_file
        for command in ("id", start_line(sys.executable), start_line(machine.spec.python) + "; id"):
            words = _ssh(machine, machine.spec.identity_file, command)
            done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)

            assert done.returncode == 255, command
            assert done.stdout == ""
        assert python_of(start_line(machine.spec.python)) == machine.spec.python


def test_a_lab_whose_relight_was_killed_is_swept_up_by_the_next(tmp_path: Path) -> None:
    code = (
        "import os, pathlib; from relight import lab; "
        f"lab.open(pathlib.Path({str(tmp_path)!r}), 'oom-hidden'); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False, timeout=20)
    assert [path.name[:4] for path in tmp_path.iterdir()] == ["lab-"]
    (folder,) = tmp_path.iterdir()
    assert machine_processes(folder)

    sweep(tmp_path)

    assert list(tmp_path.iterdir()) == []
    assert machine_processes(folder) == []


def test_the_snippet_is_a_hosts_table(tmp_path: Path) -> None:
    with lab.open(tmp_path, sshd=False) as machine:
        table = tomllib.loads(machine.snippet())["hosts"]["simulated"]

    assert table["port"] == machine.spec.port
    assert table["python"] == machine.spec.python
    assert table["known_hosts"] == machine.spec.known_hosts


def test_an_unknown_scenario_starts_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no scenario 'none-such'"):
        lab.open(tmp_path, "none-such")

    assert list(tmp_path.iterdir()) == []


def test_a_stranger_listens_where_the_scenario_has_one(tmp_path: Path) -> None:
    port = free_port()
    with lab.open(tmp_path, "port-taken", sshd=False, port=port) as machine:
        host = open_host(machine.spec)
        host.connect()
        assert port in [listener.port for listener in host.listeners()]
        host.close()


def test_root_without_the_folder_of_sshd_takes_the_loopback_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relight.lab.front.PRIVILEGE_SEPARATION", Path("/nowhere/sshd"))
    monkeypatch.setattr("os.getuid", lambda: 0)

    assert usable_sshd() is None


def _ssh(machine: lab.Lab, key: str, command: str) -> list[str]:
    spec = machine.spec
    options = (
        "IdentitiesOnly=yes",
        "BatchMode=yes",
        f"UserKnownHostsFile={spec.known_hosts}",
        "StrictHostKeyChecking=yes",
    )
    flags = [word for option in options for word in ("-o", option)]
    return ["ssh", "-F", "none", "-i", key, *flags, "-p", str(spec.port), f"{spec.user}@{spec.address}", command]
