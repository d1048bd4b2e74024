"""The lab: a simulated machine with eight cards behind SSH on loopback, gone without a trace when it is closed."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from relight.hosts.loopback import ADDRESS, make_keys
from relight.lab.box.sglang.srt.stand_in.cards import started
from relight.lab.front import Front, open_front
from relight.lab.machine import install, write_home
from relight.lab.scenario import Foreign, Scenario, load_scenario
from relight.words.errors import RelightError, UsageError
from relight.words.host import HostSpec

STORY = "story"
PATIENCE = 5.0
NAMELESS = "user"
"""Who logs in where the user has no name, as in a container; a real sshd knows nobody so."""


class Lab:
    """A running lab: `spec` is how to reach it, `folder` holds all of it, `stand_in` says that it is none of iron."""

    stand_in = True

    def __init__(
        self,
        folder: Path,
        scenario: Scenario,
        *,
        sshd: bool | None = None,
        port: int | None = None,
        address: str = ADDRESS,
    ) -> None:
        """Lay out the machine below `folder` and start its SSH front; see `open`."""
        sweep(folder)
        self.folder = folder.absolute() / f"lab-{secrets.token_hex(4)}"
        self.scenario = scenario
        self._strangers: list[subprocess.Popen[bytes]] = []
        self._front: Front | None = None
        try:
            self.spec = self._start(sshd, address)
            for foreign in scenario.foreign:
                self._hold(foreign)
            if scenario.listener and port:
                self._run("lab_stranger", "--listen", str(port))
        except (OSError, RelightError):
            self.close()
            raise

    def _start(self, sshd: bool | None, address: str) -> HostSpec:
        try:
            self.folder.mkdir(mode=0o700, parents=True)
        except OSError as exc:
            then = "name another folder with --state"
            fault = f"the simulated host cannot be laid out here: {exc.strerror}"
            raise UsageError(fault, place=str(self.folder.parent), next=then) from exc
        (self.folder / "owner").write_text(f"{os.getpid()} {started(os.getpid())}")
        self.python = install(self.folder, self.scenario)
        home = write_home(self.folder, self.python.parent)
        keys = make_keys(self.folder / "ssh")
        user = _user()
        # The machine has its own locks: what this one really runs, or another lab, is not in its way.
        locks = self.folder / "locks"
        locks.mkdir()
        path = f"{self.python.parent}{os.pathsep}{os.defpath}"
        env = {"HOME": str(home), "PATH": path, "RELIGHT_LOCKS": str(locks)}
        self._front = open_front(
            self.folder / "ssh", keys, user, str(self.python), env,
            sshd=False if user == NAMELESS else sshd, address=address,
        )  # fmt: skip
        return HostSpec(
            name="lab",
            address=address,
            user=user,
            port=self._front.port,
            identity_file=str(keys.client),
            known_hosts=str(keys.known_hosts),
            python=str(self.python),
            workdir=str(home / ".relight"),
        )

    @property
    def front(self) -> str:
        """Return what answers SSH: "sshd" or "loopback"."""
        return "sshd" if type(self._front).__name__ == "Sshd" else "loopback"

    def _hold(self, foreign: Foreign) -> None:
        """Start a process that holds memory on a card and is nobody's."""
        self._run("lab_stranger", str(foreign.card), str(foreign.mib), foreign.name, str(int(foreign.hidden)))

    def _run(self, module: str, *words: str) -> None:
        """Start a process of the machine and wait until it says that it is there."""
        child = subprocess.Popen(
            [str(self.python), "-m", module, *words],
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            cwd="/",
            env={"HOME": str(self.folder / "home"), "SPT_NOENV": "1"},
        )
        self._strangers.append(child)
        if child.stdout and not child.stdout.readline():
            raise RelightError(f"a process of the lab did not start: {words}", place="lab")

    def snippet(self, name: str = "simulated") -> str:
        """Return a hosts.toml table that reaches this lab under `name`."""
        spec = self.spec
        rows = {
            "address": spec.address,
            "port": spec.port,
            "user": spec.user,
            "identity_file": spec.identity_file,
            "known_hosts": spec.known_hosts,
            "python": spec.python,
            "workdir": spec.workdir,
        }
        lines = [f"{key} = {value if isinstance(value, int) else _toml(str(value))}" for key, value in rows.items()]
        return "\n".join([f"[hosts.{name}]", *lines, ""])

    def close(self) -> None:
        """End every process of the machine and remove its folder. May be called again."""
        if self._front:
            self._front.close()
        end_processes(self.folder)
        for child in self._strangers:
            child.kill()
            child.wait()
            if child.stdout:
                child.stdout.close()
        self._strangers = []
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open(  # noqa: A001  read as lab.open
    folder: Path,
    scenario: str = STORY,
    *,
    sshd: bool | None = None,
    port: int | None = None,
    address: str = ADDRESS,
) -> Lab:
    """Start a lab in a new folder below `folder`.

    `scenario`: a name of those that come with relight, or a .toml file. `sshd`: True or False chooses the front,
    None takes a real sshd where one can be had. `port`: where a stranger listens, in scenarios that have one.
    `address`: the loopback address it answers SSH on; several labs are the nodes of one server.
    Raises UsageError for a scenario that is none, RelightError when the front does not start.
    """
    return Lab(folder, load_scenario(scenario), sshd=sshd, port=port, address=address)


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return NAMELESS


@contextmanager
def lab_host(folder: Path, scenario: str = STORY) -> Iterator[HostSpec]:
    """Yield the host of a lab that lives as long as this lasts."""
    with open(folder, scenario) as lab:
        yield lab.spec


def end_processes(folder: Path) -> None:
    """Kill every process of the machine below `folder`: run by its interpreter, or logged in to its home."""
    until = time.monotonic() + PATIENCE
    while (found := machine_processes(folder)) and time.monotonic() < until:
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def machine_processes(folder: Path) -> list[int]:
    """Return the processes of the machine below `folder`; those that only wait to be reaped are left out."""
    names = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [pid for pid in names if pid != os.getpid() and _belongs(pid, folder)]


def sweep(folder: Path) -> None:
    """Remove labs below `folder` whose relight was killed before it could."""
    for path in folder.glob("lab-*/owner"):
        pid, start = (int(word) for word in path.read_text().split())
        if started(pid) != start:
            end_processes(path.parent.absolute())
            shutil.rmtree(path.parent, ignore_errors=True)


def _belongs(pid: int, folder: Path) -> bool:
    proc = Path("/proc") / str(pid)
    try:
        command = proc.joinpath("cmdline").read_bytes()
        env = proc.joinpath("environ").read_bytes().split(b"\0")
    except OSError:
        return False
    root = os.fsencode(folder)
    sshd = command.startswith(b"sshd:") and root + b"/ssh/sshd_config" in command
    return sshd or command.startswith(root + b"/") or b"HOME=" + root + b"/home" in env


def _toml(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def platform_problem() -> str | None:
    """Return why the lab cannot run on this system, None where it can."""
    return None if sys.platform == "linux" else f"the lab needs Linux (/proc); this is {sys.platform}"
