"""The draft model of one rank (EAGLE, and the MTP heads that NEXTN means)."""

# mypy: disable-error-code="import-not-found,no-any-return"
from sglang.srt.mem_cache.memory_pool import MHATokenToKVPool, PoolSizes, cell_gib
from sglang.srt.model_executor import cuda_graph_runner
from sglang.srt.model_executor.model_runner import ModelRunner
from sglang.srt.model_loader.loader import load_model
from sglang.srt.server_args import ServerArgs
from sglang.srt.stand_in.log import say
from sglang.srt.stand_in.world import rest, since

SHARE = 0.25  # of the memory that the graphs of the target take


class EAGLEWorker:
    """The draft model beside a target model."""

    def __init__(self, server_args: ServerArgs, rank: int, tag: str, target: ModelRunner) -> None:
        """Bring the draft up beside `target`, whose card and pool sizes it shares."""
        self.server_args = server_args
        self.rank = rank
        self.tag = tag
        self.target = target
        self.card = target.card
        self.init_draft_model()

    def init_draft_model(self) -> None:
        """Load; releases up to 0.5.15 do all the rest too."""
        self.load_model()
        if not since(0, 5, 16):
            self.init_memory_pool()
            self.init_cuda_graphs()

    def load_model(self) -> None:
        """Load the weights of the draft. The old worker loads the whole target a second time."""
        model = self.server_args.model_config
        gib = model.draft_gib / self.server_args.tp_size
        if not self.server_args.spec_v2:
            gib += model.weights_gib / self.server_args.tp_size
        free = self.card.free
        say(f"Load weight begin. avail mem={free:.2f} GB", self.tag)
        load_model(self.server_args, self.rank, self.card, gib, "load_draft")
        self.target.say_loaded("Qwen3_5ForCausalLMMTP", free)

    def init_memory_pool(self) -> None:
        """Allocate the KV cache of the draft: as many tokens as the target has, of fewer layers."""
        tokens = self.target.sizes.tokens
        cell = cell_gib(self.server_args, self.server_args.model_config.draft_kv_bytes)
        MHATokenToKVPool(PoolSizes(tokens, tokens * cell), self.card, self.tag)
        rest(0.05)
        say(f"Memory pool end. avail mem={self.card.free:.2f} GB", self.tag)

    def init_cuda_graphs(self) -> None:
        """Capture the graphs of the draft."""
        if self.server_args.disable_cuda_graph:
            return
        for what in ("draft decode", "draft extend"):
            before = self.card.free
            cuda_graph_runner.say_begin(what, before, self.tag, [])
            cuda_graph_runner.CudaGraphRunner(self.server_args, self.rank, self.card, self.target.forward, SHARE)
            cuda_graph_runner.say_end(what, before, self.card.free, self.tag)
