"""A small SSH server on loopback that starts nothing but the agent: the front of the lab where there is no sshd."""

import os
import shlex
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import paramiko

from relight.hosts.program import python_of

ADDRESS = "127.0.0.1"
CHUNK = 1 << 16


@dataclass(frozen=True)
class Keys:
    """Fresh keys below one folder; `known_hosts` is written by `trust` once the port is known."""

    host: Path
    client: Path
    authorized: Path
    known_hosts: Path


def make_keys(folder: Path) -> Keys:
    """Make a host key, a client key and an authorized_keys file in `folder` (created, for its owner only)."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    keys = Keys(folder / "host_key", folder / "client_key", folder / "authorized_keys", folder / "known_hosts")
    for path in (keys.host, keys.client):
        paramiko.ECDSAKey.generate(bits=256).write_private_key_file(str(path))
    keys.authorized.write_text(f"{_public(keys.client)} relight-lab\n")
    keys.authorized.chmod(0o600)
    return keys


def trust(keys: Keys, port: int, address: str = ADDRESS) -> None:
    """Write the host key of a server on `port` of a loopback address to `keys.known_hosts`."""
    keys.known_hosts.write_text(f"[{address}]:{port} {_public(keys.host)}\n")


def _public(path: Path) -> str:
    key = _load(path)
    return f"{key.get_name()} {key.get_base64()}"


def _load(path: Path) -> paramiko.PKey:
    return paramiko.ECDSAKey.from_private_key_file(str(path))


class LoopbackServer:
    """Listens on a free port of loopback; serves the agent of one interpreter to the holder of one key."""

    def __init__(self, keys: Keys, user: str, python: str, env: Mapping[str, str], address: str = ADDRESS) -> None:
        """Listen at once. `env` is the whole environment of what is started."""
        self._gate = _Gate(paramiko.ECDSAKey.from_private_key_file(str(keys.client)), user, python, dict(env))
        self._host_key = _load(keys.host)
        self._socket = socket.create_server((address, 0))
        self._transports: list[paramiko.Transport] = []
        self._closed = False
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, name="relight-loopback", daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self._greet(client)

    def _greet(self, client: socket.socket) -> None:
        transport = paramiko.Transport(client)
        transport.daemon = True
        transport.add_server_key(self._host_key)
        with suppress(paramiko.SSHException, EOFError, OSError):
            transport.start_server(event=threading.Event(), server=self._gate)
        self._transports = [t for t in self._transports if t.is_active()] + [transport]

    def close(self) -> None:
        """Stop listening, end every connection and every agent."""
        self._closed = True
        # A thread in accept() wakes up for shutdown, not for close.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5.0)
        for transport in self._transports:
            transport.close()
        self._gate.end()


class _Gate(paramiko.ServerInterface):  # type: ignore[misc]  # paramiko ships no types
    """What a connection may do: log in with the one key, and start the one agent."""

    def __init__(self, key: paramiko.PKey, user: str, python: str, env: dict[str, str]) -> None:
        self._key = key
        self._user = user
        self._python = python
        self._env = env
        self._children: list[subprocess.Popen[bytes]] = []

    def get_allowed_auths(self, username: str) -> str:
        del username
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        known = username == self._user and key.asbytes() == self._key.asbytes()
        return int(paramiko.AUTH_SUCCESSFUL if known else paramiko.AUTH_FAILED)

    def check_channel_request(self, kind: str, chanid: int) -> int:
        del chanid
        allowed = kind == "session"
        return int(paramiko.OPEN_SUCCEEDED if allowed else paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED)

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        line = command.decode("utf-8", "replace")
        if python_of(line) != self._python:
            return False
        # The reply to this request goes out first; the thread waits for nothing else.
        threading.Thread(target=self._run, args=(channel, shlex.split(line)), daemon=True).start()
        return True

    def _run(self, channel: paramiko.Channel, argv: list[str]) -> None:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._env,
            cwd=self._env.get("HOME", "/"),
            start_new_session=True,
        )
        self._children.append(child)
        pumps = [_pump(child, channel.sendall, 1), _pump(child, channel.sendall_stderr, 2)]
        threading.Thread(target=_feed, args=(channel, child), daemon=True).start()
        for pump in pumps:
            pump.join()
        with suppress(OSError, EOFError, paramiko.SSHException):
            channel.send_exit_status(child.wait())
            channel.close()

    def end(self) -> None:
        for child in self._children:
            child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout, child.stderr):
                if stream:
                    with suppress(OSError):
                        stream.close()


def _feed(channel: paramiko.Channel, child: "subprocess.Popen[bytes]") -> None:
    """Hand what comes from the client to the child's stdin; the end of the one is the end of the other."""
    if child.stdin is None:
        return
    with suppress(OSError, ValueError):
        while data := channel.recv(CHUNK):
            child.stdin.write(data)
            child.stdin.flush()
    with suppress(OSError, ValueError):
        child.stdin.close()


def _pump(child: "subprocess.Popen[bytes]", send: Callable[[bytes], None], number: int) -> threading.Thread:
    """Hand what the child writes (1: stdout, 2: stderr) to `send` in a thread of its own."""
    stream = child.stdout if number == 1 else child.stderr

    def run() -> None:
        with suppress(OSError, ValueError, EOFError, paramiko.SSHException):
            while stream and (data := os.read(stream.fileno(), CHUNK)):
                send(data)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread
