"""A host as hosts.toml names it, and what it says about itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field

CONFIG_FILE_FROM = "0.5.5.post3"
"""The first version of SGLang that takes flags from a file, which is how secret flags travel."""


@dataclass(frozen=True)
class SecretSource:
    """Where a secret comes from on this machine: `env:NAME` or `file:PATH`. The value is read when it is sent."""

    kind: str
    where: str


@dataclass(frozen=True)
class HostSpec:
    """One [hosts.NAME] table (CONTRACT.md section 2). Local paths are absolute; workdir and python are the host's.

    `node_address` is where the other nodes of one server reach this host, None: that is found out.
    """

    name: str
    address: str
    user: str | None = None
    port: int | None = None
    identity_file: str | None = None
    jump: str | None = None
    known_hosts: str | None = None
    python: str = "python3"
    workdir: str = "~/.relight"
    gpus: tuple[int, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, SecretSource] = field(default_factory=dict)
    secret_flags: Mapping[str, SecretSource] = field(default_factory=dict)
    node_address: str | None = None


@dataclass(frozen=True)
class Gpu:
    """One card, memory in MiB, `power` in watts, `utilisation` in percent; None where it does not say.

    `node` is the host it is in, "" where there is only one.
    """

    index: int
    name: str
    memory_total: int
    memory_used: int
    uuid: str = ""
    driver: str = ""
    processes: tuple["GpuProcess", ...] = ()
    power: float | None = None
    utilisation: float | None = None
    node: str = ""


@dataclass(frozen=True)
class GpuProcess:
    """A process that holds memory (MiB) on a card."""

    pid: int
    memory: int
    name: str = ""


@dataclass(frozen=True)
class HostProcess:
    """A process on the host; `start` (clock ticks) tells a reused pid apart."""

    pid: int
    ppid: int
    start: int
    state: str
    command: str
    user: str = ""
    ours: str | None = None


@dataclass(frozen=True)
class Listener:
    """Who listens on a TCP port; pid is None where we may not see it."""

    port: int
    address: str
    pid: int | None
    command: str = ""
    start: int | None = None
