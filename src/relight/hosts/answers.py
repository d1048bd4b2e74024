"""Turn what the agent answers into values."""

from collections.abc import Mapping
from typing import Any

from relight.hosts.values import Holder, Leftover, Owner, Status, Stopped
from relight.words.attempt import Exit
from relight.words.host import HostProcess
from relight.words.text import shown

PLAIN = (
    "attempt_id", "state", "pid", "started", "ended", "boot_id", "log", "log_size", "reason", "supervised", "run",
    "port", "title", "stopped", "oom_kills",
)  # fmt: skip


def read_process(said: Mapping[str, Any]) -> HostProcess:
    """Return a process."""
    return HostProcess(**said)


def read_status(said: Mapping[str, Any]) -> Status:
    """Return what became of an attempt."""
    given = {key: said[key] for key in PLAIN if said.get(key) is not None}
    gpus = None if said.get("gpus") is None else tuple(said["gpus"])
    return Status(**given, exit=_exit(said), tree=tuple(map(read_process, said["tree"])), gpus=gpus)


def read_stopped(said: Mapping[str, Any]) -> Stopped:
    """Return what a stop did."""
    left = tuple(map(read_process, said["left"]))
    return Stopped(said["attempt_id"], left, said["killed"], _exit(said), said["seconds"])


def read_leftover(said: Mapping[str, Any]) -> Leftover:
    """Return a leftover."""
    return Leftover(**said)


def read_holder(said: Mapping[str, Any]) -> Holder:
    """Return who holds a card or port; another account may have written it."""
    owner = {**shown(dict(said["owner"])), "pid": int(said["owner"]["pid"])}
    return Holder(said["what"], Owner(**owner), said["beat"], said.get("account", ""), said.get("frees"))


def _exit(said: Mapping[str, Any]) -> Exit:
    return Exit(said.get("code"), said.get("signal"))
