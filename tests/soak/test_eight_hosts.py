"""Eight logs followed at once, at full speed, in memory that stays flat."""

import os
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from relight.attempts.follow import Follower
from relight.config.knowledge import load_knowledge
from relight.hosts import open_host
from relight.hosts.values import LaunchOrder
from relight.words.host import HostSpec
from relight.words.knowledge import Knowledge
from tests.modules import module_in

SECONDS = float(os.environ.get("RELIGHT_SOAK_SECONDS", "600"))
LINES = int(os.environ.get("RELIGHT_SOAK_LINES", "1000"))
HOSTS = int(os.environ.get("RELIGHT_SOAK_HOSTS", "8"))
FLAT, GROWTH = 150 << 20, 20 << 20
PARTS = 10
WRITER = """
import sys, time
seconds, rate = float(sys.argv[1]), int(sys.argv[2])
began, n = time.monotonic(), 0
while time.monotonic() - began < seconds:
    while n < (time.monotonic() - began) * rate:
        print(f"[2026-11-29 10:00:00 TP{n % 8}] Decode batch. #running-req: {n % 64}, #token: {n}, gen: 91.5")
        n += 1
    sys.stdout.flush()
    time.sleep(0.02)
"""


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_hosts_are_followed_without_loss_in_flat_memory(tmp_path: Path) -> None:
    knowledge, env = load_knowledge(), module_in(tmp_path, "writer", WRITER)
    with ExitStack() as stack:
        pairs = [begun(tmp_path / f"h{n}", env, knowledge, stack) for n in range(HOSTS)]
        followers = [stack.enter_context(follower) for follower, _ in pairs]
        began = time.process_time()
        held = list(followed(followers, time.monotonic() + SECONDS))
        part = len(held) // PARTS + 1
        tenths = [max(held[n : n + part]) >> 20 for n in range(0, len(held), part)]
        cores = (time.process_time() - began) / SECONDS
        for follower, log in pairs:
            follower.drain(log.stat().st_size)
        stored = [follower.size for follower in followers]

    early, most = held[len(held) // 10], max(held)
    figures = f"{sum(stored)} bytes, {most >> 20} MB, {(most - early) >> 20} MB grown, {cores:.2f} cores"
    figures += f"; MB in each tenth: {' '.join(map(str, tenths))}"
    print(f"\n{HOSTS} hosts, {LINES} lines/s each, {SECONDS:.0f} s: {figures}")  # noqa: T201
    assert min(stored) > SECONDS * LINES * 60
    assert all(f.path.read_bytes() == log.read_bytes()[: f.size] for f, log in pairs)
    assert most - early < GROWTH
    assert most < FLAT


def followed(followers: Sequence[Follower], until: float) -> Iterator[int]:
    """Follow all logs; yield the bytes this process holds."""
    while time.monotonic() < until:
        for follower in followers:
            follower.pump(0.02)
            yield int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def begun(folder: Path, env: dict[str, str], knowledge: Knowledge, stack: ExitStack) -> tuple[Follower, Path]:
    """Start a writer on a host of its own and follow it."""
    host = open_host(HostSpec(folder.name, "local", python=sys.executable, workdir=str(folder)))
    stack.callback(host.close)
    host.connect()
    launched = host.launch(LaunchOrder("run-1", [str(SECONDS), str(LINES)], env=env, module="writer"))
    follower = Follower(folder / "copy" / "server.log", knowledge, lambda at: host.follow("run-1", at))
    return follower, Path(launched.log)
