"""Load one model on one rank, size its pools, choose its kernels, capture its graphs."""

# mypy: disable-error-code="import-not-found,no-any-return"
from sglang.srt.distributed.parallel_state import check_memory_balance
from sglang.srt.layers.attention import attention_registry
from sglang.srt.layers.moe.fused_moe import FusedMoE
from sglang.srt.mem_cache.memory_pool import (
    HybridReqToTokenPool,
    MHATokenToKVPool,
    PoolSizes,
    cell_gib,
    slot_gib,
    slots_per_request,
)
from sglang.srt.model_executor import cuda_graph_runner
from sglang.srt.model_loader.loader import load_model
from sglang.srt.server_args import ServerArgs
from sglang.srt.stand_in import kernels
from sglang.srt.stand_in.allocator import Card
from sglang.srt.stand_in.log import say
from sglang.srt.stand_in.world import Fault, rest, since


class ModelRunner:
    """The model on one rank. `free` is what the cards of all ranks had before anything was loaded (GiB)."""

    def __init__(self, server_args: ServerArgs, rank: int, tag: str, card: Card, free: list[float]) -> None:
        """Bring the model up as far as the release does it at once."""
        self.server_args = server_args
        self.rank = rank
        self.tag = tag
        self.card = card
        self.before = min(free)
        self.all_free = free
        self.sizes = PoolSizes(0, 0.0)
        self.experts = FusedMoE(server_args.by_flag(), rank)
        self.hybrid = server_args.model_config.hybrid
        self.initialize()

    def initialize(self) -> None:
        """Load; releases up to 0.5.15 do all the rest too before they touch the draft model."""
        self.load_model()
        if not since(0, 5, 16):
            self.init_memory_pool()
            self.init_attention_backend()
            self.init_device_graphs()

    def load_model(self) -> None:
        """Load the weights."""
        check_memory_balance(self.server_args, self.card, self.all_free)
        free = self.card.free
        say(f"Load weight begin. avail mem={free:.2f} GB", self.tag)
        gib = self.server_args.model_config.weights_gib / self.server_args.tp_size / self.server_args.pp_size
        gib = max(gib - self.server_args.cpu_offload_gb, 1.0)
        load_model(self.server_args, self.rank, self.card, gib, "load_weights")
        self.say_loaded(self.server_args.model_config.architecture, free)

    def say_loaded(self, architecture: str, free: float) -> None:
        """Say what was loaded; `free` is what the card had before."""
        after = self.card.free
        elapsed = "" if not since(0, 5, 9) else "elapsed=0.61 s, "
        dtype = "dtype=torch.bfloat16, " if not since(0, 5, 12) else "quant=modelopt_fp4, "
        say(
            f"Load weight end. {elapsed}type={architecture}, {dtype}avail mem={after:.2f} GB, "
            f"mem usage={free - after:.2f} GB.",
            self.tag,
        )

    def init_memory_pool(self) -> None:
        """Size and allocate the pools."""
        if self.rank == 0 and not since(0, 5, 16):
            say(f"Using KV cache dtype: {torch_dtype(self.server_args.kv_cache_dtype)}", self.tag)
        self.sizes = self.profile_max_num_token()
        kernels.launch("pool", self.server_args.by_flag(), self.rank)
        if self.hybrid:
            HybridReqToTokenPool(self.sizes, self.card, self.tag)
        MHATokenToKVPool(self.sizes, self.card, self.tag)
        rest(0.08)
        say(f"Memory pool end. avail mem={self.card.free:.2f} GB", self.tag)

    def profile_max_num_token(self) -> PoolSizes:
        """Return what fits into the pools. Raises where nothing does."""
        args = self.server_args
        rest_memory = self.card.free - self.before * (1 - args.mem_fraction_static)
        slots, states, between = self.handle_max_mamba_cache(rest_memory) if self.hybrid else (0, 0.0, 0.0)
        room = rest_memory - states - between
        cell = cell_gib(args, args.model_config.kv_bytes)
        tokens = int(room / cell)
        if tokens <= 0:
            self.refuse_pool()
        tokens = min(tokens, args.max_total_tokens or tokens)
        running = args.max_running_requests or 2048
        if slots:
            running = min(running, slots // slots_per_request(args))
        return PoolSizes(tokens, tokens * cell, slots, states, between, max(running, 0))

    def handle_max_mamba_cache(self, total_rest_memory: float) -> tuple[int, float, float]:
        """Return the number of state slots, their size, and the size of the states between draft tokens (GiB)."""
        args = self.server_args
        slot = slot_gib(args)
        between = 0.0
        if args.speculative_algorithm:
            between = slot * args.speculative_num_draft_tokens * args.max_running_requests
        ratio = args.mamba_full_memory_ratio
        slots = args.max_mamba_cache_size or int((total_rest_memory - between) * ratio / (1 + ratio) / slot)
        if slots <= 0 and since(0, 5, 16):
            raise RuntimeError(
                "Not enough GPU memory for hybrid (mamba/linear-attention) state cache. "
                f"Computed max_mamba_cache_size={slots} (total_rest_memory={total_rest_memory - between:.2f} GB, "
                f"mamba_cache_per_req={slot * 1024:.2f} MB). Try: increase --mem-fraction-static, reduce "
                "--max-running-requests, or reduce --speculative-num-draft-tokens."
            )
        return max(slots, 0), max(slots, 0) * slot, between

    def refuse_pool(self) -> None:
        """Raise what the release says when there is no room for a KV cache."""
        f = self.server_args.mem_fraction_static
        if since(0, 5, 16):
            least = 1 - self.card.free / self.before
            raise ValueError(
                f"Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static={f}. Raise "
                f"--mem-fraction-static above {least:.3f} (minimum viable = 1 - available/pre = {least:.4f})."
            )
        raise RuntimeError(
            "Not enough memory. Please try to increase --mem-fraction-static. "
            f"Current value: self.server_args.mem_fraction_static={f}"
        )

    def init_attention_backend(self) -> None:
        """Choose the attention kernels."""
        self.attn_backend = self._get_attention_backend()
        kernels.launch("attention", self.server_args.by_flag(), self.rank)

    def _get_attention_backend(self) -> str:
        name = self.server_args.attention_backend
        backend = attention_registry.create(name, self.server_args)
        return str(attention_registry.attn_backend_wrapper(self.server_args, backend))

    def init_device_graphs(self) -> None:
        """Tune kernels, then capture the graphs of the decode step."""
        self.kernel_warmup()
        if self.server_args.disable_cuda_graph:
            return
        before = self.card.free
        sizes = cuda_graph_runner.batch_sizes(self.server_args)
        cuda_graph_runner.say_begin("target decode", before, self.tag, sizes)
        cuda_graph_runner.CudaGraphRunner(self.server_args, self.rank, self.card, self.forward)
        cuda_graph_runner.say_end("target decode", before, self.card.free, self.tag)

    def kernel_warmup(self) -> None:
        """Let FlashInfer find its fastest kernels."""
        args = self.server_args
        if args.disable_flashinfer_autotune or args.moe_runner_backend not in ("flashinfer_trtllm", "flashinfer_mxfp4"):
            return
        say("Running FlashInfer autotune...", self.tag)
        rest(0.05)
        self.forward(1)
        say("FlashInfer autotune completed.", self.tag)

    def forward(self, num_tokens: int) -> int:
        """Run the model on a batch of `num_tokens`."""
        return int(self.experts.forward(num_tokens))

    def forward_extend(self, num_tokens: int) -> int:
        """Run the model on a prompt; its activations need room."""
        activations = num_tokens * self.server_args.model_config.activation_mib / 1024
        self.card.take(activations)
        self.card.give(activations)
        return self.forward(num_tokens)

    def forward_batch(self, fault: Fault | None, num_tokens: int) -> None:
        """Run a batch of requests; `fault` is what goes wrong in it."""
        if fault is None:
            self.forward_extend(num_tokens)
        else:
            kernels.strike(fault, self.rank)


def torch_dtype(name: str) -> str:
    """Return what a KV dtype is called in torch."""
    return {"fp8_e5m2": "torch.float8_e5m2", "fp8_e4m3": "torch.float8_e4m3fn"}.get(name, "torch.bfloat16")
