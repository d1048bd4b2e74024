"""This machine as a host, with a stand-in server that behaves as its arguments say."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from relight.hosts.local import LocalLink
from relight.hosts.remote import AgentHost
from relight.hosts.values import HostError, LaunchOrder
from relight.words.host import HostSpec
from tests.modules import module_in

ENGINE = """
import json, mmap, os, signal, subprocess, sys, time

def say(text):
    os.write(1, (text + "\\n").encode())

HOLD = '''
import os
if os.environ.get("GPU_FOLDER"):
    open(os.path.join(os.environ["GPU_FOLDER"], str(os.getpid())), "w").close()
'''
os.environ["GPU_HOLD"] = HOLD
exec(HOLD)  # memory on a card, held as long as this process lives

def spawn(code):
    return subprocess.Popen([sys.executable, "-c", HOLD + code])

ORPHAN = '''
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
exec(os.environ.get("GPU_HOLD", ""))
time.sleep(300)
'''

args = sys.argv[1:]
if "--umask" in args:
    say("umask " + oct(os.umask(0)))
if "--ignore-term" in args:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "--tell" in args:
    say(json.dumps({"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "files": os.listdir(".")}))
    say(json.dumps({"stdin": os.readlink("/proc/self/fd/0"), "fds": sorted(os.listdir("/proc/self/fd"), key=int)}))
    say(json.dumps({"signals": [signal.getsignal(n) == signal.SIG_DFL for n in (1, 3, 13, 15)], "sid": os.getsid(0)}))
if "--child" in args:
    say("child %d" % spawn("import time; time.sleep(300)").pid)
if "--orphan" in args:
    spawn(ORPHAN).wait()
if "--shm" in args:
    path = "/dev/shm/" + args[args.index("--shm") + 1]
    with open(path, "wb+") as file:
        file.write(b"x" * 4096)
        file.flush()
        held = mmap.mmap(file.fileno(), 4096)
if "--lines" in args:
    for n in range(int(args[args.index("--lines") + 1])):
        say("line %06d of the log of a server that says much" % n)
say("ready")
if "--stay" in args:
    while True:
        time.sleep(60)
if "--signal" in args:
    os.kill(os.getpid(), int(args[args.index("--signal") + 1]))
sys.exit(int(args[args.index("--exit") + 1]) if "--exit" in args else 0)
"""


def wait_for(what: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Return what `what` returns once that is true; fail after `seconds`."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = what()
        if found:
            return found
        threading.Event().wait(0.02)
    pytest.fail("it did not come to pass in time")


@pytest.fixture
def engine(tmp_path: Path) -> dict[str, str]:
    """Return the environment in which the module `engine` can be launched."""
    return module_in(tmp_path, "engine", ENGINE)


@pytest.fixture
def host_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., AgentHost]]:
    """Make hosts of this machine with a work folder of their own; whatever they started is ended afterwards."""
    hosts: list[AgentHost] = []
    (tmp_path / "locks").mkdir(mode=0o777)
    (tmp_path / "locks").chmod(0o1777)
    monkeypatch.setenv("RELIGHT_LOCKS", str(tmp_path / "locks"))

    def make(**more: Any) -> AgentHost:
        hosts.append(local_host(**{"workdir": tmp_path / "work", **more}))
        return hosts[-1]

    yield make
    for host in hosts:
        end_all(host)
        host.close()


def local_host(workdir: Path | str, **more: Any) -> AgentHost:
    given = {"workdir": str(workdir), "python": sys.executable, **more}
    return AgentHost(HostSpec("box", "local", **given), LocalLink())


def end_all(host: AgentHost) -> None:
    for status in host.attempts():
        host.stop(status.attempt_id, patience=0.2)
        forget = partial(forgotten, host, status.attempt_id)
        wait_for(forget)


def forgotten(host: AgentHost, attempt: str) -> bool:
    try:
        host.forget(attempt)
    except HostError:
        return False  # its supervisor has yet to see the end
    return True


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentHost]:
    """Return one host for many tests: an agent costs a login shell."""
    host = local_host(tmp_path_factory.mktemp("host") / "work")
    yield host
    host.close()


@pytest.fixture
def host(shared: AgentHost) -> Iterator[AgentHost]:
    """Return this machine as a host; no attempt is left on it."""
    yield shared
    end_all(shared)


@pytest.fixture
def launcher(engine: dict[str, str]) -> Callable[..., str]:
    """Launch the stand-in server on a host with these arguments; return the attempt id."""
    numbers = iter(range(1, 1000))

    def launch(host: AgentHost, *argv: str, **more: Any) -> str:
        order = LaunchOrder(
            f"run-{next(numbers)}", argv, env={**engine, **more.pop("env", {})}, module="engine", **more
        )
        host.launch(order)
        return order.attempt_id

    return launch


@pytest.fixture
def start(host: AgentHost, launcher: Callable[..., str]) -> Callable[..., str]:
    """Launch the stand-in server with these arguments; return the attempt id."""
    return lambda *argv, **more: launcher(host, *argv, **more)


@pytest.fixture
def until() -> Callable[..., Any]:
    """Return the function that waits for something to become true."""
    return wait_for
