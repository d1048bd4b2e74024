"""Capture the graphs of the decode step."""

# mypy: disable-error-code="import-not-found,no-any-return"
from collections.abc import Callable

from sglang.srt.server_args import ServerArgs
from sglang.srt.stand_in import kernels
from sglang.srt.stand_in.allocator import Card
from sglang.srt.stand_in.log import raw, say
from sglang.srt.stand_in.world import rest, since

SIZES = (1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512)
ADVICE = (
    "Possible solutions:\n"
    "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
    "2. set --cuda-graph-max-bs to a smaller value (e.g., 16)\n"
    "3. disable torch compile by not using --enable-torch-compile\n"
    "4. disable CUDA graph by --disable-cuda-graph. (Not recommended. Huge performance loss)\n"
    "Open an issue on GitHub https://github.com/sgl-project/sglang/issues/new/choose \n"
)


class CudaGraphRunner:
    """The graphs of one model on one rank."""

    def __init__(
        self, server_args: ServerArgs, rank: int, card: Card, forward: Callable[[int], int], share: float = 1.0
    ) -> None:
        """Capture a graph for every batch size, the largest first; `share` is how large the model is (1: whole)."""
        self.server_args = server_args
        self.rank = rank
        self.card = card
        self.forward = forward
        self.share = share
        self.capture_bs = batch_sizes(server_args)
        try:
            self.capture()
        except RuntimeError as e:
            raise Exception(f"Capture cuda graph failed: {e}\n{ADVICE}")  # noqa: B904, TRY002  as the engine does it

    def capture(self) -> None:
        """Capture all sizes."""
        for done, bs in enumerate(reversed(self.capture_bs)):
            if self.rank == 0:
                self.show_progress(done, bs)
            self.capture_one_batch_size(bs, first=done == 0)
            rest(0.3 / len(self.capture_bs))
        if self.rank == 0:
            raw("\n")

    def capture_one_batch_size(self, bs: int, *, first: bool) -> None:
        """Run one batch of `bs` requests while recording."""
        model = self.server_args.model_config
        kernels.launch("graph_capture", self.server_args.by_flag() | {"bs": bs}, self.rank)
        gib = 0.5 + bs * model.graph_gib / 20 if first else model.graph_gib / 12
        self.card.take(gib * self.share)
        self.forward(bs)

    def show_progress(self, done: int, bs: int) -> None:
        """Draw the bar of the captures."""
        total = len(self.capture_bs)
        bar = "#" * (10 * done // total)
        raw(
            f"\rCapturing batches (bs={bs} avail_mem={self.card.free:.2f} GB): {100 * done // total:3d}%|{bar:<10}| "
            f"{done}/{total} [00:00<00:01,  8.62it/s]"
        )


def batch_sizes(server_args: ServerArgs) -> list[int]:
    """Return the sizes that get a graph: those asked for, or up to the largest batch that can run."""
    if server_args.graph_sizes:
        return sorted(server_args.graph_sizes)
    most = min(server_args.graph_max_bs, server_args.max_running_requests or server_args.graph_max_bs)
    return [n for n in SIZES if n <= most] or [1]


def say_begin(what: str, free: float, tag: str, sizes: list[int]) -> None:
    """Say that capture begins. `what` is target or draft."""
    if since(0, 5, 16):
        say(f"Capture {what} CUDA graph begin. backend=full, num_tokens_per_req=1, avail mem={free:.2f} GB", tag)
        return
    old = what.replace("target decode", "cuda").replace("draft decode", "draft cuda").replace("extend", "extend cuda")
    say(f"Capture {old} graph begin. This can take up to several minutes. avail mem={free:.2f} GB", tag)
    if what == "target decode" and tag in ("", "TP0"):
        say(f"Capture cuda graph bs {sizes}", tag)


def say_end(what: str, before: float, free: float, tag: str) -> None:
    """Say that capture has ended."""
    used = before - free
    if since(0, 5, 16):
        text = f"Capture {what} CUDA graph end. elapsed=2.41 s, mem usage={used:.2f} GB, avail mem={free:.2f} GB."
    else:
        old = what.replace("target decode", "cuda").replace("draft decode", "draft cuda")
        old = old.replace("extend", "extend cuda")
        text = f"Capture {old} graph end. Time elapsed: 2.41 s. mem usage={used:.2f} GB. avail mem={free:.2f} GB."
    say(text, tag)
