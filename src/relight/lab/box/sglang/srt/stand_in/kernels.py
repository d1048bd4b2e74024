"""Calls into what a real engine has native code for; here they do nothing, or fail as the scenario says."""

# mypy: disable-error-code="import-not-found,no-any-return"
import os
import signal
import sysconfig
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from sglang.srt.stand_in.errors import named
from sglang.srt.stand_in.log import raw
from sglang.srt.stand_in.world import Fault, holds, launches, scenario

ECHO = 0.15  # seconds after which the other ranks notice
NATIVE = {"segfault": signal.SIGSEGV, "abort": signal.SIGABRT}


def launch(phase: str, values: Mapping[str, object], rank: int) -> None:
    """Run what `phase` stands for on `rank`. Raises, hangs or dies where the scenario has a fault that applies."""
    fault = due(phase, values)
    if fault:
        strike(fault, rank)


def due(phase: str, values: Mapping[str, object]) -> Fault | None:
    """Return the first fault of `phase` whose conditions hold for `values`."""
    known = {"launch": launches(), **values}
    return next((f for f in scenario().faults if f.phase == phase and holds(f.when, known)), None)


def strike(fault: Fault, rank: int) -> NoReturn:
    """Let `fault` happen on `rank`; does not return."""
    if fault.ranks and rank not in fault.ranks:
        bystander(fault)
    if fault.shape == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    text = fault.text.replace("{rank}", str(rank))
    if fault.shape in NATIVE:
        raw(f"{text}\n")
        os.kill(os.getpid(), NATIVE[fault.shape])
    if fault.shape == "hang":
        wait_for_ever()
    raise_at(fault.at, named(fault.type, text))


def bystander(fault: Fault) -> NoReturn:
    """Be a rank that the fault did not hit: see the others go, or wait for them for ever."""
    if not fault.echo:
        wait_for_ever()
    # Not at the pace of the scenario: however fast time passes, the rank that failed writes first.
    time.sleep(ECHO)
    raise named("RuntimeError", fault.echo)


def wait_for_ever() -> NoReturn:
    """Do nothing until somebody kills this process."""
    while True:
        signal.pause()


def raise_at(place: str, error: BaseException) -> NoReturn:
    """Raise `error` below a frame of the library file `place` ("flashinfer/jit/core.py:227 build")."""
    if not place:
        raise error
    where, function = place.split()
    file, _, line = where.partition(":")
    path = Path(sysconfig.get_paths()["purelib"]) / file
    code = "\n" * (int(line) - 1) + f"def {function}(error): raise error"
    names: dict[str, object] = {}
    exec(compile(code, str(path), "exec"), names)  # noqa: S102  the frame of a library that is not installed
    call = names[function]
    if callable(call):
        call(error)
    raise error
