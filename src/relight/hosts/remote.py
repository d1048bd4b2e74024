"""A host that is asked through the agent: over SSH or, on this machine, over a pipe."""

import hashlib
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import tenacity

from relight.hosts.answers import read_holder, read_leftover, read_process, read_status, read_stopped
from relight.hosts.channel import Asker, Channel, open_channel
from relight.hosts.link import CommandError, Link, LinkError
from relight.hosts.oracle import answers, command, imported
from relight.hosts.oracle import request as question
from relight.hosts.parser_answer import read_parser
from relight.hosts.parser_source import parser_script
from relight.hosts.readers import read_gpus, read_kernel_log
from relight.hosts.stream import FollowedLog
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
    NoAnswerError,
    Owner,
    Ran,
    Stat,
    Status,
    Stopped,
    Usage,
    Validation,
)
from relight.words.errors import BusyError, UnreachableError
from relight.words.host import Gpu, HostProcess, HostSpec, Listener
from relight.words.parser import HostParser
from relight.words.settings import Settings
from relight.words.text import plain

PACKAGE = "sglang"
SLACK = 15.0  # what an answer may take on top of the time that the host was given for the question itself
FALLBACKS = ("python3", "/usr/bin/python3")
SOURCE_LIMIT = 4 << 20
BACKOFF = tenacity.wait_random_exponential(multiplier=0.1, max=0.6)


class AgentHost:
    """Implements `relight.hosts.interface.Host`. The link is made when first needed and made anew when it was lost."""

    def __init__(self, spec: HostSpec, link: Link) -> None:
        self.spec = spec
        self._link = link
        self._guard = threading.Lock()
        self._asker: Asker | None = None
        self._streams: list[FollowedLog] = []
        self._met = False
        self._imported: tuple[str, ...] = ()
        self._closes = 0
        self._locked: Mapping[str, Any] | None = None
        self._lost: tuple[Holder, ...] = ()

    def _order(self, role: str, **more: Any) -> dict[str, Any]:
        spec = self.spec
        gpus = None if spec.gpus is None else list(spec.gpus)
        site = {"workdir": spec.workdir, "python": spec.python, "env": dict(spec.env), "gpus": gpus}
        return {"role": role, **site, **more}

    def _open(self, order: Mapping[str, Any], timeout: float) -> Channel:
        try:
            return open_channel(self._link, (self.spec.python, *FALLBACKS), order, timeout=timeout)
        except CommandError as error:
            raise UnreachableError(
                f"no interpreter there can run the agent: {error}",
                place=self.spec.name,
                next="set python in hosts.toml to a Python 3.8 or later on the host",
            ) from error

    def _current(self, timeout: float) -> Asker:
        with self._guard:
            if self._asker is None or self._asker.broken:
                self._asker = Asker(self._open(self._order("questions"), timeout))
                self._met = True
                self._lock_again(self._asker)
            return self._asker

    def _lock_again(self, asker: Asker) -> None:
        """Take what is locked to a new agent: the old one let go of it."""
        if self._locked:
            with suppress(TimeoutError):
                head, _ = asker.ask("lock", self._locked, b"", timeout=SLACK)
                self._lost = tuple(map(read_holder, head.get("value") or ()))

    def _still_ours(self) -> None:
        """Raise BusyError where somebody took, while the link was away, what was locked."""
        if self._lost:
            held = ", ".join(holder.what for holder in self._lost)
            text = f"{held} held by {self._lost[0].who}, since the link was away"
            raise BusyError(text, place=self.spec.name, next="--wait waits until that is over")

    def _ask(self, question: str, *, timeout: float, blob: bytes = b"", **arguments: Any) -> Any:
        return self._ask_raw(question, arguments, blob, timeout)[0]

    def _ask_raw(self, question: str, arguments: Mapping[str, Any], blob: bytes, timeout: float) -> tuple[Any, bytes]:
        """Ask until there is an answer: every question is safe to repeat. A host never met is tried once.

        `close` ends what is still asked: nobody waits for it, and the process could not end before it.
        """
        until, closes = time.monotonic() + timeout, self._closes
        stop = tenacity.stop_after_delay(timeout) if self._met else tenacity.stop_after_attempt(1)
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda e: isinstance(e, LinkError) and self._closes == closes),
            wait=BACKOFF,
            stop=stop,
            reraise=True,
        )

        def once() -> tuple[Any, bytes]:
            if self._closes != closes:
                raise LinkError("the link was given up")
            asker = self._current(max(1.0, until - time.monotonic()))
            if question == "launch":
                self._still_ours()
            return asker.ask(question, arguments, blob, timeout=max(1.0, until - time.monotonic()))

        try:
            head, data = retrying(once)
        except LinkError as error:
            fault = UnreachableError(
                str(error), place=self.spec.name, next="see that the host and the way to it are up"
            )
            fault.passing = True
            raise fault from error
        except TimeoutError as error:
            raise NoAnswerError(f"no answer to {question!r} within {timeout:.0f} s", place=self.spec.name) from error
        if not head["ok"]:
            raise HostError(plain(head["error"]), place=self.spec.name)
        return head.get("value"), data

    def connect(self, *, timeout: float = 30.0) -> HostFacts:
        """Reach the host and return its facts."""
        facts = self._ask("facts", timeout=timeout)
        asked = time.time()
        there = self._ask("clock", timeout=timeout)
        took = time.time() - asked
        return HostFacts(**facts, clock_offset=there - asked - took / 2, round_trip=took)

    def close(self) -> None:
        """Give up the link; what is still asked fails at once."""
        self._closes += 1
        for stream in self._streams:
            stream.close()
        with self._guard:
            if self._asker is not None:
                self._asker.close()
            self._asker = None
        self._link.close()

    def gpus(self, *, timeout: float = 30.0) -> tuple[Gpu, ...]:
        """Return the cards."""
        said = self._ask("gpus", timeout=timeout + SLACK)
        return read_gpus(said["cards"], said["apps"], self.spec.gpus) if said["there"] else ()

    def listeners(self, *, timeout: float = 20.0) -> tuple[Listener, ...]:
        """Return who listens."""
        return tuple(Listener(**said) for said in self._ask("listeners", timeout=timeout))

    def processes(self, *, timeout: float = 20.0) -> tuple[HostProcess, ...]:
        """Return the processes."""
        return tuple(map(read_process, self._ask("processes", timeout=timeout)))

    def disk(self, path: str, *, timeout: float = 20.0) -> Disk:
        """Return the room at a path."""
        return Disk(**self._ask("disk", path=path, timeout=timeout))

    def _engine(self, timeout: float) -> Any:
        return self._ask("engine", name=PACKAGE, timeout=timeout + SLACK)

    def engine_version(self, *, timeout: float = 60.0) -> str | None:
        """Return the engine's version."""
        version = self._engine(timeout)["version"]
        return None if version is None else str(version)

    def interpreters(self, *, timeout: float = 60.0) -> tuple[Interpreter, ...]:
        """Return the Pythons that have the engine."""
        return tuple(Interpreter(**said) for said in self._ask("interpreters", name=PACKAGE, timeout=timeout))

    def images(self, *, timeout: float = 20.0) -> tuple[str, ...]:
        """Return container images of the engine."""
        return tuple(name for name in self._ask("images", timeout=timeout) if PACKAGE in name.lower())

    def parser(self, *, timeout: float = 180.0) -> HostParser:
        """Return the engine's options, kept on the host by interpreter, version, time of its sources and our script."""
        engine, script = self._engine(timeout), parser_script()
        key = [engine["python"], engine["version"], engine["stamp"], sorted(self.spec.env.items()), script]
        name = hashlib.sha256(repr(key).encode()).hexdigest()[:24] + ".json"
        kept = self.read_file(f"{self.spec.workdir}/parsers/{name}", 0, SOURCE_LIMIT)
        if kept:
            return read_parser(kept, place=self.spec.name)
        ran = self.run(["PYTHON", "-"], stdin=script.encode(), timeout=timeout, launch_env=True)
        if ran.code is None:
            raise HostError(f"the engine's parser gave no answer within {timeout:.0f} s", place=self.spec.name)
        parser = read_parser(ran.stdout, place=self.spec.name)
        self._ask_raw("keep", {"folder": "parsers", "name": name}, ran.stdout, SLACK)
        return parser

    def source(self, file: str, *, timeout: float = 20.0) -> str | None:
        """Return a source file's text."""
        data = self.read_file(file, 0, SOURCE_LIMIT, timeout=timeout)
        return None if data is None else data.decode("utf-8", "replace")

    def stat(self, path: str, *, timeout: float = 20.0) -> Stat | None:
        """Return kind and size."""
        said = self._ask("stat", path=path, timeout=timeout)
        return None if said is None else Stat(**said)

    def list_dir(self, path: str, *, timeout: float = 20.0) -> tuple[Entry, ...]:
        """Return the names in a folder."""
        return tuple(Entry(**said) for said in self._ask("list_dir", path=path, timeout=timeout))

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout: float = 60.0,
        launch_env: bool = False,
    ) -> Ran:
        """Run a command to its end."""
        given = dict(self.spec.env if env is None and launch_env else env or {})
        arguments = {"argv": list(argv), "env": given, "patience": timeout, "launch_env_too": launch_env}
        said, data = self._ask_raw("run", arguments, stdin, timeout + SLACK)
        return Ran(said["code"], data[: said["split"]], data[said["split"] :])

    def launch(self, order: LaunchOrder, *, timeout: float = 60.0) -> Launched:
        """Start a server."""
        told = {
            "argv": list(order.argv),
            "env": dict(order.env),
            "secrets": {name: secret.reveal() for name, secret in order.secrets.items()},
            "secret_flags": {name: secret.reveal() for name, secret in order.secret_flags.items()},
            "module": order.module,
            "run": order.run,
            "port": order.port,
            "title": order.title,
        }
        said = self._ask("launch", attempt=order.attempt_id, order=told, timeout=timeout)
        return Launched(**{**said, "command": tuple(said["command"])})

    def status(self, attempt_id: str, *, timeout: float = 20.0) -> Status:
        """Return what became of an attempt."""
        return read_status(self._ask("status", attempt=attempt_id, timeout=timeout))

    def attempts(self, *, timeout: float = 20.0) -> tuple[Status, ...]:
        """Return every attempt."""
        return tuple(map(read_status, self._ask("attempts", timeout=timeout)))

    def stop(self, attempt_id: str, *, patience: float = 20.0) -> Stopped:
        """End an attempt."""
        return read_stopped(self._ask("stop", attempt=attempt_id, patience=patience, timeout=patience + 30.0 + SLACK))

    def settle(self, attempt_id: str, *, roll_bytes: int = 256 << 20, keep: int = 20, timeout: float = 20.0) -> None:
        """Let the supervisor roll the log."""
        self._ask("settle", attempt=attempt_id, roll_bytes=roll_bytes, keep=keep, timeout=timeout)

    def leftovers(self, *, timeout: float = 30.0) -> tuple[Leftover, ...]:
        """Return what ended attempts left."""
        return tuple(map(read_leftover, self._ask("leftovers", timeout=timeout)))

    def clean(self, attempt_ids: Sequence[str] = (), *, timeout: float = 60.0) -> tuple[Leftover, ...]:
        """Clear what ended attempts left."""
        return tuple(map(read_leftover, self._ask("clean", attempts=list(attempt_ids), timeout=timeout)))

    def http(self, request: HttpRequest) -> HttpAnswer:
        """Ask an HTTP server from the host."""
        headers = dict(request.headers)
        if request.token is not None:
            headers["Authorization"] = f"Bearer {request.token.reveal()}"
        arguments = {
            "url": request.url,
            "method": request.method,
            "headers": headers,
            "patience": request.timeout,
            "limit": request.limit,
        }
        said, data = self._ask_raw("http", arguments, request.body, request.timeout + SLACK)
        return HttpAnswer(**said, body=data)

    def read_log(self, attempt_id: str, offset: int, limit: int, *, timeout: float = 30.0) -> bytes:
        """Return bytes of a log."""
        return self._ask_raw("read_log", {"attempt": attempt_id, "offset": offset, "limit": limit}, b"", timeout)[1]

    def read_file(self, path: str, offset: int, limit: int, *, timeout: float = 30.0) -> bytes | None:
        """Return bytes of a file."""
        said, data = self._ask_raw("read_file", {"path": path, "offset": offset, "limit": limit}, b"", timeout)
        return data if said["there"] else None

    def follow(self, attempt_id: str, offset: int) -> FollowedLog:
        """Open a stream of a log."""
        stream = FollowedLog(lambda at, tail: self._log(attempt_id, at, tail), offset)
        self._streams = [s for s in self._streams if not s.closed]
        self._streams.append(stream)
        return stream

    def _log(self, attempt_id: str, offset: int, tail: bytes) -> Channel:
        channel = self._open(self._order("log", attempt=attempt_id, offset=offset, tail=tail.hex()), 20.0)
        channel.silence = self._link.pace.doubt
        return channel

    def kernel_log(self, since: float, *, timeout: float = 20.0) -> tuple[str, ...]:
        """Return kernel messages."""
        said = self._ask("kernel_log", timeout=timeout + SLACK)
        return read_kernel_log(said["kind"], said["text"], booted=said["booted"], since=since)

    def validate(self, candidates: Sequence[Settings], parser: HostParser, *, timeout: float = 300.0) -> Validation:
        """Ask the host's own argument validation."""
        began = time.monotonic()
        asked = question(candidates, parser, without=self.spec.env, modules=self._imported)
        ran = self.run(command(), stdin=asked, timeout=timeout, launch_env=True)
        said = answers(ran, candidates)
        self._imported = imported(ran, candidates) or self._imported
        return replace(said, seconds=time.monotonic() - began)

    def lock(self, owner: Owner, *, gpus: Sequence[int], port: int | None, timeout: float = 20.0) -> tuple[Holder, ...]:
        """Take or renew a lock."""
        wanted = [f"gpu {n}" for n in gpus] + ([] if port is None else [f"port {port}"])
        said = self._ask("lock", owner=vars(owner), wanted=wanted, timeout=timeout)
        self._locked, self._lost = None if said else {"owner": vars(owner), "wanted": wanted}, ()
        return tuple(map(read_holder, said))

    def unlock(self, owner: Owner, *, timeout: float = 20.0) -> None:
        """Give a lock back."""
        self._locked, self._lost = None, ()
        self._ask("unlock", owner=vars(owner), timeout=timeout)

    def forget(self, attempt_id: str, *, timeout: float = 60.0) -> None:
        """Delete an ended attempt's folder."""
        self._ask("forget", attempt=attempt_id, timeout=timeout)

    def usage(self, *, timeout: float = 60.0) -> Usage:
        """Return the room taken."""
        said = self._ask("usage", timeout=timeout)
        return Usage(said["workdir"], said["bytes"], tuple((a, b, c) for a, b, c in said["attempts"]))
