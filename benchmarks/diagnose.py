"""Measure the diagnosis of a large log against simpler ways to look through it.

    python benchmarks/diagnose.py [--size 1000] [--keep FILE]

A log of --size MB (default 1000) is generated: a start, hours of serving, a crash of eight ranks. Each row prints
seconds and MB/s on the same file, warm; the last rows say how much memory ours took and how good it is.
"""

import argparse
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.diagnosis.scan import finder_of, scan
from relight.logs.read import read_log

ROOT = "an illegal memory access was encountered"
TEN = (
    "Traceback", "out of memory", "illegal memory access", "NCCL error", "Watchdog timeout", "error: unrecognized",
    "Segmentation fault", "no kernel image", "Scheduler hit an exception", "Address already in use",
)  # fmt: skip


def generate(path: Path, size: int) -> None:
    """Write a log of about `size` bytes."""
    serving = "".join(_serving())
    with path.open("w") as file:
        file.write(_start())
        while file.tell() < size:
            file.write(serving)
        file.write(_crash())


def _start() -> str:
    at = "[2026-03-01 10:00:00"
    ranks = [f"{at} TP{rank}] Load weight begin. avail mem=94.{rank} GB\n" for rank in range(8)]
    return "".join([*ranks, f"{at}] The server is fired up and ready to roll!\n"])


def _serving() -> Iterator[str]:
    for i in range(5000):
        at = f"[2026-03-01 11:{i // 60 % 60:02}:{i % 60:02}"
        yield (
            f"{at} TP0] Decode batch, #running-req: {i % 64}, #token: {i * 17}, token usage: 0.{i % 90:02}, "
            f"cuda graph: True, gen throughput (token/s): {i * 1.7:.2f}, #queue-req: 0\n"
        )
        yield f'{at}] INFO:     10.0.0.{i % 250}:5{i:04} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'


def _crash() -> str:
    lines = []
    for rank in range(8):
        lines += [
            f"[2026-03-01 15:00:00 TP{rank}] Scheduler hit an exception: Traceback (most recent call last):\n",
            '  File "/opt/venv/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py", line 90, in run_batch\n',
            "    self.forward(batch)\n",
            f"RuntimeError: CUDA error: {ROOT}\n",
            "\n",
        ]
    return "".join([*lines, "[2026-03-01 15:00:00] SIGQUIT received. signum=None, frame=None.\n"])


KNOWLEDGE = load_knowledge()


def ours(path: Path, engine: str | None) -> str:
    """Diagnose with one engine (None: the fastest there is) and return the kind found."""
    lines = scan(read_log(str(path)), KNOWLEDGE, engine)  # type: ignore[arg-type]
    found = diagnose(lines, KNOWLEDGE, name=str(path))
    return found.cause.kind if found.cause else found.verdict


def grep(path: Path) -> str:
    """Count lines with ten literals."""
    ran = subprocess.run(
        [shutil.which("grep") or "grep", "-cE", "|".join(TEN), str(path)], capture_output=True, text=True, check=False
    )
    return ran.stdout.strip()


def loop(path: Path) -> str:
    """Match one regex of ten literals on each line."""
    regex = re.compile("|".join(TEN).encode())
    with path.open("rb") as file:
        return str(sum(1 for line in file if regex.search(line)))


def drain(path: Path) -> str:
    """Cluster all lines with Drain3, where it is installed."""
    from drain3 import TemplateMiner  # type: ignore[import-not-found]  # noqa: PLC0415

    miner = TemplateMiner()
    with path.open(errors="replace") as file:
        for line in file:
            miner.add_log_message(line.rstrip())
    return f"{len(miner.drain.clusters)} clusters"


def row(name: str, path: Path, work: Callable[[], str]) -> None:
    """Print what a way of looking found and how long it took."""
    started = time.perf_counter()
    try:
        found = work()
    except (ImportError, LookupError):
        print(f"{name:32} not installed")
        return
    seconds = time.perf_counter() - started
    print(f"{name:32} {seconds:8.2f} s {path.stat().st_size / 1e6 / seconds:9.0f} MB/s   {found}")


def main() -> None:
    """Generate the log and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--size", type=int, default=1000, help="MB")
    parser.add_argument("--keep", type=Path, help="write the log here and leave it")
    parser.add_argument("--part", choices=["ours", "hyperscan", "ahocorasick", "re"], help="run only this, on --keep")
    given = parser.parse_args()
    if given.part:
        finder_of(KNOWLEDGE, None if given.part == "ours" else given.part)
        row(given.part, given.keep, lambda: ours(given.keep, None if given.part == "ours" else given.part))
        print(f"{'  memory':32} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MB")
        return
    folder = Path(tempfile.mkdtemp())
    path = given.keep or folder / "server.log"
    generate(path, given.size * 1_000_000)
    table(path)
    shutil.rmtree(folder)


def table(path: Path) -> None:
    """Print a row for each way, ours in processes of their own so that memory is theirs."""
    row("(reading the file once)", path, lambda: str(sum(map(len, read_log(str(path))))))
    for part in ("ours", "ahocorasick"):
        sys.stdout.flush()
        subprocess.run([sys.executable, __file__, "--part", part, "--keep", str(path)], check=True)
    row("grep -cE, ten literals", path, lambda: grep(path))
    row("re, one regex for each line", path, lambda: loop(path))
    row("Drain3", path, lambda: drain(path))


if __name__ == "__main__":
    main()
