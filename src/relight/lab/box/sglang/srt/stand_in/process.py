"""What a rank does to its own process: name itself, and die with its parent."""

import ctypes
import os
import signal
from pathlib import Path

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; end at once where `parent` is gone already."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)


def set_title(title: str) -> None:
    """Show `title` as the command line of this process.

    As setproctitle does it: the words are written over the arguments, and over the environment too unless
    SPT_NOENV is set, so /proc/PID/environ of a rank is empty without it.
    """
    stat = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    arg_start, arg_end, env_start, env_end = (int(n) for n in stat[45:49])
    end = arg_end if os.environ.get("SPT_NOENV") else max(arg_end, env_end)
    if arg_start and env_start:
        ctypes.memset(arg_start, 0, end - arg_start)
        ctypes.memmove(arg_start, title.encode(), min(len(title), end - arg_start - 1))
    Path("/proc/self/comm").write_text(title[:15])
