"""A real OpenSSH server on loopback: free port, fresh keys, nothing of the developer's own configuration."""

import getpass
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from relight.hosts import open_host
from relight.hosts.interface import Host
from relight.words.host import HostSpec
from tests.ssh.contract_client import KEY, TOKEN, Client, World

SSHD = "/usr/sbin/sshd"


@dataclass
class Server:
    """One sshd and what a client needs for it."""

    folder: Path
    port: int
    process: "subprocess.Popen[bytes] | None" = None
    options: tuple[str, ...] = ()
    hosts: list[Host] = field(default_factory=list)

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def key(self) -> Path:
        return self.folder / "user_key"

    def host_key(self) -> str:
        kind, blob = (self.folder / "host_key.pub").read_text().split()[:2]
        return f"{kind} {blob}"

    def start(self) -> None:
        config = self.folder / "sshd_config"
        lines = (
            f"Port {self.port}", "ListenAddress 127.0.0.1", f"HostKey {self.folder / 'host_key'}", "UsePAM no",
            "StrictModes no", f"AuthorizedKeysFile {self.folder / 'authorized_keys'}", "PasswordAuthentication no",
            "PermitRootLogin yes", "PidFile none", "LogLevel ERROR", "MaxStartups 100",
            # What this account's own login files start is no part of a test, and outlives a login that is cut.
            f"Match User {getpass.getuser()}", f"SetEnv HOME={self.folder}",
        )  # fmt: skip
        config.write_text("\n".join([*self.options, *lines]) + "\n")
        log = (self.folder / "sshd.log").open("ab")
        with log:
            self.process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stdout=log, stderr=log)
        self._await()

    def _await(self) -> None:
        until = time.monotonic() + 10
        while time.monotonic() < until:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.02)
        pytest.fail(f"sshd did not start: {(self.folder / 'sshd.log').read_text()}")

    def stop(self) -> None:
        self.cut()
        if self.process:
            self.process.terminate()
            self.process.wait(10)
        self.process = None

    def sessions(self) -> list[int]:
        """Return the pids of sshd's children: one (or two) per connection."""
        assert self.process
        found, todo = [], [self.process.pid]
        while todo:
            pid = todo.pop()
            with suppress(OSError):
                below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                mine = [int(p) for p in below if Path(f"/proc/{p}/comm").read_text().strip().startswith("sshd")]
                found += mine
                todo += mine
        return found

    def cut(self) -> int:
        """Kill the children that serve connections; say how many there were."""
        pids = self.sessions() if self.process else []
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(pids)

    def spec(self, **more: object) -> HostSpec:
        given = {
            "name": "box", "address": "127.0.0.1", "port": self.port, "identity_file": str(self.key),
            "known_hosts": str(self.known_hosts), "workdir": str(self.folder / "work"), "python": "python3", **more,
        }  # fmt: skip
        return HostSpec(**given)  # type: ignore[arg-type]

    def host(self, **more: object) -> Host:
        host = open_host(self.spec(**more))
        self.hosts.append(host)
        return host


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def make_key(path: Path, passphrase: str = "", kind: str = "ed25519") -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-f", str(path)], check=True)  # noqa: S607


@pytest.fixture
def sshd_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Server]]:
    """Start servers with extra options; all are stopped afterwards."""
    if not Path(SSHD).exists():
        if os.environ.get("RELIGHT_REQUIRE") == "1":
            pytest.fail(f"{SSHD} is missing, and RELIGHT_REQUIRE=1 asks for it")
        pytest.skip(f"{SSHD} is missing")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    servers: list[Server] = []

    def start(*options: str, name: str = "sshd") -> Server:
        folder = tmp_path / name
        folder.mkdir()
        server = Server(folder, free_port(), options=options)
        make_key(folder / "host_key")
        make_key(folder / "user_key")
        shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
        server.known_hosts.write_text(f"[127.0.0.1]:{server.port} {server.host_key()}\n")
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        for host in server.hosts:
            host.close()
        server.stop()


@pytest.fixture
def sshd(sshd_at: Callable[..., Server]) -> Server:
    """Start one server."""
    return sshd_at()


class Proxy:
    """A TCP proxy on loopback that hurts its connections: it cuts after a number of bytes, or stops passing any on.

    While `stalled`, nothing is passed on and nothing is lost; while `refusing`, a connection is closed at once; while
    `deaf`, none comes about. `lose` leaves those there are open and passes nothing on for ever.
    """

    def __init__(self, target: int, address: str = "127.0.0.1") -> None:
        self.cut_after: Callable[[], int | None] = lambda: None
        self.stalled = threading.Event()
        self.refusing = threading.Event()
        self.deaf = threading.Event()
        self.cuts = 0
        self._lost: set[socket.socket] = set()
        self._over = threading.Event()
        self._target = address, target
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._socket.accept()[0]
                while self.deaf.is_set():
                    threading.Event().wait(0.01)
                if self.refusing.is_set():
                    client.close()
                    continue
                try:
                    server = socket.create_connection(self._target, 10)
                except OSError:
                    client.close()
                    continue
                self._pairs.append((client, server))
                if self._over.is_set():
                    self.cut()
                    return
                for source, sink, left in ((client, server, None), (server, client, self.cut_after())):
                    threading.Thread(target=self._pump, args=(source, sink, left), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, left: int | None) -> None:
        with suppress(OSError):
            while data := source.recv(65536 if left is None else min(65536, left)):
                while self.stalled.is_set():
                    threading.Event().wait(0.05)
                if source in self._lost:
                    continue
                sink.sendall(data)
                left = None if left is None else left - len(data)
                if left == 0:
                    self.cuts += 1
                    break
        for end in (source, sink):
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def lose(self) -> None:
        """Pass nothing more on over the connections there are; neither end is told."""
        self._lost |= {end for pair in self._pairs for end in pair}

    def deafen(self) -> list[socket.socket]:
        """Answer no more to who wants to connect, until `deaf` is cleared and what is returned is closed."""
        self.deaf.set()
        self._socket.listen(0)
        waiting = [socket.socket() for _ in range(4)]  # one is accepted, the others fill the queue
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(self._socket.getsockname())
        return waiting

    def hear(self, waiting: list[socket.socket]) -> None:
        """Answer again."""
        self._socket.listen(128)
        for one in waiting:
            one.close()
        self.deaf.clear()

    def close(self) -> None:
        self.stalled.clear()
        self.deaf.clear()
        self._over.set()
        self._socket.close()
        self.cut()

    def cut(self) -> None:
        """Cut what goes through it now."""
        for pair in self._pairs:
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()


@pytest.fixture
def proxy(sshd: Server) -> Iterator[Proxy]:
    """Put a proxy before the server; its port is known to known_hosts too."""
    proxy = Proxy(sshd.port)
    with sshd.known_hosts.open("a") as file:
        file.write(f"[127.0.0.1]:{proxy.port} {sshd.host_key()}\n")
    yield proxy
    for host in sshd.hosts:
        host.close()
    proxy.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    client = Client(tmp_path_factory.mktemp("harness"), {"PLANTED_TOKEN": TOKEN, "PLANTED_KEY": KEY})
    with client.lab("plain") as reached:
        yield World(client, reached)
