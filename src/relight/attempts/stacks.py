"""Where processes stand: read from what a stack sampler or /proc says, and the place they have in common. Pure."""

import re
from collections.abc import Mapping, Sequence

THREAD = re.compile(r'^Thread \S+(?: \((?P<state>[^)]*)\))?(?:: "(?P<name>[^"]*)")?')
FRAME = re.compile(r"^\s+(?P<function>\S[^()]*) \((?P<file>[^()]+):(?P<line>\d+)\)")
WAITING = re.compile(r"^/proc/(?P<pid>\d+)/wchan:(?P<place>\S+)")
IDLE = frozenset({"0", ""})


def frames(dump: str) -> tuple[str, ...]:
    """Return the frames of the main thread of one stack dump, innermost first: "function (file:line)"."""
    found: dict[str, list[str]] = {}
    current = ""
    for line in dump.splitlines():
        thread = THREAD.match(line)
        if thread:
            current = thread["name"] or str(len(found))
            found.setdefault(current, [])
        elif current and (frame := FRAME.match(line)):
            found[current].append(f"{frame['function']} ({frame['file']}:{frame['line']})")
    return tuple(found.get("MainThread") or next(iter(found.values()), ()))


def waits(text: str) -> Mapping[int, str]:
    """Return where in the kernel each process sleeps, from the lines of /proc/PID/wchan with their file in front."""
    found = (WAITING.match(line) for line in text.splitlines())
    return {int(m["pid"]): m["place"] for m in found if m and m["place"] not in IDLE}


def common(stacks: Sequence[Sequence[str]]) -> str:
    """Return the innermost frame that every stack has, "" where there is none."""
    if not stacks:
        return ""
    others = [frozenset(stack) for stack in stacks[1:]]
    return next((frame for frame in stacks[0] if all(frame in other for other in others)), "")


def place(dumps: Sequence[str], kernel: Mapping[int, str]) -> str:
    """Return where all processes are in a few words, "" where they are not in one place or nobody could see."""
    stacks = [stack for dump in dumps if (stack := frames(dump))]
    frame = common(stacks)
    if frame:
        return frame
    sleeping = set(kernel.values())
    return f"the kernel's {sleeping.pop()}" if not stacks and len(sleeping) == 1 else ""
