"""Faults of the way to a host, made by a proxy: cuts at any byte, and links that are up and carry nothing."""

import os
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from relight.hosts.interface import LaunchOrder
from tests.modules import module_in

SOAK_BYTES = int(os.environ.get("RELIGHT_SOAK_BYTES", "200000000"))
SOAK_CUTS = int(os.environ.get("RELIGHT_SOAK_CUTS", "1000"))
WRITER = """
import os, random, sys
rng = random.Random(7)
left = int(sys.argv[1])
while left > 0:
    piece = rng.randbytes(min(left, 4096))
    os.write(1, piece)
    left -= len(piece)
"""


@pytest.fixture
def writer(tmp_path: Path) -> dict[str, str]:
    return module_in(tmp_path, "writer", WRITER)


@pytest.mark.parametrize(
    ("size", "cuts"),
    [
        pytest.param(12_000_000, 8, marks=pytest.mark.ssh),
        pytest.param(SOAK_BYTES, SOAK_CUTS, marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
    ],
)
def test_no_byte_is_lost_or_doubled_however_often_the_link_is_cut(
    sshd: Any, proxy: Any, writer: dict[str, str], size: int, cuts: int
) -> None:
    rng = random.Random(11)  # noqa: S311  reproducible cuts
    mean = size // cuts
    proxy.cut_after = lambda: rng.randint(1, 2 * mean) if proxy.cuts < cuts else None
    host = sshd.host(port=proxy.port, python=sys.executable)
    sshd.host(python=sys.executable).launch(LaunchOrder("run-1", [str(size)], env=writer, module="writer"))
    stream = host.follow("run-1", 0)
    began, data = time.monotonic(), bytearray()
    pauses = [0.0]

    while len(data) < size:
        asked = time.monotonic()
        piece = stream.read(60.0)
        assert piece, f"nothing for a minute at byte {len(data)}; the link was cut {proxy.cuts} times"
        pauses.append(time.monotonic() - asked)
        data += piece

    status = sshd.hosts[-1].status("run-1")
    assert bytes(data) == Path(status.log).read_bytes()
    assert (len(data), status.exit.code) == (size, 0)
    assert stream.cuts > 0
    assert status.pid
    # There was always more to send, so the longest pause is how long it took to be back.
    pauses.sort()
    back = f"back after {statistics.median(pauses[-cuts:]):.2f} s (median), {max(pauses):.2f} s (worst)"
    print(f"\n{size} bytes over {proxy.cuts} cuts: 0 lost, 0 doubled, {back}, {time.monotonic() - began:.0f} s")  # noqa: T201
