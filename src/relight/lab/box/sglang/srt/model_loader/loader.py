"""Bring the weights onto the card."""

# mypy: disable-error-code="import-not-found,no-any-return"
import sys

from sglang.srt.server_args import ServerArgs
from sglang.srt.stand_in import kernels
from sglang.srt.stand_in.allocator import Card
from sglang.srt.stand_in.log import raw
from sglang.srt.stand_in.world import rest, since

STEPS = 8


def load_model(server_args: ServerArgs, rank: int, card: Card, gib: float, phase: str) -> None:
    """Read all shards; `gib` is what this rank gets of them."""
    shards = server_args.model_config.shards
    for step in range(STEPS + 1):
        if rank == 0:
            show_progress(step * shards // STEPS, shards)
        if step:
            create_weights(card, gib / STEPS)
        if step == STEPS // 2:
            kernels.launch(phase, server_args.by_flag(), rank)
        rest(0.0 if server_args.load_format == "dummy" else 0.06)
    if rank == 0:
        raw("\n")


def create_weights(card: Card, gib: float) -> None:
    """Allocate one part of the weights."""
    card.take(gib)


def show_progress(done: int, total: int) -> None:
    """Draw the bar of the shards; it ends in no newline, as tqdm draws it."""
    what = "Multi-thread loading shards" if since(0, 5, 23) else "Loading safetensors checkpoint shards"
    start = "\n" if done == 0 else "\r"
    raw(f"{start}{what}: {100 * done // total:3d}% Completed | {done}/{total} [00:00<00:00, 14.21it/s]\n")
    sys.stderr.flush()
