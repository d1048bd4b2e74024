"""Who works with which GPUs and port of this host."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from typing import Any

from relight.hosts.agent.attempts import ask_attempts
from relight.hosts.agent.claims import claim, has_server, let_go_claim, release
from relight.hosts.agent.folders import Refused, Site, boot_id, flocked, make_private, read_json, write_json

STALE = 120.0
LEFT = 10.0  # seconds that are left to a run whose agent ended: a link that was cut is made again sooner
ME = secrets.token_hex(8)
HELD: set[str] = set()  # the files of the locks that this agent wrote


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
            return [described_lock(site, lock) for lock in taken]
        beat = {"owner": owner, "wanted": wanted, "boot": boot_id(), "beat": time.monotonic(), "at": time.time()}
        write_json(lock_file(folder, owner), dict(beat, agent=ME))
        HELD.add(lock_file(folder, owner))
    return []


def described_lock(site: Site, lock: dict[str, Any]) -> dict[str, Any]:
    """Return a lock that is in the way as the answer shows it."""
    served = has_server(lock) if "uid" in lock else lock["owner"]["run"] in running_runs(site)
    frees = max(0.0, lock["beat"] + STALE - time.monotonic()) if lock.get("left") and not served else None
    told = {"what": lock["what"], "owner": lock["owner"], "beat": lock["at"], "frees": frees}
    return dict(told, account=lock.get("account", ""))


def ask_unlock(site: Site, owner: dict[str, Any]) -> None:
    """Give back what a run holds."""
    folder = make_private(os.path.join(site.workdir, "locks"))
    HELD.discard(lock_file(folder, owner))
    with suppress(OSError):
        os.unlink(lock_file(folder, owner))
    release(site, owner["run"])


def let_go(site: Site) -> None:
    """Leave what this agent locked: its relight is gone, or comes back within LEFT seconds."""
    folder = os.path.join(site.workdir, "locks")
    while HELD:
        path = HELD.pop()
        with suppress(OSError, Refused), flocked(os.path.join(folder, ".guard")):
            lock = read_json(path)
            # Where the link was made again already, another agent has renewed it.
            if lock and lock.get("agent") == ME:
                write_json(path, dict(lock, left=True, beat=time.monotonic() - STALE + LEFT))
                let_go_claim(site, lock["owner"]["run"], LEFT)


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
