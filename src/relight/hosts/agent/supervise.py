"""The supervisor: a detached parent of one server. It watches and records; it never ends anything."""

from __future__ import annotations

import ctypes
import json
import os
import re
import select
import signal
import subprocess
import time
from contextlib import suppress
from typing import Any

from relight.hosts.agent.folders import boot_id, read_json, read_text, try_flock, write_json
from relight.hosts.agent.processes import all_processes, descendants, process
from relight.hosts.agent.rolling import roll
from relight.hosts.agent.shared import inodes_of, shared_files_of, shm_names

PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 15, 36
QUICK, SLOW = 0.5, 3.0  # seconds between looks at the tree: while it grows, later


def supervise(order: dict[str, Any]) -> None:
    """Detach, start the server, stay until its last process is gone. Returns only in the process that was started."""
    if os.fork():
        return
    with suppress(OSError):
        os.chdir("/")
    settle_signals()
    os.umask(0o077)
    prctl(PR_SET_NAME, b"relight-superv")
    lock = os.open(os.path.join(order["folder"], "supervisor.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    if try_flock(lock) and read_json(os.path.join(order["folder"], "state.json")) is None:
        Supervisor(order).stay()
    os._exit(0)


def prctl(option: int, value: Any) -> None:
    """Call prctl(2)."""
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def settle_signals() -> None:
    """Undo what we inherited, survive the end of a session. Handlers, unlike "ignore", are not passed on to a child."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGQUIT, signal.SIGCHLD, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, do_nothing)


def do_nothing(number: int, frame: Any) -> None:
    """Take a signal."""


class Supervisor:
    """One server and everything it starts, whoever their parent becomes: we are their subreaper."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._folder: str = order["folder"]
        self._server: list[int] | None = None
        self._ended: dict[str, Any] | None = None
        self._seen: dict[str, int] = {}
        self._shm: dict[str, int] = {}
        self._names: set[str] = shm_names()
        self._recorded: Any = None
        self._started = time.time()
        self._oom_kills = oom_kills()
        self._untold = False
        self._wake, wake = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def stay(self) -> None:
        """Start the server and stay until the tree below us is empty."""
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        self._reserve()
        self._log = os.open(self._path("server.log"), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._write_state()
        self._start()
        next_look = 0.0
        while True:
            self._reap()
            if time.monotonic() >= next_look:
                self._look()
                next_look = time.monotonic() + (QUICK if time.time() - self._started < 120 else SLOW)
            if self._ended is not None and not descendants(all_processes(), os.getpid()):
                break
            self._wait(max(0.05, next_look - time.monotonic()))
        with suppress(OSError):
            os.close(os.open(self._path("gone"), os.O_WRONLY | os.O_CREAT, 0o600))

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _reserve(self) -> None:
        """Take the room that the exit record needs now: the disk may be full when the server ends."""
        fd = os.open(self._path("exit.part"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(fd, b" " * 4096)
        os.fsync(fd)
        os.close(fd)

    def _write_state(self, error: str = "") -> None:
        me, log = process(os.getpid()), os.fstat(self._log)
        state = {
            "boot": boot_id(),
            "supervisor": [os.getpid(), me.start if me else 0],
            "server": self._server,
            "started": self._started,
            "log": [log.st_dev, log.st_ino],
            "error": error,
        }
        write_json(self._path("state.json"), state)

    def _start(self) -> None:
        ours = os.umask(self._order["umask"])  # the server's files are not ours to hide
        try:
            child = subprocess.Popen(
                self._order["argv"],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                cwd=self._order["cwd"],
                env=self._order["env"],
                start_new_session=True,
            )
        except OSError as error:
            reason = f"could not be started: {error.strerror}: {error.filename or self._order['argv'][0]}"
            self._ended = {"code": None, "signal": None, "ended": time.time(), "reason": reason}
            self._record_exit()
            self._write_state(error=reason)
            return
        finally:
            os.umask(ours)
        proc = process(child.pid)
        self._server = [child.pid, proc.start if proc else 0]
        child.returncode = 0  # reaped below with everything else; Popen must not wait for it
        self._tell_server()

    def _tell_server(self) -> None:
        """Record the server's pid; where the disk is full just now, at a later look."""
        try:
            self._write_state()
        except OSError:
            self._untold = True
        else:
            self._untold = False

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if self._server and pid == self._server[0] and self._ended is None:
                self._ended = dict(how_it_ended(status), ended=time.time(), oom_kills=self._oom_killed())
                self._record_exit()

    def _oom_killed(self) -> int | None:
        """Return how many processes the kernel killed for want of memory since we began."""
        now = oom_kills()
        return None if now is None or self._oom_kills is None else now - self._oom_kills

    def _record_exit(self) -> None:
        """Write into the room that was reserved, then rename: neither needs a free block."""
        text = json.dumps(dict(self._ended or {}, boot=boot_id())).encode("ascii").ljust(4095) + b"\n"
        part = self._path("exit.part")
        fd = os.open(part, os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(fd, text)
        os.fsync(fd)
        os.close(fd)
        os.rename(part, self._path("exit.json"))

    def _look(self) -> None:
        """Record pid and start of what is below us, and its shared memory; roll the log where that is wanted."""
        procs = all_processes()
        below = descendants(procs, os.getpid())
        self._seen.update({str(pid): procs[pid].start for pid in below})
        self._note_shared(below)
        self._seen = {p: s for p, s in self._seen.items() if int(p) in procs and procs[int(p)].start == s}
        record = {"seen": self._seen, "shm": self._shm}
        if self._untold:
            self._tell_server()
        with suppress(OSError):  # a full disk is no reason to stop watching
            if record != self._recorded:
                write_json(self._path("tree.json"), record)
                self._recorded = {"seen": dict(self._seen), "shm": dict(self._shm)}
            settled = read_json(self._path("settle.json"))
            if settled:
                roll(self._folder, self._log, settled["roll"], settled["keep"])

    def _note_shared(self, below: list[int]) -> None:
        """Remember files in /dev/shm that are ours: mapped or open below us, or named after a process below us."""
        names = shm_names()
        new = names - self._names
        if new:
            self._shm.update(shared_files_of(below))
            self._shm.update(inodes_of(n for n in new if any(p in self._seen for p in re.findall(r"\d+", n))))
        self._names = names
        self._shm = {name: inode for name, inode in self._shm.items() if name in names}

    def _wait(self, seconds: float) -> None:
        with suppress(OSError):
            select.select([self._wake], [], [], seconds)
            os.read(self._wake, 512)


def oom_kills() -> int | None:
    """Return how many processes the kernel has killed for want of memory, None where it does not count them."""
    found = re.search(r"(?m)^oom_kill (\d+)$", read_text("/proc/vmstat"))
    return int(found.group(1)) if found else None


def how_it_ended(status: int) -> dict[str, Any]:
    """Return exit code or signal of a wait status."""
    if os.WIFSIGNALED(status):
        return {"code": None, "signal": os.WTERMSIG(status)}
    return {"code": os.WEXITSTATUS(status), "signal": None}
