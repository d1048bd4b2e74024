"""Is the memory of the cards back? Pure: what the cards said before our first attempt against what they say now."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from relight.words.host import Gpu

MUCH = 1024
"""MiB that displays and monitors stay below."""
SLACK = 512
"""MiB that drivers and displays come and go with."""


def held(before: Sequence[Gpu], now: Sequence[Gpu], ours: Mapping[int, str]) -> tuple[str, ...]:
    """Return one sentence per card that holds more than before and more than foreign processes grew by.

    `ours` maps the pids of our own processes to their attempt.
    """
    old = {gpu.index: gpu for gpu in before}
    return tuple(
        _sentence(old[gpu.index], gpu, ours)
        for gpu in now
        if gpu.index in old and _excess(old[gpu.index], gpu, ours) > SLACK
    )


def without(gpu: Gpu, ours: Container[int]) -> Gpu:
    """Return a card without processes of ours and the memory they hold: it comes back when they end."""
    own = sum(p.memory for p in gpu.processes if p.pid in ours)
    rest = tuple(p for p in gpu.processes if p.pid not in ours)
    return replace(gpu, memory_used=max(gpu.memory_used - own, 0), processes=rest)


def _excess(before: Gpu, now: Gpu, ours: Mapping[int, str]) -> int:
    """MiB in use that neither the first look nor foreign processes explain."""
    return now.memory_used - before.memory_used - max(0, _foreign(now, ours) - _foreign(before, ours))


def _foreign(gpu: Gpu, ours: Mapping[int, str]) -> int:
    return sum(p.memory for p in gpu.processes if p.pid not in ours)


def _sentence(before: Gpu, now: Gpu, ours: Mapping[int, str]) -> str:
    holders = [f"{p.name or 'pid'} {p.pid} ({p.memory} MiB)" for p in now.processes if p.pid in ours]
    who = ", ".join(holders) or "a process we cannot see (container?)"
    return f"GPU {now.index}: {_excess(before, now, ours)} MiB held by {who}"


def foreign_processes(gpus: Sequence[Gpu], ours: Mapping[int, str]) -> tuple[str, ...]:
    """Return the foreign processes that hold much of the cards, named; they are never touched."""
    return tuple(
        f"{p.name or 'process'} (pid {p.pid}): {p.memory / 1024:.1f} GiB of GPU {gpu.index}"
        for gpu in gpus
        for p in gpu.processes
        if p.pid not in ours and p.memory >= MUCH
    )
