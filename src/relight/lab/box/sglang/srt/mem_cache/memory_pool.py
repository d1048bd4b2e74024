"""The pools: state slots for linear layers and the KV cache."""

# mypy: disable-error-code="import-not-found,no-any-return"
from dataclasses import dataclass

from sglang.srt.server_args import ServerArgs
from sglang.srt.stand_in.allocator import GIB, Card
from sglang.srt.stand_in.log import say
from sglang.srt.stand_in.world import since

KIB = 1024.0**2


@dataclass(frozen=True)
class PoolSizes:
    """What the pools of one rank hold; sizes in GiB."""

    tokens: int
    kv: float
    slots: int = 0
    states: float = 0.0
    intermediate: float = 0.0
    max_running: int = 0


def slot_gib(server_args: ServerArgs) -> float:
    """Return the size of one state slot on one rank."""
    half = server_args.mamba_ssm_dtype in ("bfloat16", "float16")
    return server_args.model_config.slot_mib * (0.52 if half else 1.0) * 8 / server_args.tp_size / GIB


def cell_gib(server_args: ServerArgs, per_token: int) -> float:
    """Return the size of the KV cache of one token on one rank."""
    small = server_args.kv_cache_dtype not in ("auto", "bf16", "bfloat16")
    return per_token * (0.5 if small else 1.0) / KIB / 1024


def slots_per_request(server_args: ServerArgs) -> int:
    """Return how many state slots a running request needs."""
    if server_args.disable_radix_cache:
        return 1
    extra = 0
    if server_args.enable_mamba_extra_buffer():
        extra = 1 if server_args.speculative_algorithm else 2
    return 3 + extra


class HybridReqToTokenPool:
    """Slots for the state of linear layers."""

    def __init__(self, sizes: PoolSizes, card: Card, tag: str) -> None:
        """Allocate the slots and, with speculation, the states in between."""
        card.take(sizes.states + sizes.intermediate)
        line = (
            f"Mamba Cache is allocated. max_mamba_cache_size: {sizes.slots}, conv_state size: "
            f"{sizes.states * 0.04:.2f}GB, ssm_state size: {sizes.states * 0.96:.2f}GB "
        )
        if sizes.intermediate:
            line += (
                f"intermediate_ssm_state_cache size: {sizes.intermediate * 0.96:.2f}GB "
                f"intermediate_conv_window_cache size: {sizes.intermediate * 0.04:.2f}GB "
            )
        say(line, tag)


class MHATokenToKVPool:
    """Keys and values of all tokens."""

    def __init__(self, sizes: PoolSizes, card: Card, tag: str) -> None:
        """Allocate keys, then values."""
        self.size = sizes.tokens
        self._create_buffers(sizes.kv, card)
        dtype = "dtype: torch.bfloat16, " if since(0, 5, 16) else ""
        half = sizes.kv / 2
        say(f"KV Cache is allocated. {dtype}#tokens: {self.size}, K size: {half:.2f} GB, V size: {half:.2f} GB", tag)

    def _create_buffers(self, gib: float, card: Card) -> None:
        card.take(gib / 2)
        card.take(gib / 2)
