"""The experts of a layer."""

# mypy: disable-error-code="import-not-found,no-any-return"
from collections.abc import Mapping

from sglang.srt.stand_in import kernels


class FusedMoE:
    """All experts of one layer, run by the chosen backend."""

    def __init__(self, values: Mapping[str, object], rank: int) -> None:
        """Keep what the kernels need to know."""
        self.values = values
        self.rank = rank

    def forward(self, hidden_states: int) -> int:
        """Run the experts on `hidden_states` tokens."""
        return self.run_moe_core(hidden_states)

    def run_moe_core(self, hidden_states: int) -> int:
        """Call the grouped kernels."""
        kernels.launch("moe", self.values, self.rank)
        return hidden_states
