"""The SSH side of the lab: the machine's own sshd where that can be used, else the loopback server."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from relight.hosts.loopback import ADDRESS, Keys, LoopbackServer, trust
from relight.words.errors import RelightError

PRIVILEGE_SEPARATION = Path("/run/sshd")
PATIENCE = 5.0
CONFIG = """Port {port}
ListenAddress {address}
HostKey {keys.host}
AuthorizedKeysFile {keys.authorized}
PidFile {folder}/sshd.pid
AllowUsers {user}
PermitRootLogin prohibit-password
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
AllowTcpForwarding no
AllowAgentForwarding no
X11Forwarding no
PermitTTY no
PrintMotd no
UseDNS no
MaxStartups 100
MaxSessions 100
LogLevel ERROR
SetEnv {env}
"""


class Front(Protocol):
    """Something that listens for SSH on `port` of loopback."""

    port: int

    def close(self) -> None:
        """End it and every connection through it."""


class Sshd:
    """A real sshd with a configuration, keys and a port of its own."""

    def __init__(
        self, program: str, folder: Path, keys: Keys, user: str, env: Mapping[str, str], address: str = ADDRESS
    ) -> None:
        """Start it and wait until it listens. Raises RelightError with its own words when it does not."""
        self.address = address
        self.port = free_port(address)
        words = " ".join(f'"{name}={value}"' for name, value in env.items())
        config = folder / "sshd_config"
        config.write_text(
            CONFIG.format(port=self.port, address=address, keys=keys, folder=folder, user=user, env=words)
        )
        self._log = folder / "sshd.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [program, "-D", "-e", "-f", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._await()

    def _await(self) -> None:
        until = time.monotonic() + PATIENCE
        while self._process.poll() is None and time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex((self.address, self.port)) == 0:
                    return
            time.sleep(0.02)
        self.close()
        raise RelightError(f"sshd did not start: {self._log.read_text().strip()}", place="lab")

    def close(self) -> None:
        """End it; connections end with the processes of the machine."""
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def free_port(address: str = ADDRESS) -> int:
    """Return a TCP port of a loopback address that nobody has right now."""
    with socket.create_server((address, 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def usable_sshd() -> str | None:
    """Return the sshd that can be run by this user, None where there is none.

    A root sshd needs its folder for privilege separation, which belongs to the system and is not made here.
    """
    program = shutil.which("sshd", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]))
    if program is None or (os.getuid() == 0 and not PRIVILEGE_SEPARATION.is_dir()):
        return None
    return program


def open_front(
    folder: Path,
    keys: Keys,
    user: str,
    python: str,
    env: Mapping[str, str],
    *,
    sshd: bool | None,
    address: str = ADDRESS,
) -> Front:
    """Start the front: `sshd` True or False chooses, None takes a real one where it can be had.

    `env` is set in every session; it listens on `address`, one of loopback. The host key is written to
    `keys.known_hosts`.
    """
    program = usable_sshd()
    if sshd and program is None:
        raise RelightError("no usable sshd on this machine", place="lab", next="leave the choice to relight")
    front: Front
    if program and sshd is not False:
        front = Sshd(program, folder, keys, user, env, address)
    else:
        front = LoopbackServer(keys, user, python, {"PATH": os.defpath, "LANG": "C.UTF-8"} | dict(env), address)
    trust(keys, front.port, address)
    return front
