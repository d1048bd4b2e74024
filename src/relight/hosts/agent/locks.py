"""Who works with which GPUs and port of this host."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Any

from relight.hosts.agent.attempts import ask_attempts
from relight.hosts.agent.claims import claim, release
from relight.hosts.agent.folders import Site, boot_id, flocked, make_private, read_json, write_json

STALE = 120.0


def ask_lock(site: Site, owner: dict[str, Any], wanted: list[str]) -> list[dict[str, Any]]:
    """Take or renew a lock for a run; answer who else holds what ([]: it is the run's).

    Runs of the same account and work folder are kept apart by its locks, all others of the host by claims.
    """
    folder = make_private(os.path.join(site.workdir, "locks"))
    with flocked(os.path.join(folder, ".guard")):
        held = live_locks(site, folder)
        others = [lock for lock in held if lock["owner"]["run"] != owner["run"]]
        taken = [dict(lock, what=what) for lock in others for what in lock["wanted"] if what in wanted]
        claims = [] if taken else claim(site, owner, wanted)
        taken += [dict(other, what=what) for other in claims for what in other["wanted"] if what in wanted]
        if taken:
            return [
                {"what": t["what"], "owner": t["owner"], "beat": t["at"], "account": t.get("account", "")}
                for t in taken
            ]
        beat = {"owner": owner, "wanted": wanted, "boot": boot_id(), "beat": time.monotonic(), "at": time.time()}
        write_json(lock_file(folder, owner), beat)
    return []


def ask_unlock(site: Site, owner: dict[str, Any]) -> None:
    """Give back what a run holds."""
    folder = make_private(os.path.join(site.workdir, "locks"))
    with suppress(OSError):
        os.unlink(lock_file(folder, owner))
    release(site, owner["run"])


def lock_file(folder: str, owner: dict[str, Any]) -> str:
    """Return the file of a run's lock."""
    name = "".join(c if c.isalnum() or c in "-_" else "_" for c in owner["run"])
    return os.path.join(folder, name + ".json")


def live_locks(site: Site, folder: str) -> list[dict[str, Any]]:
    """Return the locks that count; a stale one is removed."""
    found = []
    running: set[str] | None = None
    for name in os.listdir(folder):
        lock = read_json(os.path.join(folder, name)) if name.endswith(".json") else None
        if lock is None:
            continue
        if not is_fresh(lock):
            running = running_runs(site) if running is None else running
            if lock["owner"]["run"] not in running:
                os.unlink(os.path.join(folder, name))
                continue
        found.append(lock)
    return found


def is_fresh(lock: dict[str, Any]) -> bool:
    """Say whether a lock was renewed lately, by a clock that nobody sets."""
    return bool(lock["boot"] == boot_id() and time.monotonic() - lock["beat"] < STALE)


def running_runs(site: Site) -> set[str]:
    """Return the runs that have an attempt alive."""
    return {s.get("run", "") for s in ask_attempts(site) if s["state"] in {"starting", "running"} or s["tree"]}
