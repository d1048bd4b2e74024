"""The link: noise, cuts, old Pythons, odd shells. No byte of a log is lost or doubled."""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from relight.hosts.channel import Channel
from relight.hosts.interface import LaunchOrder
from relight.words.errors import UnreachableError
from tests.modules import module_in

pytestmark = pytest.mark.ssh

TALKER = """
import sys, time
for n in range(int(sys.argv[1])):
    sys.stdout.write("line %07d %s\\n" % (n, "x" * 100))
    if n % 200 == 0:
        sys.stdout.flush()
        time.sleep(0.01)
"""


@pytest.fixture
def talker(tmp_path: Path) -> dict[str, str]:
    return module_in(tmp_path, "talker", TALKER)


def order(talker: dict[str, str], lines: int) -> LaunchOrder:
    return LaunchOrder("run-1", [str(lines)], env=talker, module="talker")


def until(what: Callable[[], Any], seconds: float = 30.0) -> Any:
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        if found := what():
            return found
        threading.Event().wait(0.02)
    pytest.fail("it did not come to pass in time")


def test_a_log_is_whole_after_the_link_was_cut_twice(sshd: Any, talker: dict[str, str]) -> None:
    host = sshd.host(python=sys.executable)
    host.launch(order(talker, 30_000))
    stream = host.follow("run-1", 0)
    data, cuts = b"", 0

    while len(data) < 30_000 * 114:
        data += stream.read(5.0)
        if len(data) > (cuts + 1) * 800_000 and cuts < 2:
            assert sshd.cut() > 0
            cuts += 1

    status = until(lambda: (s := host.status("run-1")).state == "ended" and s)
    assert data == Path(status.log).read_bytes()
    assert stream.cuts >= 2
    assert status.exit.code == 0


def test_questions_go_on_after_a_cut(sshd: Any) -> None:
    host = sshd.host(python=sys.executable)
    host.connect()

    assert sshd.cut() > 0

    assert host.disk("/").total > 0


def test_the_channels_of_a_host_are_two_over_one_connection(sshd: Any, talker: dict[str, str]) -> None:
    host = sshd.host(python=sys.executable)
    host.launch(order(talker, 10))
    stream = host.follow("run-1", 0)
    until(lambda: stream.read(0.1))

    agents = [p for p in host.processes() if "relight-agent" in p.command and "relight-supervisor" not in p.command]

    mine = [p for p in agents if "python" in p.command.split(" ")[0] and ancestors(p.pid) & set(sshd.sessions())]
    assert len(mine) == 2
    assert len([p for p in sshd.sessions() if parent(p) == sshd.process.pid]) == 1


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def ancestors(pid: int) -> set[int]:
    found = set()
    while pid > 1:
        pid = parent(pid)
        found.add(pid)
    return found


def test_a_host_that_is_away_for_a_while_is_waited_for(sshd: Any, talker: dict[str, str]) -> None:
    host = sshd.host(python=sys.executable)
    host.launch(order(talker, 5_000))
    stream = host.follow("run-1", 0)
    data = until(lambda: stream.read(1.0))
    sshd.stop()
    until(lambda: stream.down > 0.5)

    sshd.start()

    while len(data) < 5_000 * 114:
        data += stream.read(5.0)
    assert data == host.read_log("run-1", 0, 1 << 20)
    assert until(lambda: stream.down == 0.0)  # an agent that is late on a busy machine is doubted for a moment


def test_a_question_fails_with_a_sentence_when_the_host_stays_away(sshd: Any) -> None:
    host = sshd.host(python=sys.executable)
    host.connect()
    sshd.stop()

    with pytest.raises(UnreachableError, match="refused") as caught:
        host.disk("/", timeout=1.0)

    assert caught.value.place == "box"


def test_banners_and_noise_of_a_login_are_skipped(sshd_at: Callable[..., Any], tmp_path: Path) -> None:
    noisy = tmp_path / "noisy.sh"
    noisy.write_text(
        "#!/bin/sh\nprintf 'Welcome!\\n\\033[31mred\\033[0m \\000\\377 no newline'\necho warning >&2\n"
        'exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n'
    )
    noisy.chmod(0o755)
    banner = tmp_path / "banner"
    banner.write_text("AUTHORISED USE ONLY\n" * 20)
    server = sshd_at(f"ForceCommand {noisy}", f"Banner {banner}")

    assert server.host(python=sys.executable).connect().uid == os.getuid()


SHELLS = [s for s in ("sh", "dash", "bash", "zsh", "ksh", "fish", "csh", "tcsh") if shutil.which(s)]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_agent_starts_under_any_login_shell(sshd_at: Callable[..., Any], tmp_path: Path, shell: str) -> None:
    force = tmp_path / "force.sh"
    force.write_text(f'#!/bin/sh\nexec {shutil.which(shell)} -c "$SSH_ORIGINAL_COMMAND"\n')
    force.chmod(0o755)
    server = sshd_at(f"ForceCommand {force}")

    assert server.host(python=sys.executable).connect().uid == os.getuid()


def test_an_interpreter_that_is_not_there_gives_way_to_the_hosts_python3(sshd: Any) -> None:
    facts = sshd.host(python="/opt/none/bin/python").connect()

    assert facts.python != "/opt/none/bin/python"


def test_a_host_without_any_fit_python_is_told_so(sshd_at: Callable[..., Any], tmp_path: Path) -> None:
    force = tmp_path / "force.sh"
    force.write_text("#!/bin/sh\necho 'python3: command not found' >&2\nexit 127\n")
    force.chmod(0o755)

    with pytest.raises(UnreachableError, match="command not found") as caught:
        sshd_at(f"ForceCommand {force}").host().connect()

    assert "Python 3.8" in caught.value.next


def test_a_login_that_hangs_is_bounded(sshd_at: Callable[..., Any], tmp_path: Path) -> None:
    force = tmp_path / "force.sh"
    force.write_text("#!/bin/sh\nexec sleep 60\n")
    force.chmod(0o755)
    host = sshd_at(f"ForceCommand {force}").host()
    began = time.monotonic()

    with pytest.raises(UnreachableError, match="did not start within"):
        host.connect(timeout=2.0)

    assert time.monotonic() - began < 12


def test_a_stopped_sshd_is_noticed_as_a_stalled_link(sshd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Channel, "silence", 3.0)
    host = sshd.host(python=sys.executable)
    host.connect()
    stalled = sshd.sessions()
    stop(stalled, "STOP")

    try:
        assert host.disk("/", timeout=60.0).total > 0
    finally:
        stop(stalled, "CONT")


def stop(pids: list[int], signal: str) -> None:
    subprocess.run(["kill", f"-{signal}", *map(str, pids)], check=False)  # noqa: S607


def test_a_server_started_over_ssh_outlives_the_session(sshd: Any, talker: dict[str, str]) -> None:
    host = sshd.host(python=sys.executable)
    host.launch(order(talker, 8_000))

    sshd.cut()

    status = until(lambda: (s := host.status("run-1")).state == "ended" and s)
    assert (status.exit.code, status.log_size) == (0, 8_000 * 114)
