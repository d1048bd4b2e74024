"""The memory of one card as a rank sees it: allocations that succeed, or the error that torch raises."""

# mypy: disable-error-code="import-not-found,no-any-return"
import os

from sglang.srt.stand_in import cards
from sglang.srt.stand_in.errors import OutOfMemoryError, named
from sglang.srt.stand_in.world import machine, scenario

GIB = 1024.0


def amount(gib: float) -> str:
    """Return a size as torch prints it."""
    return f"{gib:.2f} GiB" if gib >= 1 else f"{gib * GIB:.2f} MiB"


def visible() -> list[int]:
    """Return the cards that this process may use."""
    asked = os.environ.get("CUDA_VISIBLE_DEVICES")
    return [int(n) for n in asked.split(",") if n.strip()] if asked is not None else list(range(8))


class Card:
    """One card, sizes in GiB; what is taken stays taken until the process ends."""

    def __init__(self, device: int) -> None:
        """Use the visible card number `device`. Raises what CUDA raises when there is none of that number."""
        if device >= len(visible()):
            raise named("torch.AcceleratorError", INVALID_DEVICE)
        self.device = device
        self.index = visible()[device]
        self.used = 0.0
        self.folder = machine() / "box" / "cards"

    @property
    def others(self) -> float:
        """Return what processes outside this server hold on the card."""
        family = os.getppid()
        held = cards.holdings(self.folder, scenario().release)
        return sum(h.mib for h in held if h.card == self.index and h.parent != family) / GIB

    @property
    def free(self) -> float:
        """Return what is left on the card."""
        return max(cards.USABLE_GIB - self.others - self.used, 0.0)

    def take(self, gib: float) -> None:
        """Allocate; raises OutOfMemoryError, with torch's text, where it does not fit."""
        free = self.free
        if gib > free:
            raise OutOfMemoryError(self._text(gib, free))
        self.used += gib
        cards.take(self.folder, self.index, round(self.used * GIB), "sglang::scheduler")

    def give(self, gib: float) -> None:
        """Free what was taken for a moment."""
        self.used -= gib

    def _text(self, gib: float, free: float) -> str:
        reserved = min(0.35, self.used / 20)
        return (
            f"CUDA out of memory. Tried to allocate {amount(gib)}. GPU {self.device} has a total capacity of "
            f"{cards.USABLE_GIB:.2f} GiB of which {amount(max(free, 0.0))} is free. {self._neighbours()}"
            f"Including non-PyTorch memory, this process has {amount(self.used)} memory in use. Of the allocated "
            f"memory {amount(self.used - reserved)} is allocated by PyTorch, and {amount(reserved)} is reserved by "
            "PyTorch but unallocated. If reserved but unallocated memory is large try setting "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
            "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
        )

    def _neighbours(self) -> str:
        held = cards.holdings(self.folder, scenario().release)
        foreign = [h for h in held if h.card == self.index and h.parent != os.getppid()]
        return "".join(f"Process {h.pid} has {amount(h.mib / GIB)} memory in use. " for h in foreign)


INVALID_DEVICE = (
    "CUDA error: invalid device ordinal\nCUDA kernel errors might be asynchronously reported at some other API call, "
    "so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with "
    "`TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
