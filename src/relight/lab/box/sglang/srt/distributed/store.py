"""Where the nodes of one server meet, and how they notice that one of them is gone."""

# mypy: disable-error-code="import-not-found,no-any-return"
import os
import select
import signal
import socket
import threading
import time
from contextlib import suppress

from sglang.srt.server_args import ServerArgs
from sglang.srt.stand_in.errors import named
from sglang.srt.stand_in.log import current_traceback, say
from sglang.srt.stand_in.world import rest, scenario

READY = b"ready\n"


class Store:
    """The connections of one node to the others, held by its main process.

    Ranks wait on the pipe `met`, which ends when all nodes are there.
    """

    def __init__(self, server_args: ServerArgs) -> None:
        """Prepare to meet; nothing is contacted before `join`."""
        self.server_args = server_args
        self.met, self._tell = os.pipe()
        self._peers: list[socket.socket] = []
        self._ready = threading.Semaphore(0)
        self._tag = ""

    def wait(self) -> None:
        """Wait, as a rank, until all nodes are there. Raises what torch raises when they do not come in time."""
        self.leave()
        patience = self.server_args.dist_timeout or 600
        if not select.select([self.met], [], [], patience)[0]:
            raise named(
                "torch.distributed.DistStoreError",
                f"Timed out after {patience + 1} seconds waiting for clients. 1/{self.server_args.nnodes} clients "
                "joined.",
            )

    def leave(self) -> None:
        """Let go, as a child of the main process, of what only that one needs."""
        os.close(self._tell)

    def join(self, tag: str) -> None:
        """Meet the other nodes in the background, then watch them; failures are told as rank `tag` tells them."""
        self._tag = tag
        threading.Thread(target=self._join, daemon=True).start()

    def _join(self) -> None:
        host, _, port = str(self.server_args.dist_init_addr).rpartition(":")
        self._peers = self._accept(int(port)) if self.server_args.node_rank == 0 else [call(host, int(port))]
        os.close(self._tell)
        for peer in self._peers:
            threading.Thread(target=self._watch, args=(peer,), daemon=True).start()

    def _accept(self, port: int) -> list[socket.socket]:
        with socket.create_server(("", port)) as server:
            return [server.accept()[0] for _ in range(self.server_args.nnodes - 1)]

    def _watch(self, peer: socket.socket) -> None:
        with suppress(OSError):
            while data := peer.recv(64):
                for _ in range(data.count(READY)):
                    self._ready.release()
        if scenario().peer == "error":
            self._lose()

    def _lose(self) -> None:
        """End this node because another one is gone, as its ranks would."""
        rest(0.3)
        try:
            barrier(self.server_args)
        except RuntimeError as error:
            say(f"Scheduler hit an exception: {current_traceback(error)}", self._tag)
        os.kill(os.getpid(), signal.SIGQUIT)

    def tell_ready(self) -> None:
        """Tell the first node that the ranks of this one are up."""
        for peer in self._peers:
            with suppress(OSError):
                peer.sendall(READY)

    def await_ready(self) -> None:
        """Wait, as the first node, for the ranks of all others."""
        for _ in range(self.server_args.nnodes - 1):
            self._ready.acquire()


def call(host: str, port: int) -> socket.socket:
    """Return a connection to the first node, which may not be there yet."""
    while True:
        try:
            peer = socket.create_connection((host, port), 5.0)
        except OSError:
            time.sleep(0.05)
        else:
            peer.settimeout(None)
            return peer


def barrier(server_args: ServerArgs) -> None:
    """Wait for the other nodes. Raises what gloo raises when one is gone."""
    where = str(server_args.dist_init_addr)
    raise RuntimeError(
        f"[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [{where}]"
    )
