"""Read what programs on a host print. Pure: text in, values out."""

import csv
import re
from collections.abc import Iterator, Sequence

from relight.words.host import Gpu, GpuProcess

STAMP = re.compile(r"^\[\s*(\d+\.\d+)\]\s?(.*)$")
UNIX_STAMP = re.compile(r"^(\d+\.\d+)\s+\S+\s+kernel:\s?(.*)$")


def read_gpus(cards: str, apps: str, wanted: Sequence[int] | None = None) -> tuple[Gpu, ...]:
    """Read nvidia-smi's CSV tables (no header, no units) of cards and compute processes.

    Cards: index, uuid, name, memory.total, memory.used, driver_version, power.draw, utilization.gpu.
    Processes: gpu_uuid, pid, used_memory, process_name. Memory that is not supported ("[N/A]") counts as 0, power and
    utilisation as unknown. `wanted` selects cards by index.
    """
    rows = [row for row in _rows(cards) if len(row) >= 5 and row[0].isdigit()]
    holders = [row for row in _rows(apps) if len(row) >= 3 and row[1].isdigit()]
    found = (_gpu(row, holders) for row in rows)
    return tuple(gpu for gpu in found if wanted is None or gpu.index in wanted)


def _rows(text: str) -> Iterator[list[str]]:
    for row in csv.reader(text.splitlines(), skipinitialspace=True):
        yield [cell.strip() for cell in row]


def _gpu(row: list[str], holders: list[list[str]]) -> Gpu:
    mine = (h for h in holders if h[0] == row[1])
    processes = tuple(GpuProcess(int(h[1]), _mib(h[2]), h[3] if len(h) > 3 else "") for h in mine)
    driver = row[5] if len(row) > 5 else ""
    power, busy = (_figure(row, 6), _figure(row, 7))
    return Gpu(int(row[0]), row[2], _mib(row[3]), _mib(row[4]), row[1], driver, processes, power, busy)


def _figure(row: list[str], place: int) -> float | None:
    found = re.match(r"\d+(\.\d+)?", row[place]) if len(row) > place else None
    return float(found.group()) if found else None


def _mib(text: str) -> int:
    found = re.match(r"\d+", text)
    return int(found.group()) if found else 0


def read_kernel_log(kind: str, text: str, *, booted: float, since: float) -> tuple[str, ...]:
    """Read kernel messages not older than `since` (epoch seconds), without their time.

    `kind` "dmesg" has seconds since boot (`booted`, epoch seconds), "journal" has epoch seconds.
    """
    pattern, zero = (STAMP, booted) if kind == "dmesg" else (UNIX_STAMP, 0.0)
    found = (pattern.match(line) for line in text.splitlines())
    # Seconds since boot are only as exact as our idea of the boot time.
    return tuple(m.group(2) for m in found if m and float(m.group(1)) + zero >= since - 2.0)
