"""One rank: a process that owns a card, says when it is ready, and runs batches."""

# mypy: disable-error-code="import-not-found,no-any-return"
import json
import os
import signal
from types import TracebackType
from typing import NoReturn

from sglang.srt.distributed.parallel_state import init_distributed_environment
from sglang.srt.distributed.store import Store
from sglang.srt.managers.tp_worker import TpModelWorker
from sglang.srt.server_args import ServerArgs
from sglang.srt.speculative.eagle_worker import EAGLEWorker
from sglang.srt.stand_in.allocator import Card
from sglang.srt.stand_in.log import current_traceback, say
from sglang.srt.stand_in.process import die_with_parent, set_title
from sglang.srt.stand_in.world import rest, scenario, since


class Scheduler:
    """The scheduler of one rank."""

    def __init__(self, server_args: ServerArgs, rank: int, tag: str, store: Store | None) -> None:
        """Bring up the models of this rank."""
        self.store = store
        self.server_args = server_args
        self.rank = rank
        self.tag = tag
        self.init_model_worker()

    def init_model_worker(self) -> None:
        """Meet the other ranks and load."""
        base, here = self.server_args.base_gpu_id, ranks_here(self.server_args)
        self.card = Card(base + self.rank - here[0])
        free = [Card(base + n).free - self.card.used for n in range(min(len(here), self.server_args.tp_size))]
        init_distributed_environment(self.server_args, self.rank, self.tag, self.card, self.store)
        free = [gib - self.card.used for gib in free]
        self.init_tp_model_worker(free)
        self.maybe_init_draft_worker()
        if since(0, 5, 16):
            self.init_pools_and_graphs()

    def init_tp_model_worker(self, free: list[float]) -> None:
        """Bring up the target; `free` is what the cards had (GiB)."""
        self.tp_worker = TpModelWorker(self.server_args, self.rank, self.tag, self.card, free)

    def maybe_init_draft_worker(self) -> None:
        """Bring up the draft model, where there is one."""
        self.draft_worker = None
        if self.speculative:
            self.draft_worker = EAGLEWorker(self.server_args, self.rank, self.tag, self.tp_worker.model_runner)

    def init_pools_and_graphs(self) -> None:
        """Allocate and capture once all weights are there, as releases from 0.5.16 on do."""
        target = self.tp_worker.model_runner
        target.init_memory_pool()
        if self.draft_worker:
            self.draft_worker.init_memory_pool()
        target.init_attention_backend()
        target.init_device_graphs()
        if self.draft_worker:
            self.draft_worker.init_cuda_graphs()

    @property
    def speculative(self) -> bool:
        """Say whether a draft model is used."""
        return self.server_args.speculative_algorithm in ("EAGLE", "EAGLE3", "STANDALONE")

    def summary(self) -> dict[str, float]:
        """Return the figures that the main process needs."""
        sizes = self.tp_worker.model_runner.sizes
        return {"tokens": sizes.tokens, "running": sizes.max_running, "free": self.card.free}

    def say_ready(self) -> None:
        """Say what the pools hold."""
        args, sizes = self.server_args, self.tp_worker.model_runner.sizes
        say(
            f"max_total_num_tokens={sizes.tokens}, chunked_prefill_size={args.chunked_prefill_size}, "
            f"max_prefill_tokens={args.max_prefill_tokens}, max_running_requests={sizes.max_running}, "
            f"context_len={args.context_length or args.model_config.context}, "
            f"available_gpu_mem={self.card.free:.2f} GB",
            self.tag,
        )

    def event_loop_overlap(self, requests: int, done: int) -> None:
        """Run the batches that come through the pipe `requests`, one JSON object per line; answer each in `done`."""
        with os.fdopen(requests) as lines:
            for line in lines:
                self.run_batch(json.loads(line))
                os.write(done, b"done\n")

    def run_batch(self, batch: dict[str, int]) -> None:
        """Run one batch."""
        at = batch.get("fault")
        fault = None if at is None else scenario().faults[at]
        self.tp_worker.forward_batch_generation(fault, batch["tokens"])


class FailureReport:
    """Print what a rank died of and tell the parent, whatever it was."""

    def __init__(self, tag: str, parent: int) -> None:
        """Speak as rank `tag` and tell the process `parent`."""
        self.tag = tag
        self.parent = parent

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Report `error` and end."""
        if error is None:
            os._exit(0)
        say(f"Scheduler hit an exception: {current_traceback(error)}", self.tag)
        rest(0.25)
        os.kill(self.parent, signal.SIGQUIT)
        rest(5.0)
        os._exit(1)


def ranks_here(server_args: ServerArgs) -> range:
    """Return the ranks of this node: each of several has as many, in their order."""
    each = server_args.tp_size * server_args.pp_size // server_args.nnodes
    return range(server_args.node_rank * each, (server_args.node_rank + 1) * each)


def run_scheduler_process(
    server_args: ServerArgs, rank: int, ready: int, requests: int, parent: int, store: Store | None = None
) -> NoReturn:
    """Be rank `rank`: write a line to the pipe `ready` when up and after every batch that came through `requests`."""
    die_with_parent(parent)
    for number in (signal.SIGQUIT, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    tag = rank_tag(server_args, rank)
    set_title(f"sglang::scheduler{'_' + tag.replace(' ', '_') if tag else ''}")
    with FailureReport(tag, parent):
        scheduler = Scheduler(server_args, rank, tag, store)
        if rank == 0:
            scheduler.say_ready()
        os.write(ready, json.dumps(scheduler.summary()).encode() + b"\n")
        scheduler.event_loop_overlap(requests, ready)
    os._exit(0)


def rank_tag(server_args: ServerArgs, rank: int) -> str:
    """Return how a rank calls itself in the log; blank when it is alone."""
    tag = f"TP{rank}" if server_args.tp_size > 1 else ""
    return f"{tag} EP{rank}" if server_args.ep_size > 1 else tag
