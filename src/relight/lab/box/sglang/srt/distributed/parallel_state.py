"""Bring the ranks together."""

# mypy: disable-error-code="import-not-found,no-any-return"
import os

from sglang.srt.distributed.store import Store
from sglang.srt.server_args import ServerArgs
from sglang.srt.stand_in import kernels
from sglang.srt.stand_in.allocator import Card
from sglang.srt.stand_in.log import say
from sglang.srt.stand_in.world import rest, since

CONTEXT_GIB = 0.66


def init_distributed_environment(
    server_args: ServerArgs, rank: int, tag: str, card: Card, store: Store | None = None
) -> None:
    """Meet the other ranks and set up what they talk through."""
    values = server_args.by_flag()
    say("Init parallel begin." if since(0, 5, 23) else "Init torch distributed begin.", tag)
    rest(0.12)
    if store:
        store.wait()
    kernels.launch("dist_init", values, rank)
    if rank == 0:
        say("sglang is using nccl==2.27.5", tag)
    rest(0.1)
    kernels.launch("nccl", values, rank)
    card.take(CONTEXT_GIB + communication_gib(server_args) + 0.01 * (rank == 0))
    note_disabled(server_args, tag)
    say_end(card.used, tag)


def communication_gib(server_args: ServerArgs) -> float:
    """Return what the buffers of the communicators take on each card."""
    return 0.25 * server_args.enable_mscclpp + 4.0 * server_args.enable_symm_mem


def note_disabled(server_args: ServerArgs, tag: str) -> None:
    """Say which communicators this machine cannot have: more than two cards without NVLink."""
    if server_args.tp_size > 2 and not server_args.disable_custom_all_reduce:
        who = "CustomAllreduce" if since(0, 5, 12) else "Custom allreduce"
        say(
            f"{who} is disabled because it's not supported on more than two PCIe-only GPUs. To silence this warning, "
            "specify disable_custom_all_reduce=True explicitly.",
            tag,
        )
    if server_args.enable_torch_symm_mem:
        say("TorchSymmMemCommunicator: Device capability 12 not supported, communicator is not available.", tag)


def say_end(used: float, tag: str) -> None:
    """Say that the ranks have met."""
    if since(0, 5, 23):
        say("Init parallel ends. elapsed=1.38 s", tag)
        say(f"Memory baseline taken. mem usage={used:.2f} GB", tag)
    else:
        say(f"Init torch distributed ends. elapsed=1.38 s, mem usage={used:.2f} GB", tag)


def check_memory_balance(server_args: ServerArgs, card: Card, free: list[float]) -> None:
    """Refuse to go on where one card has much less room than another. `free` is GiB per rank before the start."""
    if os.environ.get("SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK", "1").lower() in {"0", "false"}:
        return
    least, local = min(free), free[card.device - server_args.base_gpu_id]
    if server_args.tp_size > 1 and least < local * 0.9:
        raise RuntimeError(
            "The memory capacity is unbalanced. Some GPUs may be occupied by other processes. "
            f"min_per_gpu_memory={least}, local_gpu_memory={local}, local_gpu_memory * 0.9={local * 0.9}"
        )
