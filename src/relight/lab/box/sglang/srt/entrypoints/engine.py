"""Start the processes of the engine, wait until they are ready, and end them all when one fails."""

# mypy: disable-error-code="import-not-found,no-any-return"
import json
import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import NoReturn

from sglang.srt import server_flags
from sglang.srt.distributed.store import Store
from sglang.srt.managers.scheduler import rank_tag, ranks_here, run_scheduler_process
from sglang.srt.server_args import ServerArgs
from sglang.srt.stand_in.log import say
from sglang.srt.stand_in.process import die_with_parent, set_title
from sglang.srt.stand_in.world import count_launch, release, rest, since


@dataclass
class Rank:
    """One scheduler process and the pipes to it."""

    number: int
    pid: int
    ready: int
    requests: int
    code: int | None = None


@dataclass
class Engine:
    """All processes of one server."""

    server_args: ServerArgs
    ranks: list[Rank] = field(default_factory=list)
    detokenizer: int = 0
    running: bool = False
    figures: dict[str, float] = field(default_factory=dict)
    store: Store | None = None

    def start(self) -> None:
        """Start all processes and wait until every rank is ready."""
        count_launch()
        signal.signal(signal.SIGQUIT, self.child_failed)
        say_arguments(self.server_args)
        self.store = Store(self.server_args) if self.server_args.nnodes > 1 else None
        for number in ranks_here(self.server_args):
            self.ranks.append(self.start_rank(number))
        self.detokenizer = 0 if self.server_args.node_rank else start_detokenizer(self.store)
        if self.store:
            self.store.join(rank_tag(self.server_args, self.ranks[0].number))
        self.wait_for_ready()
        self.meet_followers()

    def meet_followers(self) -> None:
        """Wait, as the first of several nodes, until the others are up; tell it, as one of those."""
        if self.store and self.server_args.node_rank:
            self.store.tell_ready()
        elif self.store:
            self.store.await_ready()

    def start_rank(self, number: int) -> Rank:
        """Fork one scheduler."""
        ready, tell = os.pipe()
        listen, requests = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            run_scheduler_process(self.server_args, number, tell, listen, parent, self.store)
        os.close(tell)
        os.close(listen)
        return Rank(number, pid, ready, requests)

    def wait_for_ready(self) -> None:
        """Wait for all ranks. Older releases ask them in order and wait for each without looking at the others."""
        if since(0, 5, 12):
            while not all(poll(rank.ready) for rank in self.ranks):
                self.look_for_dead()
                time.sleep(0.02)
        for rank in self.ranks:
            line = read_line(rank.ready)
            if not line:
                self.rank_is_dead(rank)
            self.figures = self.figures or json.loads(line)
        self.running = True

    def look_for_dead(self) -> None:
        """Raise when a rank ended before it was ready."""
        for rank in self.ranks:
            code = exit_code(rank)
            if code is not None:
                rest(0.3)
                raise RuntimeError(
                    f"Rank {rank.number} scheduler died during initialization (exit code: {code}). If exit code is -9 "
                    "(SIGKILL), a common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check."
                )

    def rank_is_dead(self, rank: Rank) -> NoReturn:
        """Say that a rank ended before it was ready, and raise what the pipe raises."""
        say(f"Rank {rank.number} scheduler is dead. Please check if there are relevant logs.")
        say(f"Exit code: {exit_code(rank, wait=True)}")
        raise EOFError

    def child_failed(self, signum: int, frame: FrameType | None) -> None:
        """End the whole tree because a child said that it failed (handler of SIGQUIT)."""
        del signum, frame
        if self.running:
            say("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
        else:
            say("Received sigquit from a child process. It usually means the child failed.")
        self.kill_process_tree(include_parent=True)

    def kill_process_tree(self, *, include_parent: bool) -> None:
        """Kill all children, and this process too."""
        if since(0, 5, 16):
            me = os.getpid()
            say(f"kill_process_tree called: parent_pid={me}, include_parent={include_parent}, pid={me}")
        for pid in (*(rank.pid for rank in self.ranks if rank.code is None), self.detokenizer):
            if pid:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if include_parent:
            os.kill(os.getpid(), signal.SIGKILL)

    def run(self, batch: dict[str, int]) -> None:
        """Have all ranks run a batch; where one of them is dead or hangs, this never returns."""
        for rank in self.ranks:
            if exit_code(rank) is None:
                os.write(rank.requests, json.dumps(batch).encode() + b"\n")
        for rank in self.ranks:
            if not read_line(rank.ready):
                threading.Event().wait()

    def dead(self) -> Rank | None:
        """Return a rank that has ended, if there is one."""
        return next((rank for rank in self.ranks if exit_code(rank) is not None), None)

    def watch(self) -> None:
        """Look after the ranks of a running server for ever; older releases do not."""
        while True:
            time.sleep(0.1)
            rank = self.dead() if since(0, 5, 12) else None
            if rank:
                say(
                    f"Subprocess scheduler_{rank.number} (pid={rank.pid}) crashed with exit code {rank.code}. "
                    "Triggering SIGQUIT for cleanup..."
                )
                os.kill(os.getpid(), signal.SIGQUIT)
                return


def exit_code(rank: Rank, *, wait: bool = False) -> int | None:
    """Return how a rank ended (negative: by a signal), None while it lives."""
    if rank.code is None:
        pid, status = os.waitpid(rank.pid, 0 if wait else os.WNOHANG)
        if pid:
            rank.code = os.waitstatus_to_exitcode(status)
    return rank.code


def start_detokenizer(store: Store | None) -> int:
    """Fork the process that turns tokens into text."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        die_with_parent(parent)
        if store:
            store.leave()
        for number in (signal.SIGQUIT, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        set_title("sglang::detokenizer")
        while True:
            signal.pause()
    return pid


def poll(pipe: int) -> bool:
    """Say whether something can be read."""
    return bool(select.select([pipe], [], [], 0)[0])


def read_line(pipe: int) -> bytes:
    """Return what comes through `pipe` up to a newline; empty at its end."""
    line = b""
    while not line.endswith(b"\n"):
        more = os.read(pipe, 4096)
        if not more:
            return b""
        line += more
    return line


def say_arguments(server_args: ServerArgs) -> None:
    """Print all arguments as the release prints them."""
    values = {k: v for k, v in vars(server_args).items() if k in shown_fields(server_args)}
    if since(0, 5, 20):
        say(f"server_args={values}")
    else:
        say(f"server_args=ServerArgs({', '.join(f'{k}={v!r}' for k, v in values.items())})")
    sys.stderr.flush()


def shown_fields(server_args: ServerArgs) -> set[str]:
    """Return the fields that options of this release set."""
    return {server_flags.SHORT.get(f.dest, f.dest) for f in server_flags.known(release())} & set(vars(server_args))
