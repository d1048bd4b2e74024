"""Who held the memory of the cards before the first launch."""

from collections.abc import Iterator

from relight.reports.blocks import Block, Para
from relight.reports.prose import listed
from relight.reports.world import gpus
from relight.words.attempt import Record
from relight.words.host import Gpu

_MUCH = 1024
"""MiB from which on memory in use is more than what a driver keeps for itself."""


def holders(record: Record) -> list[Block]:
    """Return what was in use on the cards when the run began, with the processes that held it; [] where nothing was."""
    said = [line for card in gpus(record) if card.memory_used >= _MUCH for line in _of(card)]
    return [Para((f"Before the first launch: {'; '.join(said)}.",))] if said else []


def _of(card: Gpu) -> Iterator[str]:
    where = f"GPU {card.index}" + (f" of {card.node}" if card.node else "")
    held = [f"{p.name or 'a process'} (pid {p.pid}) {_gib(p.memory)}" for p in card.processes]
    unseen = card.memory_used - sum(p.memory for p in card.processes)
    if unseen >= _MUCH:
        held.append(f"a process that cannot be seen from there (in a container?) {_gib(unseen)}")
    yield f"{where} had {_gib(card.memory_used)} in use: {listed(held)}"


def _gib(mib: int) -> str:
    return f"{mib / 1024:.1f} GiB"
