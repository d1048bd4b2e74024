"""The agent's two loops: questions, and the bytes of a log."""

from __future__ import annotations

import inspect
import json
import os
import select
import threading
import time
import traceback
from typing import Any, BinaryIO, Callable

from relight.hosts.agent.attempts import ask_attempts, ask_processes, ask_settle, ask_status
from relight.hosts.agent.engines import ask_engine, ask_interpreters
from relight.hosts.agent.folders import Refused, Site, expand
from relight.hosts.agent.frames import pack_frame, read_frame
from relight.hosts.agent.launch import ask_launch
from relight.hosts.agent.leftovers import ask_clean, ask_forget, ask_leftovers, ask_usage
from relight.hosts.agent.locks import ask_lock, ask_unlock, let_go
from relight.hosts.agent.logs import LogFeed, ask_keep, ask_read_file, ask_read_log
from relight.hosts.agent.probes import (
    ask_clock,
    ask_disk,
    ask_facts,
    ask_gpus,
    ask_images,
    ask_kernel_log,
    ask_list_dir,
    ask_listeners,
    ask_stat,
)
from relight.hosts.agent.requests import ask_http, ask_run
from relight.hosts.agent.stop import ask_stop
from relight.hosts.agent.supervise import supervise

HEARTBEAT = 0.5
GIVE_UP = 120.0  # seconds in which the channel takes no byte
IN_ORDER = ("lock", "unlock")
QUESTIONS: dict[str, Callable[..., Any]] = {
    function.__name__[4:]: function
    for function in (
        ask_attempts, ask_clean, ask_clock, ask_disk, ask_engine, ask_facts, ask_forget, ask_gpus, ask_http, ask_images,
        ask_interpreters, ask_keep, ask_kernel_log, ask_launch, ask_leftovers, ask_list_dir, ask_listeners, ask_lock,
        ask_processes, ask_read_file, ask_read_log, ask_run, ask_settle, ask_stat, ask_status, ask_stop, ask_unlock,
        ask_usage,
    )
}  # fmt: skip


def begin(stdin: BinaryIO, source: bytes) -> None:
    """Read the line that says what we are, then be that."""
    order = json.loads(stdin.readline().decode("ascii"))
    if order["role"] == "supervisor":
        supervise(order)
        return
    workdir = os.path.abspath(expand(order["workdir"]))
    site = Site(workdir, order["python"], order["env"], order["gpus"], source)
    channel = Channel(bytes.fromhex(order["marker"]), lambda: let_go(site))
    if order["role"] == "log":
        LogFeed(site, order, channel.send).stay(stdin.fileno())
    else:
        answer_questions(site, stdin, channel)


class Channel:
    """The way back. The real stdout is kept to ourselves: nothing else may write there."""

    def __init__(self, marker: bytes, leave: Callable[[], None]) -> None:
        self._fd = os.dup(1)
        self._leave = leave
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.set_blocking(self._fd, False)
        self._guard = threading.Lock()
        self._write(marker)

    def send(self, head: dict[str, Any], blob: bytes = b"") -> None:
        """Send one frame; ends the process when nobody takes it."""
        self._write(pack_frame(head, blob))

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        with self._guard:
            while view:
                if not select.select([], [self._fd], [], GIVE_UP)[1]:
                    self.end(3)
                try:
                    view = view[os.write(self._fd, view[:65536]) :]
                except BlockingIOError:
                    continue
                except OSError:
                    self.end(3)

    def end(self, status: int) -> None:
        """End the process, and with it what it holds for its relight."""
        self._leave()
        os._exit(status)


def answer_questions(site: Site, stdin: BinaryIO, channel: Channel) -> None:
    """Answer each question in a thread of its own: a slow one does not hold up the next.

    What is locked and given back happens in the order in which it was asked for.
    """
    threading.Thread(target=beat, args=(channel,), daemon=True).start()
    while True:
        frame = read_frame(stdin.read)
        if frame is None:
            channel.end(0)
        elif frame[0]["ask"] in IN_ORDER:
            answer(site, channel, *frame)
        else:
            threading.Thread(target=answer, args=(site, channel, *frame), daemon=True).start()


def beat(channel: Channel) -> None:
    """Show that we live."""
    while True:
        time.sleep(HEARTBEAT)
        channel.send({"beat": 1})


def answer(site: Site, channel: Channel, head: dict[str, Any], blob: bytes) -> None:
    """Answer one question, whatever happens in it."""
    reply: dict[str, Any] = {"id": head["id"], "ok": True}
    data = b""
    try:
        function = QUESTIONS[head["ask"]]
        more = {"blob": blob} if "blob" in inspect.signature(function).parameters else {}
        value = function(site, **more, **head["with"])
        if isinstance(value, tuple):
            value, data = value
        reply["value"] = value
    except Refused as error:
        reply.update(ok=False, error=str(error))
    except Exception as error:  # noqa: BLE001  a question that fails must not take the channel with it
        reply.update(ok=False, error=f"{type(error).__name__}: {error}", trace=traceback.format_exc())
    channel.send(reply, data)
