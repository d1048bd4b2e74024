"""Write log lines the way the engine's processes write them: all into one stream, whole records at once."""

# mypy: disable-error-code="import-not-found,no-any-return"
import os
import sys
import time
import traceback

from sglang.srt.stand_in.world import rest, scenario

STAND_IN = "/srt/stand_in/"


def say(message: str, rank: str = "") -> None:
    """Write one record: time, rank (blank for the main process), message."""
    tag = f" {rank}" if rank else ""
    raw(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}{tag}] {message}\n")


def raw(text: str) -> None:
    """Write `text` as it is to standard error, in pieces where the scenario wants records torn apart."""
    data = text.encode()
    if not scenario().interleave or len(data) < 400:
        os.write(sys.stderr.fileno(), data)
        return
    lines = data.splitlines(keepends=True)
    for start in range(0, len(lines), 4):
        os.write(sys.stderr.fileno(), b"".join(lines[start : start + 4]))
        rest(0.005)


def current_traceback(error: BaseException) -> str:
    """Return the traceback of `error`; the frames that only play the hardware are not in it."""
    shown = traceback.TracebackException.from_exception(error, capture_locals=False)
    _without_stand_in(shown)
    return "".join(shown.format())


def _without_stand_in(shown: traceback.TracebackException) -> None:
    shown.stack = traceback.StackSummary.from_list([f for f in shown.stack if STAND_IN not in f.filename])
    for other in (shown.__cause__, shown.__context__):
        if other:
            _without_stand_in(other)
