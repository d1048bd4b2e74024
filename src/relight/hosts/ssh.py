"""A host behind SSH: one connection, strict host keys, a pipe per command."""

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fabric
import paramiko

from relight.hosts.known_hosts import known_name, read_known_hosts
from relight.hosts.link import LinkError, Pipe
from relight.hosts.pace import Pace
from relight.hosts.ssh_keys import Door, Login, StrictKeys, StrictTransport, environment_secret, key_files
from relight.words.errors import UnreachableError, UsageError
from relight.words.host import HostSpec

KEEPALIVE = 10
STEP = 0.25  # how long one wait inside paramiko may take; longer ones are made of these
SEND_PATIENCE = 30.0
LOST = (OSError, EOFError, paramiko.SSHException)
MILLISECONDS_UNACKNOWLEDGED = 20_000
SILENCE = 2.0  # four signs of life of an agent
FIRST, AGAIN = 10.0, 5.0  # seconds for TCP alone, and where there was a connection: the kernel asks at 0, 1 and 3
STAGE = 15.0  # seconds for one stage of a login


class Wire:
    """One connection: when it last gave a byte, and when it was last doubted."""

    def __init__(self, connection: fabric.Connection) -> None:
        self.connection = connection
        self.heard = time.monotonic()
        self._doubted = 0.0
        self._given_up: list[Any] = []

    @property
    def fit(self) -> bool:
        """Say whether it is up, as far as one knows."""
        return bool(self.connection.is_connected) and self.heard >= self._doubted

    def doubt(self, channel: Any) -> None:
        """Note that `channel` was given up for its silence. To close it now may take long: that is said to the host."""
        self._given_up.append(channel)
        self._doubted = time.monotonic()

    def clear(self) -> None:
        """Close what was given up while it was doubted."""
        while self._given_up:
            with suppress(*LOST):
                self._given_up.pop().close()

    def close(self) -> None:
        """Give it up, and the gateways it goes through."""
        close_all(self.connection)


class SshPipe:
    """One command over a connection."""

    def __init__(self, channel: Any, wire: Wire) -> None:
        self._channel = channel
        self._wire = wire
        self._said = b""
        channel.settimeout(STEP)

    @property
    def heard(self) -> float:
        """Return when the connection last gave a byte."""
        return self._wire.heard

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
                self._wire.heard = time.monotonic()
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
        self._wire.close()

    def doubt(self) -> None:
        """Give up the channel, and the connection unless that is heard again."""
        self._wire.doubt(self._channel)


class SshLink:
    """Connects when first needed, and anew when the connection was lost."""

    def __init__(self, spec: HostSpec) -> None:
        self._spec = spec
        self._guard = threading.Lock()
        self._wire: Wire | None = None
        self.pace = Pace(SILENCE)
        # Without a handler paramiko's own words would go to stderr: we say what happened in ours.
        logging.getLogger("paramiko").addHandler(logging.NullHandler())

    def start(self, line: str, *, timeout: float) -> Pipe:
        """Start a command in the login shell there."""
        with self._guard:
            wire = self._connected(timeout)
        try:
            channel = open_session(wire.connection, line, timeout)
        except LOST as error:
            wire.close()
            raise LinkError(f"the link was lost: {error or type(error).__name__}") from error
        return SshPipe(channel, wire)

    def _connected(self, timeout: float) -> Wire:
        """Return a connection that is up. One in doubt is left alone until another is made: it may be heard again."""
        if self._wire is not None and self._wire.fit:
            return self._wire
        limits = Limits(timeout, self.pace.greeting(min(timeout, STAGE)), AGAIN if self._wire else FIRST)
        began = time.monotonic()
        made = Wire(open_connection(self._spec, limits))
        self.pace.logged_in(time.monotonic() - began)
        if self._wire is not None and self._wire.fit:
            made.close()
            self._wire.clear()
            return self._wire
        if self._wire is not None:
            self._wire.close()
        self._wire = made
        return made

    def close(self) -> None:
        """Give up the connection for good."""
        with self._guard:
            if self._wire is not None:
                self._wire.close()
            self._wire = None


def open_session(connection: fabric.Connection, line: str, timeout: float) -> Any:
    """Start a command over a connection. Raises one of LOST."""
    with bounded(connection, timeout) as late:
        channel = connection.transport.open_session(timeout=timeout)
        # A connection that ends just here wakes nobody who waits for an answer on it.
        late.append(channel.event.set)
        channel.exec_command(line)
    return channel


@contextmanager
def bounded(connection: fabric.Connection, timeout: float) -> Iterator[list[Callable[[], object]]]:
    """End the connection when a call inside takes too long, then call what was added to the list.

    Some of paramiko's waits know no time-out.
    """
    late: list[Callable[[], object]] = []

    def end() -> None:
        close_all(connection)
        for call in late:
            call()

    timer = threading.Timer(timeout, end)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()


def close_all(connection: fabric.Connection) -> None:
    """Close a connection and the gateways it goes through."""
    while isinstance(connection, fabric.Connection):
        with suppress(*LOST):
            connection.client.close()
        connection = connection.gateway


@dataclass(frozen=True)
class Limits:
    """Seconds for all of connecting and logging in, for the first word of the host, and for TCP.

    What ssh's configuration says of TCP goes first; of the whole something is left for the login.
    """

    whole: float
    greeting: float
    tcp: float

    def named(self, configured: Any) -> dict[str, float]:
        """Return the time-outs as paramiko calls them."""
        stage = min(self.whole, STAGE)
        tcp = min(self.whole * 2 / 3, float(configured or self.tcp))
        return {"timeout": tcp, "banner_timeout": self.greeting, "auth_timeout": stage, "channel_timeout": stage}


def open_connection(spec: HostSpec, limits: Limits) -> fabric.Connection:
    """Connect and log in. Raises LinkError for what may pass, UnreachableError for what does not."""
    connection = describe(spec, limits)
    place = f"{spec.name} ({spec.address})"
    try:
        with bounded(connection, limits.whole):
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


def describe(spec: HostSpec, limits: Limits) -> fabric.Connection:
    """Return the connection for a host, not yet opened, with the chain of its jump hosts."""
    config = fabric.Config(lazy=True, ssh_config=ssh_config())
    try:
        target = fabric.Connection(spec.address, spec.user, spec.port, config=config, gateway=False)
    except ValueError as error:
        raise UsageError(
            f"address {spec.address!r} and user or port say the same thing twice", place=spec.name, next="say it once"
        ) from error
    target.gateway = gateway_for(spec, target, config, limits)
    arm(target, spec, limits, last=True)
    return target


def ssh_config() -> Any:
    """Return ~/.ssh/config and the system's, the first word on a matter winning."""
    config = paramiko.SSHConfig()
    for path in (Path("~/.ssh/config").expanduser(), Path("/etc/ssh/ssh_config")):
        if path.is_file():
            with path.open(encoding="utf-8", errors="replace") as file:
                config.parse(file)
    return config


def gateway_for(spec: HostSpec, target: fabric.Connection, config: Any, limits: Limits) -> Any:
    """Return the jump hosts, the nearest to the target first in hand, or a proxy command, or False."""
    jumps = spec.jump or target.ssh_config.get("proxyjump", "")
    if jumps and jumps.lower() != "none":
        gateway: Any = False
        for hop in jumps.split(","):
            gateway = fabric.Connection(hop.strip().removeprefix("ssh://"), config=config.clone(), gateway=gateway)
            arm(gateway, spec, limits, last=False)
        return gateway
    command = target.ssh_config.get("proxycommand", "none")
    return command if command.lower() != "none" and not spec.jump else False


def arm(connection: fabric.Connection, spec: HostSpec, limits: Limits, *, last: bool) -> None:
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
        **limits.named(config.get("connecttimeout")),
    }


def known_hosts_files(config: Any) -> list[str]:
    """Return the known_hosts files of the ssh configuration, ssh's defaults where it names none."""
    own = config.get("userknownhostsfile", "~/.ssh/known_hosts ~/.ssh/known_hosts2").split()
    return [*own, *config.get("globalknownhostsfile", "/etc/ssh/ssh_known_hosts").split()]
