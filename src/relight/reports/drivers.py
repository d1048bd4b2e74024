"""The CUDA that a driver supports beside the CUDA that the engine was built for."""

from relight.reports.world import gpus
from relight.words.attempt import Record
from relight.words.diagnosis import Cause

_KIND = "env.driver"
_ASK = 'python -c "import torch; print(torch.version.cuda)"'


def driver_and_build(cause: Cause | None, record: Record) -> str:
    """Return both versions in one sentence, where a driver is at fault and one of them at least is known."""
    if cause is None or cause.kind != _KIND:
        return ""
    supported, built = _version(cause.facts.get("found")), str(record.environment.get("built_for_cuda") or "")
    driver = next((card.driver for card in gpus(record) if card.driver), "")
    named = f"The driver ({driver})" if driver else "The driver"
    if supported and built:
        return f"{named} supports CUDA up to {supported}; the engine's PyTorch is built for CUDA {built}."
    if supported:
        return (
            f"{named} supports CUDA up to {supported}; what the engine's PyTorch is built for is not known: "
            f"`{_ASK}`, run with the engine's interpreter, says it."
        )
    return f"{named} is in use; the engine's PyTorch is built for CUDA {built}." if built else ""


def _version(found: object) -> str:
    """Return a version of CUDA as people write it: the runtime gives 12040 for 12.4."""
    number = found if isinstance(found, int) else 0
    return f"{number // 1000}.{number % 1000 // 10}" if number >= 1000 else ""
