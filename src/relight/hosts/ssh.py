"""A host behind SSH: one connection, strict host keys, a pipe per command."""

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import fabric
import paramiko

from relight.hosts.known_hosts import known_name, read_known_hosts
from relight.hosts.link import LinkError, Pipe
from relight.hosts.ssh_keys import Door, Login, StrictKeys, StrictTransport, environment_secret, key_files
from relight.words.errors import UnreachableError, UsageError
from relight.words.host import HostSpec

KEEPALIVE = 10
STEP = 0.25  # how long one wait inside paramiko may take; longer ones are made of these
SEND_PATIENCE = 30.0
LOST = (OSError, EOFError, paramiko.SSHException)
MILLISECONDS_UNACKNOWLEDGED = 20_000


class SshPipe:
    """One command over a connection."""

    def __init__(self, channel: Any, connection: fabric.Connection) -> None:
        self._channel = channel
        self._connection = connection
        self._said = b""
        channel.settimeout(STEP)

    def send(self, data: bytes) -> None:
        """Send every byte."""
        view = memoryview(data)
        until = time.monotonic() + SEND_PATIENCE
        while view:
            try:
                view = view[self._channel.send(view[:65536]) :]
                until = time.monotonic() + SEND_PATIENCE
            except TimeoutError as error:
                if time.monotonic() > until:
                    raise LinkError(f"the host took no byte for {SEND_PATIENCE:.0f} s") from error
            except LOST as error:
                raise LinkError(f"the link was lost: {error}") from error

    def recv(self, timeout: float) -> bytes | None:
        """Return bytes, b"" at the end, None when none came in time."""
        until = time.monotonic() + timeout
        while True:
            try:
                data: bytes = self._channel.recv(1 << 18)
            except TimeoutError:
                if time.monotonic() >= until:
                    return None
            except LOST as error:
                raise LinkError(f"the link was lost: {error}") from error
            else:
                return data

    def errors(self) -> str:
        """Return what was written to stderr."""
        while self._channel.recv_stderr_ready():
            self._said += self._channel.recv_stderr(1 << 16)
        return self._said.decode("utf-8", "replace")

    def exit_code(self) -> int | None:
        """Return how the command ended; None when the link was lost before it could say so."""
        self._channel.status_event.wait(2.0)
        code = int(self._channel.exit_status)
        return code if code >= 0 else None

    def end(self) -> None:
        """Close its stdin."""
        with suppress(*LOST):
            self._channel.shutdown_write()

    def close(self) -> None:
        """Give the channel back."""
        with suppress(*LOST):
            self._channel.close()

    def abandon(self) -> None:
        """Give up this connection."""
        close_all(self._connection)


class SshLink:
    """Connects when first needed, and anew when the connection was lost."""

    def __init__(self, spec: HostSpec) -> None:
        self._spec = spec
        self._guard = threading.Lock()
        self._connection: fabric.Connection | None = None
        # Without a handler paramiko's own words would go to stderr: we say what happened in ours.
        logging.getLogger("paramiko").addHandler(logging.NullHandler())

    def start(self, line: str, *, timeout: float) -> Pipe:
        """Start a command in the login shell there."""
        with self._guard:
            connection = self._connected(timeout)
        try:
            with bounded(connection, timeout):
                channel = connection.transport.open_session(timeout=timeout)
                channel.exec_command(line)
        except LOST as error:
            close_all(connection)
            raise LinkError(f"the link was lost: {error or type(error).__name__}") from error
        return SshPipe(channel, connection)

    def _connected(self, timeout: float) -> fabric.Connection:
        if self._connection is None or not self._connection.is_connected:
            self._connection = None
            self._connection = open_connection(self._spec, timeout)
        return self._connection

    def close(self) -> None:
        """Give up the connection for good."""
        with self._guard:
            if self._connection is not None:
                close_all(self._connection)
            self._connection = None


@contextmanager
def bounded(connection: fabric.Connection, timeout: float) -> Iterator[None]:
    """End the connection when a call inside takes too long: some of paramiko's waits know no time-out."""
    timer = threading.Timer(timeout, close_all, [connection])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def close_all(connection: fabric.Connection) -> None:
    """Close a connection and the gateways it goes through."""
    while isinstance(connection, fabric.Connection):
        with suppress(*LOST):
            connection.client.close()
        connection = connection.gateway


def open_connection(spec: HostSpec, timeout: float) -> fabric.Connection:
    """Connect and log in. Raises LinkError for what may pass, UnreachableError for what does not."""
    connection = describe(spec, timeout)
    place = f"{spec.name} ({spec.address})"
    try:
        with bounded(connection, timeout):
            connection.open()
    except UnreachableError:
        close_all(connection)
        raise
    except socket.gaierror as error:
        raise UnreachableError(
            f"no host is called {connection.host}", place=place, next="check address in hosts.toml, or ~/.ssh/config"
        ) from error
    except paramiko.IncompatiblePeer as error:
        raise UnreachableError(
            f"no way of encryption in common: {error}", place=place, next="update sshd there"
        ) from error
    except LOST as error:
        close_all(connection)
        raise LinkError(f"{connection.host} port {connection.port}: {reason(error)}") from error
    harden(connection)
    return connection


def reason(error: BaseException) -> str:
    """Return a connection error in a few words."""
    if isinstance(error, paramiko.ssh_exception.NoValidConnectionsError):
        return "; ".join(sorted({str(e.strerror or e) for e in error.errors.values()}))
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(error) or "the connection was closed"


def harden(connection: fabric.Connection) -> None:
    """Notice a dead link: keepalives on the connection, a limit on unacknowledged bytes."""
    transport = connection.transport
    transport.set_keepalive(KEEPALIVE)
    with suppress(OSError, AttributeError):
        transport.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, MILLISECONDS_UNACKNOWLEDGED)
        transport.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def describe(spec: HostSpec, timeout: float) -> fabric.Connection:
    """Return the connection for a host, not yet opened, with the chain of its jump hosts."""
    config = fabric.Config(lazy=True, ssh_config=ssh_config())
    try:
        target = fabric.Connection(spec.address, spec.user, spec.port, config=config, gateway=False)
    except ValueError as error:
        raise UsageError(
            f"address {spec.address!r} and user or port say the same thing twice", place=spec.name, next="say it once"
        ) from error
    target.gateway = gateway_for(spec, target, config, timeout)
    arm(target, spec, timeout, last=True)
    return target


def ssh_config() -> Any:
    """Return ~/.ssh/config and the system's, the first word on a matter winning."""
    config = paramiko.SSHConfig()
    for path in (Path("~/.ssh/config").expanduser(), Path("/etc/ssh/ssh_config")):
        if path.is_file():
            with path.open(encoding="utf-8", errors="replace") as file:
                config.parse(file)
    return config


def gateway_for(spec: HostSpec, target: fabric.Connection, config: Any, timeout: float) -> Any:
    """Return the jump hosts, the nearest to the target first in hand, or a proxy command, or False."""
    jumps = spec.jump or target.ssh_config.get("proxyjump", "")
    if jumps and jumps.lower() != "none":
        gateway: Any = False
        for hop in jumps.split(","):
            gateway = fabric.Connection(hop.strip().removeprefix("ssh://"), config=config.clone(), gateway=gateway)
            arm(gateway, spec, timeout, last=False)
        return gateway
    command = target.ssh_config.get("proxycommand", "none")
    return command if command.lower() != "none" and not spec.jump else False


def arm(connection: fabric.Connection, spec: HostSpec, timeout: float, *, last: bool) -> None:
    """Give a connection its host keys, its login and its time-outs."""
    config = connection.ssh_config
    alias = config.get("hostkeyalias")
    files = [spec.known_hosts] if spec.known_hosts else known_hosts_files(config)
    door = Door(
        place=f"{spec.name} ({spec.address})",
        host=connection.host,
        port=connection.port,
        name=alias or known_name(connection.host, connection.port),
        user=connection.user,
        file=str(Path(files[0]).expanduser()),
        via=getattr(connection.gateway, "host", "") or str(connection.gateway or ""),
        vouched=alias or connection.host,
    )
    known = read_known_hosts(files)
    identity = spec.identity_file
    only_files = identity is not None or config.get("identitiesonly", "no") == "yes"
    login = Login(
        door,
        key_files(identity, config, door.place),
        use_agent=not only_files,
        passphrase=environment_secret("RELIGHT_SSH_PASSPHRASE"),
        password=environment_secret("RELIGHT_SSH_PASSWORD") if last else None,
    )
    connection.client.set_missing_host_key_policy(StrictKeys(door, known))
    connection.connect_timeout = None
    connection.connect_kwargs = {
        "auth_strategy": login,
        "transport_factory": StrictTransport(known, door.name),
        "timeout": min(timeout, float(config.get("connecttimeout", 10))),
        "banner_timeout": min(timeout, 15.0),
        "auth_timeout": min(timeout, 15.0),
        "channel_timeout": min(timeout, 15.0),
    }


def known_hosts_files(config: Any) -> list[str]:
    """Return the known_hosts files of the ssh configuration, ssh's defaults where it names none."""
    own = config.get("userknownhostsfile", "~/.ssh/known_hosts ~/.ssh/known_hosts2").split()
    return [*own, *config.get("globalknownhostsfile", "/etc/ssh/ssh_known_hosts").split()]
