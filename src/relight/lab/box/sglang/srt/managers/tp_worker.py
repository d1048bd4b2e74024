"""The worker of one rank: it owns the model."""

# mypy: disable-error-code="import-not-found,no-any-return"
from sglang.srt.model_executor.model_runner import ModelRunner
from sglang.srt.server_args import ServerArgs
from sglang.srt.stand_in.allocator import Card
from sglang.srt.stand_in.world import Fault


class TpModelWorker:
    """The target model on one rank."""

    def __init__(self, server_args: ServerArgs, rank: int, tag: str, card: Card, free: list[float]) -> None:
        """Load the model, and all that goes with it where the release does it in one go."""
        self.server_args = server_args
        self._init_model_runner(rank, tag, card, free)

    def _init_model_runner(self, rank: int, tag: str, card: Card, free: list[float]) -> None:
        self.model_runner = ModelRunner(self.server_args, rank, tag, card, free)

    def forward_batch_generation(self, fault: Fault | None, num_tokens: int) -> None:
        """Run one batch."""
        self.model_runner.forward_batch(fault, num_tokens)
