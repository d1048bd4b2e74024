"""What a host is asked for and what it answers: plain values. Times are epoch seconds of the host's clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from relight.words.attempt import Exit
from relight.words.errors import RelightError
from relight.words.host import HostProcess
from relight.words.secret import Secret
from relight.words.step import Answer

Kind: TypeAlias = Literal["file", "folder", "link", "other"]
AttemptState: TypeAlias = Literal["none", "starting", "running", "ended"]
LeftoverKind: TypeAlias = Literal["process", "shm", "lock"]


class HostError(RelightError):
    """A question that a reachable host could not answer: `text` is what it said, `place` names host and question."""


class NoAnswerError(HostError):
    """A question that a reachable host did not answer in time: it is at its limit, or a disk of it hangs."""


@dataclass(frozen=True)
class HostFacts:
    """What a host says about itself once, when it is reached. Memory and sizes in MiB, None = not readable.

    `clock_offset` is the host's clock minus ours in seconds, `round_trip` how exactly that is known.
    `kills_user_processes` is logind's KillUserProcesses without lingering; `container` the kind, "" on bare metal.
    `ulimits` holds nofile, memlock (bytes), nproc; None means unlimited. `proxies` are the proxy variables of a login.
    """

    user: str
    uid: int
    home: str
    workdir: str
    hostname: str
    kernel: str
    boot_id: str
    now: float
    clock_offset: float
    round_trip: float
    python: str
    python_version: str
    cpus: int
    memory_total: int
    memory_free: int
    shm_total: int | None
    shm_free: int | None
    ulimits: Mapping[str, int | None]
    login_path: str
    login_shell: str
    proxies: Mapping[str, str]
    kills_user_processes: bool | None
    container: str


@dataclass(frozen=True)
class Interpreter:
    """A Python on the host that can import the engine."""

    path: str
    version: str | None


@dataclass(frozen=True)
class Disk:
    """Free and total bytes of the filesystem that holds `path`; `read_only` where nothing can be written."""

    path: str
    free: int
    total: int
    read_only: bool = False


@dataclass(frozen=True)
class Stat:
    """A path on the host; size in bytes."""

    kind: Kind
    size: int
    modified: float = 0.0


@dataclass(frozen=True)
class Entry:
    """One name in a folder; links are followed for kind and size."""

    name: str
    kind: Kind
    size: int


@dataclass(frozen=True)
class Ran:
    """A finished command. `code` is negative for a signal, None when it ran out of time and was killed."""

    code: int | None
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True)
class NodeOrder:
    """What one node of several gets for itself: its number, variables that are not the same on all, its secrets."""

    rank: int
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    secret_flags: Mapping[str, Secret] = field(default_factory=dict)


@dataclass(frozen=True)
class LaunchOrder:
    """One server to start. `argv` is what follows `PYTHON -m MODULE`; `attempt_id` makes it idempotent.

    `env` is what the settings give (hosts.toml env included); `secrets` are added to it and travel by the channel only;
    `secret_flags` go into a 0600 file given by --config. `run`, `port` and `gpus` are remembered beside the attempt
    so that a later run can name whose server it meets; `title` is free text for the same purpose. `nodes`, in the
    order of rank, is for several hosts that carry one server: what each gets for itself. `argv` is then the first
    node's and ends with its number, 0.
    """

    attempt_id: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    secret_flags: Mapping[str, Secret] = field(default_factory=dict)
    module: str = "sglang.launch_server"
    run: str = ""
    port: int | None = None
    title: str = ""
    nodes: tuple[NodeOrder, ...] = ()


@dataclass(frozen=True)
class Launched:
    """The answer to a launch: `again` says that this attempt had been launched before and nothing was started now."""

    attempt_id: str
    pid: int | None
    supervisor: int | None
    log: str
    folder: str
    command: tuple[str, ...]
    again: bool = False


@dataclass(frozen=True)
class Status:
    """An attempt as the host sees it. `tree` are its live processes, whoever their parent is now.

    `reason` says why it could not start or how it ended without a record ("the host was rebooted", "the supervisor
    was killed"). `supervised` is False while the server lives and its supervisor does not. `log_size` counts every
    byte ever written, rolled files included; `boot_id` is the boot it was started in; `oom_kills` is how many processes
    the kernel killed for want of memory until it ended, None where it does not count them. Over several hosts `nodes`
    holds what each says, in the order of rank: the rest is then about the first node, `tree` about all, and `state`
    is "ended" as soon as one node ended.
    """

    attempt_id: str
    state: AttemptState
    pid: int | None = None
    started: float | None = None
    ended: float | None = None
    exit: Exit = field(default_factory=Exit)
    boot_id: str = ""
    tree: tuple[HostProcess, ...] = ()
    log: str = ""
    log_size: int = 0
    reason: str = ""
    supervised: bool = True
    run: str = ""
    port: int | None = None
    gpus: tuple[int, ...] | None = None
    title: str = ""
    stopped: bool = False
    oom_kills: int | None = None
    nodes: tuple["Status", ...] = ()

    @property
    def alive(self) -> bool:
        """Say whether anything of this attempt may still run."""
        return self.state in {"starting", "running"} or any(p.state != "Z" for p in self.tree)

    @property
    def serves(self) -> bool:
        """Say whether the server may still serve: alive, and none of several nodes has ended."""
        return self.alive and not any(node.state in {"none", "ended"} for node in self.nodes)


@dataclass(frozen=True)
class Stopped:
    """What a stop did: `left` would not die (`state` "D": only a reboot or GPU reset helps), zombies not counted."""

    attempt_id: str
    left: tuple[HostProcess, ...] = ()
    killed: bool = False
    exit: Exit = field(default_factory=Exit)
    seconds: float = 0.0


@dataclass(frozen=True)
class Leftover:
    """Something of ours that an ended attempt left: a process, a file in /dev/shm, a JIT lock of a dead owner."""

    kind: LeftoverKind
    what: str
    attempt_id: str = ""
    pid: int | None = None
    why: str = ""


@dataclass(frozen=True)
class HttpRequest:
    """A request made from the host itself. `token` becomes `Authorization: Bearer`; `timeout` and `limit` bound it."""

    url: str
    method: str = "GET"
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    token: Secret | None = None
    timeout: float = 25.0
    limit: int = 1 << 20


@dataclass(frozen=True)
class HttpAnswer:
    """`status` is None when nothing answered, then `error` says why ("refused", "timeout", or the system's words)."""

    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    error: str = ""
    seconds: float = 0.0
    cut: bool = False


@dataclass(frozen=True)
class Validation:
    """What the host's own argument validation said, one answer per candidate, in order.

    `asked` is False where it could not be asked at all; `why` then says so and `answers` is empty.
    """

    answers: tuple[Answer, ...] = ()
    asked: bool = True
    why: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Owner:
    """Who holds a lock: the controller's user, host and pid, and its run."""

    run: str
    user: str
    host: str
    pid: int

    def __str__(self) -> str:
        return f"run {self.run} of {self.user}@{self.host} (pid {self.pid})"


@dataclass(frozen=True)
class Holder:
    """A GPU or port held by somebody else: `what` is "gpu 3" or "port 30000"; `beat` its last sign of life.

    `account` is the host's account that holds it, "" where that is the one we are logged in as. The host vouches for
    it; what `owner` says is that account's own word. `frees` is in how many seconds it is free where the owner's link
    ended and no server of its run lives: the owner is gone, unless it is back by then; None for every other.
    """

    what: str
    owner: Owner
    beat: float
    account: str = ""
    frees: float | None = None

    @property
    def who(self) -> str:
        """Return who holds it."""
        return f"{self.owner}, account {self.account}" if self.account else str(self.owner)


@dataclass(frozen=True)
class Usage:
    """What the work folder on the host holds, bytes; `attempts` are the attempts with what each takes."""

    workdir: str
    bytes: int
    attempts: tuple[tuple[str, int, float], ...] = ()
