"""A host in trouble: its disk is full, its processes cannot be ended, its clock jumps."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from relight.hosts.remote import AgentHost
from relight.hosts.values import HostError, LaunchOrder
from relight.words.attempt import Exit
from relight.words.host import HostSpec
from tests.hosts.test_claims import ROOT, AsNobody
from tests.modules import module_in

Until = Callable[..., Any]
FILLER = """
import os, sys, time
n = 0
os.write(1, b"begins\\n")
while True:
    try:
        os.write(1, b"line %08d %s\\n" % (n, b"x" * 200))
    except OSError as error:
        sys.exit(f"cannot log: {error.strerror}")
    n += 1
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A filesystem with four megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=4m", "small", str(place)]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("no filesystem can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)  # noqa: S607


@ROOT
def test_a_disk_that_is_full_in_mid_log_loses_no_exit_status_and_no_byte_that_was_written(
    small_disk: Path, host_at: Callable[..., AgentHost], tmp_path: Path, until: Until
) -> None:
    host = host_at(workdir=small_disk / "work")
    order = LaunchOrder("run-1", [], env=module_in(tmp_path, "filler", FILLER), module="filler")
    host.launch(order)
    stream = host.follow("run-1", 0)

    status = until(lambda: (s := host.status("run-1")).state == "ended" and s)
    data = b""
    while len(data) < status.log_size and (piece := stream.read(5.0)):
        data += piece
    stream.close()

    assert status.exit == Exit(1)
    assert data == Path(status.log).read_bytes()
    assert len(data) > 1_000_000
    assert host.disk(str(small_disk)).free < 65536
    with pytest.raises(HostError, match=r"disk|space"):
        host.launch(LaunchOrder("run-2", [], env=order.env, module="filler"))
    assert host.stop("run-1").left == ()
    host.forget("run-1")
    assert host.disk(str(small_disk)).free > 2_000_000
    host.launch(LaunchOrder("run-3", ["x"], env={}, module="this"))  # there is room again
    assert until(lambda: (s := host.status("run-3")).state == "ended" and s).exit == Exit(0)


@ROOT
@pytest.mark.soak
def test_a_process_that_no_signal_of_ours_ends_is_named_in_time_and_not_looped_on(
    until: Until,
) -> None:
    with tempfile.TemporaryDirectory(prefix="relight-stuck-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        # A program of root's that everybody may start and that becomes root: the server's account cannot end it.
        sleeper = place / "sleeper"
        shutil.copy(str(shutil.which("setpriv")), sleeper)
        sleeper.chmod(0o4755)
        (place / "stuck.py").write_text(
            f"import subprocess, sys\nsubprocess.Popen([{str(sleeper)!r}, '--reuid=0', 'sleep', '300'])\nsys.exit(1)\n"
        )
        (place / "work").mkdir()
        shutil.chown(place / "work", "nobody", "nogroup")
        spec = HostSpec("box", "local", workdir=str(place / "work"), python="/usr/bin/python3")
        host = AgentHost(spec, AsNobody())
        host.launch(LaunchOrder("run-1", [], env={"PYTHONPATH": str(place)}, module="stuck"))
        until(lambda: host.status("run-1").state == "ended")
        began = time.monotonic()

        stopped = host.stop("run-1", patience=0.5)
        (left,) = stopped.left
        kept = [x.pid for x in host.clean(["run-1"]) if x.kind == "process"]
        with pytest.raises(HostError, match="still runs"):
            host.forget("run-1")

        assert (left.user, left.ours, kept) == ("root", "run-1", [left.pid])
        assert time.monotonic() - began < 60
        os.kill(left.pid, 9)
        assert until(lambda: host.stop("run-1").left == ())
        host.close()


def test_zombies_are_no_life(host: AgentHost, until: Until, tmp_path: Path) -> None:
    (tmp_path / "zombies.py").write_text(
        "import os, sys, time\nif os.fork() == 0: os._exit(0)\nprint('ready', flush=True)\ntime.sleep(300)\n"
    )
    host.launch(LaunchOrder("run-1", [], env={"PYTHONPATH": str(tmp_path)}, module="zombies"))
    until(lambda: "Z" in {p.state for p in host.status("run-1").tree})

    assert host.status("run-1").alive
    assert host.stop("run-1", patience=2.0).left == ()

    assert not host.status("run-1").alive
    assert host.leftovers() == ()


@ROOT
def test_a_host_whose_clock_jumps_keeps_its_locks_and_its_servers(
    host_at: Callable[..., AgentHost], engine: dict[str, str], until: Until
) -> None:
    # A whole clock cannot be set here; what is compared with it can: every recorded time is a year off.
    host = host_at()
    host.launch(LaunchOrder("run-1", ["--stay"], env=engine, module="engine"))
    state = Path(host.status("run-1").log).parent / "state.json"
    text = state.read_text()
    started = host.status("run-1").started
    assert started

    state.write_text(text.replace(f'"started": {started}', f'"started": {started + 3.2e7}'))

    assert host.status("run-1").state == "running"
    assert host.stop("run-1", patience=2.0).exit == Exit(None, 15)
    assert until(lambda: host.status("run-1").state == "ended")


def test_a_log_is_rolled_at_256_megabytes_and_twenty_pieces_are_kept_unless_told_otherwise(
    host: AgentHost, start: Callable[..., str], until: Until
) -> None:
    attempt = start("--stay")
    host.settle(attempt)

    settled = Path(host.status(attempt).log).parent / "settle.json"
    assert until(settled.read_text) == '{"roll": 268435456, "keep": 20}'
