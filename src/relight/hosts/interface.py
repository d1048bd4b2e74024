"""What every host can be asked: one interface for this machine, for SSH, and for the shipped double."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from relight.hosts.values import (
    Disk,
    Entry,
    Holder,
    HostError,
    HostFacts,
    HttpAnswer,
    HttpRequest,
    Interpreter,
    Launched,
    LaunchOrder,
    Leftover,
    Owner,
    Ran,
    Stat,
    Status,
    Stopped,
    Usage,
    Validation,
)
from relight.words.host import Gpu, HostProcess, HostSpec, Listener
from relight.words.parser import HostParser
from relight.words.settings import Settings

__all__ = [
    "Disk", "Entry", "Holder", "Host", "HostError", "HostFacts", "HttpAnswer", "HttpRequest", "Interpreter",
    "LaunchOrder", "Launched", "Leftover", "LogStream", "Owner", "Ran", "Stat", "Status", "Stopped", "Usage",
    "Validation",
]  # fmt: skip


class LogStream(Protocol):
    """The bytes of one attempt's log as they are written, on a channel of their own.

    After a lost link it goes on by itself at the exact byte; it never raises for that. `offset` is the next byte it
    will give; `down` is for how many seconds the link has been away (0.0 while it is up), `cuts` how often it was
    lost; `fault` is set when the file on the host was truncated or replaced by somebody ("" otherwise).
    """

    offset: int

    @property
    def down(self) -> float:
        """Return for how many seconds the link has been away, 0.0 while it is up."""

    @property
    def cuts(self) -> int:
        """Return how often the link was lost so far."""

    @property
    def fault(self) -> str:
        """Say what somebody did to the file on the host, "" where nobody did."""

    def read(self, timeout: float) -> bytes:
        """Return new bytes as soon as there are any, b"" after `timeout` seconds without."""

    def close(self) -> None:
        """Give the channel back."""


class Host(Protocol):
    """A host. Every call is bounded by `timeout` seconds and safe to repeat.

    Raises UnreachableError when the link cannot be had (after reconnecting with back-off for as long as the call may
    take) and HostError when the host answers that it cannot do what was asked. `connect` comes first.
    """

    spec: HostSpec

    def connect(self, *, timeout: float = 30.0) -> HostFacts:
        """Reach the host (again) and return what it says about itself. A second call asks anew."""

    def close(self) -> None:
        """Give up the link. What runs on the host is not touched."""

    def gpus(self, *, timeout: float = 30.0) -> tuple[Gpu, ...]:
        """Return the cards of `spec.gpus` (all when None) with the processes on them; () without nvidia-smi."""

    def listeners(self, *, timeout: float = 20.0) -> tuple[Listener, ...]:
        """Return who listens on TCP."""

    def processes(self, *, timeout: float = 20.0) -> tuple[HostProcess, ...]:
        """Return all processes we may see; `ours` is the attempt id of those that are."""

    def disk(self, path: str, *, timeout: float = 20.0) -> Disk:
        """Return the room on the filesystem that holds `path` (or its nearest existing parent)."""

    def engine_version(self, *, timeout: float = 60.0) -> str | None:
        """Return the engine's version as `spec.python` has it, None where it cannot be told."""

    def interpreters(self, *, timeout: float = 60.0) -> tuple[Interpreter, ...]:
        """Return the Pythons on the host that have the engine."""

    def images(self, *, timeout: float = 20.0) -> tuple[str, ...]:
        """Return names of container images on the host that look like the engine's."""

    def parser(self, *, timeout: float = 180.0) -> HostParser:
        """Return the options of the installed engine. Asked once per interpreter and version, kept in workdir."""

    def source(self, file: str, *, timeout: float = 20.0) -> str | None:
        """Return the text of a source file (up to 4 MiB), None where there is none."""

    def stat(self, path: str, *, timeout: float = 20.0) -> Stat | None:
        """Return kind and size of `path` (`~` is the host's home), None where nothing is."""

    def list_dir(self, path: str, *, timeout: float = 20.0) -> tuple[Entry, ...]:
        """Return the names in a folder, sorted; () where there is none."""

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout: float = 60.0,
        launch_env: bool = False,
    ) -> Ran:
        """Run a command to its end. `launch_env`: with PATH, environment and an empty folder like a launch.

        A first word of "PYTHON" stands for the interpreter of a launch. The command must be safe to repeat.
        """

    def launch(self, order: LaunchOrder, *, timeout: float = 60.0) -> Launched:
        """Start a server under a detached supervisor. The same attempt id twice starts one server.

        BusyError where somebody else took, while the link was away, the cards or port that were locked.
        """

    def status(self, attempt_id: str, *, timeout: float = 20.0) -> Status:
        """Return what became of an attempt; state "none" for an id the host never saw."""

    def attempts(self, *, timeout: float = 20.0) -> tuple[Status, ...]:
        """Return every attempt the host remembers, oldest first."""

    def stop(self, attempt_id: str, *, patience: float = 20.0) -> Stopped:
        """SIGTERM, wait `patience` seconds, SIGKILL the whole tree, verify. Nothing that is not ours is touched."""

    def settle(self, attempt_id: str, *, roll_bytes: int = 256 << 20, keep: int = 20, timeout: float = 20.0) -> None:
        """Tell the supervisor that the server is healthy: from now on it rolls the log at `roll_bytes`."""

    def leftovers(self, *, timeout: float = 30.0) -> tuple[Leftover, ...]:
        """Return what ended attempts of ours left behind."""

    def clean(self, attempt_ids: Sequence[str] = (), *, timeout: float = 60.0) -> tuple[Leftover, ...]:
        """Clear what these attempts (all ended ones when empty) left; return what is still there."""

    def http(self, request: HttpRequest) -> HttpAnswer:
        """Ask an HTTP server from the host itself, proxies ignored."""

    def read_log(self, attempt_id: str, offset: int, limit: int, *, timeout: float = 30.0) -> bytes:
        """Return up to `limit` bytes of the attempt's log from byte `offset`; b"" at its end."""

    def read_file(self, path: str, offset: int, limit: int, *, timeout: float = 30.0) -> bytes | None:
        """Return up to `limit` bytes of any file on the host from byte `offset`; None where there is none."""

    def follow(self, attempt_id: str, offset: int) -> LogStream:
        """Open a stream of the attempt's log from byte `offset`."""

    def kernel_log(self, since: float, *, timeout: float = 20.0) -> tuple[str, ...]:
        """Return kernel messages after `since` (epoch seconds), without their time; () where they are not readable."""

    def validate(self, candidates: Sequence[Settings], parser: HostParser, *, timeout: float = 300.0) -> Validation:
        """Ask the host's own argument validation about settings; nothing is launched."""

    def lock(self, owner: Owner, *, gpus: Sequence[int], port: int | None, timeout: float = 20.0) -> tuple[Holder, ...]:
        """Take (or, called again, renew) the lock on these GPUs and this port; () when it is ours.

        Otherwise nothing was taken and the holders are named. A lock of ours is taken to every new link; without a link
        it is free after 10 s. It is stale, too, when it was not renewed for 120 s and no attempt of its run lives.
        """

    def unlock(self, owner: Owner, *, timeout: float = 20.0) -> None:
        """Give back all that `owner` holds."""

    def forget(self, attempt_id: str, *, timeout: float = 60.0) -> None:
        """Delete an ended attempt's folder on the host, log included. HostError while anything of it lives."""

    def usage(self, *, timeout: float = 60.0) -> Usage:
        """Return how much room the work folder takes."""
