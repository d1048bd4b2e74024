"""Ways to log in and kinds of host, each through a real sshd."""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from relight.hosts import open_host
from relight.hosts.interface import LaunchOrder
from relight.hosts.values import HostError
from relight.words.errors import UnreachableError
from tests.modules import module_in
from tests.ssh.conftest import SSHD, Proxy
from tests.ssh.test_link import TALKER, until

pytestmark = pytest.mark.ssh
ROOT = pytest.mark.skipif(
    os.getuid() != 0
    or not all(map(shutil.which, ("useradd", "userdel", "chpasswd", "unshare")))
    or not Path("/usr/bin/python3").exists(),
    reason="needs root, and a Python that every account may run",
)


@dataclass(frozen=True)
class User:
    """An account that lives as long as a test."""

    name: str
    password: str
    home: Path


@pytest.fixture
def user_with(tmp_path: Path) -> Iterator[Callable[[str], User]]:
    """Make accounts with a login shell; they are removed afterwards."""
    made: list[User] = []

    def make(shell: str) -> User:
        name = f"relight{secrets.token_hex(4)}"
        user = User(name, secrets.token_hex(8), Path("/var/tmp", name))  # noqa: S108  pytest's folders are closed
        made.append(user)
        subprocess.run(["useradd", "-m", "-d", str(user.home), "-s", shell, user.name], check=True, capture_output=True)  # noqa: S607
        given = f"{user.name}:{user.password}".encode()
        subprocess.run(["chpasswd"], input=given, check=True, capture_output=True)  # noqa: S607
        for folder in (tmp_path, *tmp_path.parents[:2]):
            folder.chmod(0o755)
        return user

    yield make
    for user in made:
        subprocess.run(["userdel", user.name], check=False, capture_output=True)  # noqa: S607
        shutil.rmtree(user.home, ignore_errors=True)


@pytest.fixture
def by_password(sshd_at: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Reach an account by its password."""

    def reach(user: User, **more: object) -> Any:
        server = sshd_at("PasswordAuthentication yes")
        monkeypatch.setenv("RELIGHT_SSH_PASSWORD", user.password)
        given = {
            "user": user.name,
            "identity_file": None,
            "python": "/usr/bin/python3",
            "workdir": "~/.relight",
            **more,
        }
        return server.host(**given)

    return reach


def launched(host: Any, folder: Path) -> Any:
    """Launch a server that talks and ends; return its status then."""
    host.launch(LaunchOrder("run-1", ["500"], env=module_in(folder, "talker", TALKER), module="talker"))
    return until(lambda: (s := host.status("run-1")).state == "ended" and s)


@ROOT
def test_a_password_logs_in_and_a_wrong_one_is_refused_without_being_shown(
    user_with: Callable[[str], User], by_password: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    user = user_with("/bin/sh")
    host = by_password(user)
    assert host.connect().user == user.name
    host.close()

    monkeypatch.setenv("RELIGHT_SSH_PASSWORD", "wrong words")
    with pytest.raises(UnreachableError, match="refused the login") as caught:
        open_host(host.spec).connect()

    assert "password" in caught.value.text
    assert "wrong words" not in str(caught.value)


SHELLS = [s for s in ("sh", "bash", "zsh", "fish", "tcsh") if shutil.which(s)]


@ROOT
@pytest.mark.parametrize("shell", SHELLS)
def test_a_user_who_is_not_root_has_any_login_shell_and_its_environment(
    user_with: Callable[[str], User], by_password: Callable[..., Any], shell: str
) -> None:
    user = user_with(str(shutil.which(shell)))
    files = {"fish": ".config/fish/config.fish", "tcsh": ".cshrc", "zsh": ".zprofile"}
    line = {"fish": "set -gx HF_HOME /data/hf", "tcsh": "setenv HF_HOME /data/hf"}.get(shell, "export HF_HOME=/data/hf")
    login = user.home / files.get(shell, ".profile")
    login.parent.mkdir(parents=True, exist_ok=True)
    login.write_text(f"echo Welcome to the machine\n{line}\n")
    host = by_password(user)

    facts = host.connect()
    status = launched(host, user.home)

    assert (facts.user, facts.login_shell) == (user.name, shutil.which(shell))
    assert facts.home == str(user.home)
    assert host.run(["sh", "-c", "echo $HF_HOME"], launch_env=True).stdout == b"/data/hf\n"
    assert (status.exit.code, Path(status.log).stat().st_uid) == (0, facts.uid)
    assert {p.user for p in host.processes() if p.ours} <= {user.name}


@ROOT
def test_a_home_that_cannot_be_written_is_named_and_another_work_folder_does(
    user_with: Callable[[str], User], by_password: Callable[..., Any]
) -> None:
    user = user_with("/bin/sh")
    work = Path("/var/tmp", f"{user.name}-work")  # noqa: S108
    work.mkdir()
    shutil.chown(work, user.name)
    shutil.chown(user.home, "root", "root")
    user.home.chmod(0o555)
    host = by_password(user, workdir=str(work))

    status = launched(host, work)
    refused = open_host(replace(host.spec, workdir="~/.relight"))
    with pytest.raises(HostError, match="set workdir to a place that can be written"):
        refused.launch(LaunchOrder("run-1", []))
    refused.close()
    host.close()
    shutil.rmtree(work)

    assert status.exit.code == 0


def test_a_key_in_the_agent_logs_in_without_any_file(
    sshd: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = str(tmp_path / "a.sock")
    with subprocess.Popen(["ssh-agent", "-D", "-a", address], stdout=subprocess.DEVNULL) as agent:  # noqa: S607
        try:
            until(lambda: Path(address).exists())
            monkeypatch.setenv("SSH_AUTH_SOCK", address)
            subprocess.run(["ssh-add", "-q", str(sshd.key)], check=True, capture_output=True)  # noqa: S607
            sshd.key.unlink()

            assert sshd.host(identity_file=None).connect().uid == os.getuid()
        finally:
            agent.terminate()


def test_a_host_that_moved_is_found_at_its_new_address(sshd_at: Callable[..., Any], tmp_path: Path) -> None:
    first, second = sshd_at(name="first"), sshd_at(name="second")
    shutil.copy(first.folder / "authorized_keys", second.folder / "authorized_keys")
    known = tmp_path / "known"
    known.write_text(f"box {first.host_key()}\nbox {second.host_key()}\n")
    config = Path("~/.ssh/config").expanduser()

    def at(port: int) -> None:
        config.write_text(f"Host box\n  HostName 127.0.0.1\n  HostKeyAlias box\n  Port {port}\n")

    at(first.port)
    host = first.host(address="box", port=None, known_hosts=str(known))
    host.connect()
    first.stop()
    at(second.port)

    assert host.disk("/", timeout=30).total > 0


class Slow(Proxy):
    """A link of some 100 KB a second."""

    def _pump(self, source: socket.socket, sink: socket.socket, left: int | None) -> None:
        del left
        with suppress(OSError):
            while data := source.recv(2048):
                threading.Event().wait(0.02)
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def test_a_throttled_link_is_slow_and_loses_nothing(sshd: Any, tmp_path: Path) -> None:
    slow = Slow(sshd.port)
    with sshd.known_hosts.open("a") as file:
        file.write(f"[127.0.0.1]:{slow.port} {sshd.host_key()}\n")
    status = launched(sshd.host(python=sys.executable), tmp_path)
    host = sshd.host(port=slow.port, python=sys.executable)
    stream, data = host.follow("run-1", 0), b""

    while len(data) < status.log_size and (piece := stream.read(20.0)):
        data += piece

    assert data == Path(status.log).read_bytes()
    assert stream.cuts == 0
    slow.close()


NARROW = (
    "mount --bind /tmp /tmp && mount -o remount,bind,noexec /tmp && mount -t tmpfs -o size=64m shm /dev/shm && exec {}"
)


@ROOT
def test_a_container_with_its_own_processes_little_shared_memory_and_no_programs_in_tmp(
    sshd_at: Callable[..., Any], tmp_path: Path
) -> None:
    server = sshd_at()
    server.stop()
    inner = NARROW.format(f"{SSHD} -D -e -f {server.folder / 'sshd_config'}")
    words = ["--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", inner]
    tried = [*words[:-1], NARROW.format("true")]
    if subprocess.run(["unshare", *tried], check=False, capture_output=True).returncode:  # noqa: S607
        server.start()
        pytest.skip("no container can be made here")
    with (server.folder / "sshd.log").open("ab") as log:
        server.process = subprocess.Popen(["unshare", *words], stderr=log)  # noqa: S607
    server._await()
    try:
        inside(server.host(python=sys.executable), tmp_path)
    finally:
        server.process.kill()
        server.process.wait(10)
        server.process = None


def inside(host: Any, tmp_path: Path) -> None:
    facts = host.connect()
    status = launched(host, tmp_path)
    host.launch(LaunchOrder("run-2", ["100000000"], env=module_in(tmp_path, "talker", TALKER), module="talker"))
    stream = host.follow("run-2", 0)
    assert until(lambda: stream.read(0.2)).startswith(b"line 0000000")
    stopped = host.stop("run-2", patience=2.0)

    assert facts.shm_total == 64
    assert status.exit.code == 0
    assert max(p.pid for p in host.processes()) < 1000  # it has processes of its own
    assert stopped.left == ()
    assert host.status("run-2").tree == ()
    assert isinstance(host.kernel_log(0.0), tuple)
