"""Signs of life of a start: what the process table and the cards show at one moment. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from relight.words.host import Gpu, HostProcess

PAGE = 4096
APART = 10_000_000
"""Added to pids and cards of each further node, so that all of them differ."""
TICKS = 100.0
"""Clock ticks in a second and bytes in a page; the same on every Linux this runs against."""


@dataclass(frozen=True)
class Process:
    """One process: `cpu` in seconds, `io` and `rss` in bytes, `faults` that brought a page from a disk or elsewhere.

    0 where they may not be read. `state` as in /proc.
    """

    pid: int
    state: str
    command: str = ""
    cpu: float = 0.0
    io: int = 0
    rss: int = 0
    faults: int = 0


@dataclass(frozen=True)
class Signs:
    """One look at time `at` (seconds). Per card: `vram` MiB, `watts`, `utilisation` percent; empty where unknown.

    `cache` counts files in the compiler caches, None where nobody looked.
    """

    at: float
    processes: Mapping[int, Process] = field(default_factory=dict)
    vram: Mapping[int, int] = field(default_factory=dict)
    watts: Mapping[int, float] = field(default_factory=dict)
    utilisation: Mapping[int, float] = field(default_factory=dict)
    cache: int | None = None

    @property
    def blind(self) -> bool:
        """Say whether this look saw nothing at all."""
        return not self.processes and not self.vram


def command(pids: Iterable[int]) -> tuple[str, ...]:
    """Return the argv that prints what /proc says about `pids`, one round trip for all; status 2 is no fault."""
    files = [f"/proc/{pid}/{name}" for pid in pids for name in ("stat", "io")]
    return ("grep", "-a", "-s", "-H", "", *files)


def read(output: str, tree: Sequence[HostProcess], *, at: float, gpus: Sequence[Gpu] = ()) -> Signs:
    """Return the signs in the output of `command` for the processes of `tree`."""
    stats, io = _parted(output)
    processes = {p.pid: _process(p, stats.get(p.pid, ""), io.get(p.pid, 0)) for p in tree}
    return Signs(
        at,
        processes,
        {g.index: g.memory_used for g in gpus},
        {g.index: g.power for g in gpus if g.power is not None},
        {g.index: g.utilisation for g in gpus if g.utilisation is not None},
    )


def together(looks: Sequence[Signs]) -> Signs:
    """Return the looks at several nodes as one; pids and cards of each further node are set apart."""
    if len(looks) == 1:
        return looks[0]
    apart = [(rank * APART, look) for rank, look in enumerate(looks)]
    return Signs(
        looks[0].at,
        {pid + n: replace(p, pid=pid + n) for n, look in apart for pid, p in look.processes.items()},
        {card + n: mib for n, look in apart for card, mib in look.vram.items()},
        {card + n: watts for n, look in apart for card, watts in look.watts.items()},
        {card + n: percent for n, look in apart for card, percent in look.utilisation.items()},
    )


def _parted(output: str) -> tuple[dict[int, str], dict[int, int]]:
    stats: dict[int, str] = {}
    io: dict[int, int] = {}
    for line in output.splitlines():
        path, _, text = line.partition(":")
        parts = path.split("/")
        if len(parts) != 4 or not parts[2].isdigit():
            continue
        pid = int(parts[2])
        if parts[3] == "stat":
            stats[pid] = text
        else:
            io[pid] = io.get(pid, 0) + _transferred(text)
    return stats, io


def _transferred(text: str) -> int:
    # Mapped files show in read_bytes only, files in the page cache and sockets in rchar only.
    name, _, value = text.partition(":")
    counted = name in {"rchar", "wchar", "read_bytes", "write_bytes"}
    return int(value) if counted and value.strip().isdigit() else 0


def _process(seen: HostProcess, stat: str, io: int) -> Process:
    # The name may hold blanks and brackets: what counts follows the last closing one.
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 22:
        return Process(seen.pid, seen.state, seen.command, io=io)
    cpu = (int(fields[11]) + int(fields[12])) / TICKS
    return Process(seen.pid, fields[0], seen.command, cpu, io, int(fields[21]) * PAGE, int(fields[9]))
