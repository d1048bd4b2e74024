"""A host that plays a script: no process, no socket, no waiting."""
# ruff: noqa: ARG002  every method has the time-out of the interface, which a script does not need

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from relight.hosts.interface import (
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
from relight.testing.clock import ManualClock
from relight.testing.stream import ScriptedLog
from relight.words.attempt import Exit
from relight.words.host import Gpu, HostProcess, HostSpec, Listener
from relight.words.parser import HostParser
from relight.words.settings import Settings

FACTS = HostFacts(
    user="tester", uid=1000, home="/home/tester", workdir="/home/tester/.relight", hostname="box", kernel="6.8.0",
    boot_id="boot-1", now=1_800_000_000.0, clock_offset=0.0, round_trip=0.001, python="/opt/engine/bin/python",
    python_version="3.12.3", cpus=64, memory_total=1 << 20, memory_free=1 << 19, shm_total=1 << 18, shm_free=1 << 18,
    ulimits={"nofile": 1 << 20, "memlock": None, "nproc": None}, login_path="/usr/bin:/bin", login_shell="/bin/bash",
    proxies={}, kills_user_processes=False, container="",
)  # fmt: skip
LIMIT = 100_000


class TooManyQuestionsError(AssertionError):
    """The host was asked more often than the test allows: somebody goes round in circles."""


def refuse(request: HttpRequest) -> HttpAnswer:  # noqa: ARG001  the signature of every answerer
    """Answer like a port nobody listens on."""
    return HttpAnswer(None, error="refused")


@dataclass(frozen=True)
class Act:
    """What one launch does.

    `log` comes at once, `later` are (seconds after the launch, text); after `ends` seconds the process is over with
    `exit` (None: it never ends by itself). It listens on its port and answers with `answers` from `listens` seconds
    on (None: never). `ignores_term` makes a stop need SIGKILL; `error` is why it could not be started at all.
    """

    log: str = ""
    later: tuple[tuple[float, str], ...] = ()
    exit: Exit | None = None
    ends: float = 0.0
    listens: float | None = None
    answers: Callable[[HttpRequest], HttpAnswer] = refuse
    ignores_term: bool = False
    error: str = ""


@dataclass
class Played:
    """One launch that was carried out."""

    order: LaunchOrder
    act: Act
    pid: int
    began: float
    stopped: float | None = None
    exit: Exit | None = None
    settled: bool = False


@dataclass
class ScriptedHost:
    """Implements `relight.hosts.interface.Host`; `play` says what each launch does.

    `orders` are the launches as they came (one per attempt id); `asked` names every question in order. More than
    `limit` questions raise TooManyQuestionsError. `validator` answers argument validation (None: it cannot be asked).
    `leaving` is when (epoch seconds) what runs hold is free whose relight is gone.
    `growing` are files that grow by so many bytes a second; folders list them beside `files`.
    """

    play: Callable[[LaunchOrder], Act]
    clock: ManualClock = field(default_factory=ManualClock)
    spec: HostSpec = field(default_factory=lambda: HostSpec("box", "local"))
    limit: int = LIMIT
    facts: HostFacts = FACTS
    cards: tuple[Gpu, ...] = ()
    version: str | None = None
    options: HostParser = field(default_factory=lambda: HostParser(()))
    validator: Callable[[Sequence[Settings]], Validation] | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    growing: dict[str, float] = field(default_factory=dict)
    commands: Callable[[Sequence[str]], Ran] | None = None
    strangers: tuple[HostProcess, ...] = ()
    foreign_listeners: tuple[Listener, ...] = ()
    kernel: tuple[str, ...] = ()
    rubbish: tuple[Leftover, ...] = ()
    played: dict[str, Played] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    locks: dict[str, Owner] = field(default_factory=dict)
    leaving: dict[str, float] = field(default_factory=dict)
    connected: bool = False
    _guard: threading.Lock = field(default_factory=threading.Lock)

    @property
    def orders(self) -> tuple[LaunchOrder, ...]:
        """The launches that were carried out."""
        return tuple(p.order for p in self.played.values())

    def _note(self, question: str) -> None:
        with self._guard:
            self.asked.append(question)
            if len(self.asked) > self.limit:
                raise TooManyQuestionsError(f"more than {self.limit} questions; the last ones: {self.asked[-5:]}")

    def connect(self, *, timeout: float = 30.0) -> HostFacts:
        """Return `facts` with the clock's time."""
        self._note("connect")
        self.connected = True
        return replace(self.facts, now=self.clock.now())

    def close(self) -> None:
        """Note that the link was given up."""
        self.connected = False

    def gpus(self, *, timeout: float = 30.0) -> tuple[Gpu, ...]:
        """Return `cards`, those of the spec only."""
        self._note("gpus")
        return tuple(g for g in self.cards if self.spec.gpus is None or g.index in self.spec.gpus)

    def listeners(self, *, timeout: float = 20.0) -> tuple[Listener, ...]:
        """Return foreign listeners and those of live launches."""
        self._note("listeners")
        found = [p for p in self.played.values() if self._listens(p) and p.order.port is not None]
        own = (Listener(p.order.port or 0, "127.0.0.1", p.pid, "python -m engine", p.pid) for p in found)
        return (*self.foreign_listeners, *own)

    def processes(self, *, timeout: float = 20.0) -> tuple[HostProcess, ...]:
        """Return strangers and our own live processes."""
        self._note("processes")
        return (*self.strangers, *(p for played in self.played.values() for p in self._tree(played)))

    def disk(self, path: str, *, timeout: float = 20.0) -> Disk:
        """Return a big disk."""
        self._note("disk")
        return Disk(path, 1 << 42, 1 << 43)

    def engine_version(self, *, timeout: float = 60.0) -> str | None:
        """Return `version`."""
        self._note("engine_version")
        return self.version

    def interpreters(self, *, timeout: float = 60.0) -> tuple[Interpreter, ...]:
        """Return the one interpreter of the spec."""
        self._note("interpreters")
        return (Interpreter(self.spec.python, self.version),)

    def images(self, *, timeout: float = 20.0) -> tuple[str, ...]:
        """Return no image."""
        self._note("images")
        return ()

    def parser(self, *, timeout: float = 180.0) -> HostParser:
        """Return `options`."""
        self._note("parser")
        return self.options

    def source(self, file: str, *, timeout: float = 20.0) -> str | None:
        """Return a file of `files` as text."""
        data = self.read_file(file, 0, 1 << 22, timeout=timeout)
        return None if data is None else data.decode("utf-8", "replace")

    def stat(self, path: str, *, timeout: float = 20.0) -> Stat | None:
        """Return kind and size of what is in `files`."""
        self._note("stat")
        if path in self.files:
            return Stat("file", len(self.files[path]))
        return Stat("folder", 0) if any(f.startswith(path.rstrip("/") + "/") for f in self.files) else None

    def list_dir(self, path: str, *, timeout: float = 20.0) -> tuple[Entry, ...]:
        """Return the names of `files` and `growing` in a folder."""
        self._note("list_dir")
        sizes = {f: len(d) for f, d in self.files.items()}
        sizes |= {f: int(rate * self.clock.monotonic()) for f, rate in self.growing.items()}
        below = {f.removeprefix(path.rstrip("/") + "/"): s for f, s in sizes.items() if f.startswith(path + "/")}
        return tuple(Entry(name, "file", size) for name, size in sorted(below.items()) if "/" not in name)

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout: float = 60.0,
        launch_env: bool = False,
    ) -> Ran:
        """Answer with `commands`; HostError where the test gave none."""
        self._note("run")
        if self.commands is None:
            raise HostError(f"cannot run {argv[0]}: no such file", place=self.spec.name)
        return self.commands(argv)

    def launch(self, order: LaunchOrder, *, timeout: float = 60.0) -> Launched:
        """Begin an act; the same attempt id again changes nothing."""
        self._note("launch")
        again = order.attempt_id in self.played
        if not again:
            act = self.play(order)
            self.played[order.attempt_id] = Played(order, act, 1000 + 10 * len(self.played), self.clock.now())
        pid = self.played[order.attempt_id].pid
        command = (self.spec.python, "-m", order.module, *order.argv)
        folder = f"{self.facts.workdir}/attempts/{order.attempt_id}"
        return Launched(order.attempt_id, pid, pid + 1, f"{folder}/server.log", folder, command, again)

    def _passed(self, played: Played) -> float:
        return (played.stopped if played.stopped is not None else self.clock.now()) - played.began

    def _over(self, played: Played) -> bool:
        act = played.act
        return played.stopped is not None or (
            act.error != "" or (act.exit is not None and self._passed(played) >= act.ends)
        )

    def _listens(self, played: Played) -> bool:
        listens = played.act.listens
        return not self._over(played) and listens is not None and self._passed(played) >= listens

    def _tree(self, played: Played) -> tuple[HostProcess, ...]:
        if self._over(played):
            return ()
        return (HostProcess(played.pid, 1, played.pid, "S", "python -m engine", "tester", played.order.attempt_id),)

    def log_of(self, attempt_id: str) -> bytes:
        """Return what an attempt has written so far."""
        played = self.played.get(attempt_id)
        if played is None:
            return b""
        until = min(self._passed(played), played.act.ends) if self._over(played) else self._passed(played)
        later = (text for at, text in played.act.later if at <= until)
        return "".join([played.act.log, *later]).encode()

    def status(self, attempt_id: str, *, timeout: float = 20.0) -> Status:
        """Return how far an act has come."""
        self._note("status")
        played = self.played.get(attempt_id)
        return Status(attempt_id, "none") if played is None else self._status(played)

    def _status(self, played: Played) -> Status:
        over, order = self._over(played), played.order
        ended = (played.stopped or played.began + played.act.ends) if over else None
        return Status(
            order.attempt_id,
            "ended" if over else "running",
            pid=None if played.act.error else played.pid,
            started=played.began,
            ended=ended,
            exit=(played.exit or played.act.exit or Exit()) if over else Exit(),
            boot_id=self.facts.boot_id,
            tree=self._tree(played),
            log=f"{self.facts.workdir}/attempts/{order.attempt_id}/server.log",
            log_size=len(self.log_of(order.attempt_id)),
            reason=played.act.error,
            run=order.run,
            port=order.port,
            gpus=self.spec.gpus,
            title=order.title,
            stopped=played.stopped is not None,
        )

    def attempts(self, *, timeout: float = 20.0) -> tuple[Status, ...]:
        """Return every act."""
        self._note("attempts")
        return tuple(map(self._status, self.played.values()))

    def stop(self, attempt_id: str, *, patience: float = 20.0) -> Stopped:
        """End an act: SIGTERM, or SIGKILL after `patience` for one that ignores it."""
        self._note("stop")
        played = self.played.get(attempt_id)
        if played is None or self._over(played):
            return Stopped(attempt_id, exit=(played.act.exit or Exit()) if played else Exit())
        stubborn = played.act.ignores_term
        self.clock.advance(patience if stubborn else 0.1)
        played.stopped, played.exit = self.clock.now(), Exit(None, 9 if stubborn else 15)
        return Stopped(attempt_id, (), stubborn, played.exit, patience if stubborn else 0.1)

    def settle(self, attempt_id: str, *, roll_bytes: int = 256 << 20, keep: int = 20, timeout: float = 20.0) -> None:
        """Note that the server is healthy."""
        self._note("settle")
        self.played[attempt_id].settled = True

    def leftovers(self, *, timeout: float = 30.0) -> tuple[Leftover, ...]:
        """Return `rubbish`."""
        self._note("leftovers")
        return self.rubbish

    def clean(self, attempt_ids: Sequence[str] = (), *, timeout: float = 60.0) -> tuple[Leftover, ...]:
        """Clear `rubbish` of these attempts; what gives a reason (`why`) stays."""
        self._note("clean")
        mine = [r for r in self.rubbish if not attempt_ids or r.attempt_id in attempt_ids]
        self.rubbish = tuple(r for r in self.rubbish if r not in mine or r.why)
        return tuple(r for r in self.rubbish if r in mine)

    def http(self, request: HttpRequest) -> HttpAnswer:
        """Let the live launch that listens answer."""
        self._note("http")
        live = [p for p in self.played.values() if self._listens(p)]
        return live[-1].act.answers(request) if live else refuse(request)

    def read_log(self, attempt_id: str, offset: int, limit: int, *, timeout: float = 30.0) -> bytes:
        """Return bytes of what was written so far."""
        self._note("read_log")
        return self.log_of(attempt_id)[offset : offset + limit]

    def read_file(self, path: str, offset: int, limit: int, *, timeout: float = 30.0) -> bytes | None:
        """Return bytes of a file of `files`."""
        self._note("read_file")
        data = self.files.get(path)
        return None if data is None else data[offset : offset + limit]

    def follow(self, attempt_id: str, offset: int) -> ScriptedLog:
        """Follow an act; a read that finds nothing lets its time-out pass on the clock."""
        self._note("follow")
        return ScriptedLog(lambda: self.log_of(attempt_id), self.clock, offset)

    def kernel_log(self, since: float, *, timeout: float = 20.0) -> tuple[str, ...]:
        """Return `kernel`."""
        self._note("kernel_log")
        return self.kernel

    def validate(self, candidates: Sequence[Settings], parser: HostParser, *, timeout: float = 300.0) -> Validation:
        """Ask `validator`."""
        self._note("validate")
        return self.validator(candidates) if self.validator else Validation(asked=False, why="no engine here")

    def lock(self, owner: Owner, *, gpus: Sequence[int], port: int | None, timeout: float = 20.0) -> tuple[Holder, ...]:
        """Take or renew a lock."""
        self._note("lock")
        wanted = [f"gpu {n}" for n in gpus] + ([] if port is None else [f"port {port}"])
        now = self.clock.now()
        frees = {run: until - now for run, until in self.leaving.items()}
        self.locks = {what: held for what, held in self.locks.items() if frees.get(held.run, 1.0) > 0}
        others = [Holder(w, held, now, frees=frees.get(held.run)) for w in wanted if (held := self.locks.get(w))]
        taken = tuple(h for h in others if h.owner.run != owner.run)
        if not taken:
            self.locks.update(dict.fromkeys(wanted, owner))
        return taken

    def unlock(self, owner: Owner, *, timeout: float = 20.0) -> None:
        """Give a lock back."""
        self._note("unlock")
        self.locks = {what: held for what, held in self.locks.items() if held.run != owner.run}

    def forget(self, attempt_id: str, *, timeout: float = 60.0) -> None:
        """Forget an act that is over."""
        self._note("forget")
        played = self.played.get(attempt_id)
        if played is not None and not self._over(played):
            raise HostError(f"attempt {attempt_id} still runs; stop it first", place=self.spec.name)
        self.played.pop(attempt_id, None)

    def usage(self, *, timeout: float = 60.0) -> Usage:
        """Return the size of all logs."""
        self._note("usage")
        sizes = tuple((name, len(self.log_of(name)), p.began) for name, p in self.played.items())
        return Usage(self.facts.workdir, sum(size for _, size, _ in sizes), sizes)
