"""Claims on GPUs and ports that every account of the host can see: who works with them, whose server is on them.

A claim is a file of its owner's in a folder of the system in which everybody may make files and nobody may remove
another's. It is published first, the others are read afterwards: of two that come at once one sees the other, or both.
What others wrote is read as text from strangers. Claims of the same account in the same work folder are not looked at
here: its locks are exact.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
import time
from contextlib import suppress
from typing import Any

from relight.hosts.agent.attempts import attempt_ids
from relight.hosts.agent.folders import Site, attempt_folder, boot_id, read_json, write_all
from relight.hosts.agent.processes import is_alive, owner_of, user_name

CLAIM_PLACES = ("/run/lock", "/tmp")  # noqa: S108  the system's own common folders; see is_common
CLAIM_PREFIX, CLAIM_ENDING = "relight.", ".lock"
CLAIM_LIMIT = 16 << 10
CLAIM_STALE = 120.0


def claims_folder() -> str | None:
    """Return the folder of the claims, None where this host has none; RELIGHT_LOCKS names another one."""
    given = os.environ.get("RELIGHT_LOCKS")
    if given:
        return given if os.path.isdir(given) else None
    return next((place for place in CLAIM_PLACES if is_common(place)), None)


def is_common(folder: str) -> bool:
    """Say whether this is a folder of root's in which everybody may write and nobody may remove another's file."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == 0 and found.st_mode & 0o1002 == 0o1002


def claim(site: Site, owner: dict[str, Any], wanted: list[str]) -> list[dict[str, Any]]:
    """Publish or renew the claim of a run; answer the claims in its way: then nothing is published."""
    folder = claims_folder()
    if folder is None:
        return []
    path = claim_path(folder, site, owner["run"])
    old = read_claim(path)
    held = bool(old and old["uid"] == os.getuid() and old["held"] and set(wanted) <= set(old["wanted"]) and counts(old))
    new = {"owner": owner, "wanted": wanted, "workdir": site.workdir, "boot": boot_id(), "held": held}
    new.update(beat=time.monotonic(), at=time.time(), servers=live_servers(site, owner["run"]))
    publish(path, new)
    if held:  # whoever came later has seen it
        return []
    others = [c for c in claims_of_others(folder, site, owner["run"]) if set(c["wanted"]) & set(wanted)]
    if others:
        with suppress(OSError):
            os.unlink(path)
        return others
    publish(path, dict(new, held=True))
    return []


def release(site: Site, run: str) -> None:
    """Take the claim of a run back; where its server lives on, the claim becomes the server's."""
    folder = claims_folder()
    if folder is None:
        return
    path = claim_path(folder, site, run)
    servers = live_servers(site, run)
    old = read_claim(path)
    if old and servers:
        publish(path, dict(old, servers=servers, beat=-CLAIM_STALE))
        return
    with suppress(OSError):
        os.unlink(path)


def let_go_claim(site: Site, run: str, seconds: float) -> None:
    """Let the claim of a run count for so many seconds more, and as long as a server of it lives."""
    folder = claims_folder()
    path = claim_path(folder, site, run) if folder else ""
    old = read_claim(path) if path else None
    if old:
        beat = time.monotonic() - CLAIM_STALE + seconds
        publish(path, dict(old, servers=live_servers(site, run), beat=beat, left=True))


def note_server(site: Site, run: str) -> None:
    """Add the server that was just started to the claim of its run: it counts as long as that lives."""
    folder = claims_folder()
    old = read_claim(claim_path(folder, site, run)) if folder else None
    if folder and old:
        publish(claim_path(folder, site, run), dict(old, servers=live_servers(site, run)))


def claim_path(folder: str, site: Site, run: str) -> str:
    """Return the file of a run's claim; the name tells nothing but the account."""
    digest = hashlib.sha256(f"{site.workdir}\0{run}".encode()).hexdigest()[:20]
    return os.path.join(folder, f"{CLAIM_PREFIX}{os.getuid()}.{digest}{CLAIM_ENDING}")


def live_servers(site: Site, run: str) -> list[list[int]]:
    """Return pid and start of the servers of a run that live."""
    found = []
    for attempt in attempt_ids(site):
        folder = attempt_folder(site, attempt)
        state = read_json(os.path.join(folder, "state.json")) or {}
        server = state.get("server")
        theirs = (read_json(os.path.join(folder, "order.json")) or {}).get("run")
        if server and theirs == run and state.get("boot") == boot_id() and is_alive(*server):
            found.append(server)
    return found


def publish(path: str, content: dict[str, Any]) -> None:
    """Write a claim by rename, readable by everybody. Where that cannot be, the others' claims still bind us."""
    part = f"{path}.{secrets.token_hex(8)}"
    with suppress(OSError):
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            write_all(fd, json.dumps({k: v for k, v in content.items() if k != "uid"}).encode("ascii"))
            os.fchmod(fd, 0o644)
        finally:
            os.close(fd)
        os.rename(part, path)
    with suppress(OSError):
        os.unlink(part)


def claims_of_others(folder: str, site: Site, run: str) -> list[dict[str, Any]]:
    """Return the claims that count and are not of this account's work folder or run; our own that do not are removed.

    Nodes of one run may be work folders of one machine.
    """
    found = []
    with suppress(OSError):
        for name in sorted(os.listdir(folder)):
            if name.startswith(CLAIM_PREFIX) and name.endswith(CLAIM_ENDING):
                path = os.path.join(folder, name)
                other = read_claim(path)
                if other and other["uid"] == os.getuid() and not counts(other):
                    os.unlink(path)
                elif other and counts(other) and not is_same(other, site, run):
                    found.append(dict(other, account=user_name(other["uid"])))
    return found


def is_same(other: dict[str, Any], site: Site, run: str) -> bool:
    """Say whether a claim is of this account, and of this work folder or this run."""
    return bool(other["uid"] == os.getuid() and (other["workdir"] == site.workdir or other["owner"]["run"] == run))


def read_claim(path: str) -> dict[str, Any] | None:
    """Return a claim with `uid`, the account whose file it is; None for what is no plain file or no claim."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        kind = os.fstat(fd)
        if not stat.S_ISREG(kind.st_mode) or kind.st_size > CLAIM_LIMIT:
            return None
        return dict(checked_claim(json.loads(os.read(fd, CLAIM_LIMIT).decode("ascii"))), uid=kind.st_uid)
    except (OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError):
        return None
    finally:
        os.close(fd)


def checked_claim(said: Any) -> dict[str, Any]:
    """Return what somebody wrote with every part of the kind it must be; raises what wrong parts raise."""
    owner = {name: str(said["owner"][name])[:100] for name in ("run", "user", "host")}
    return {
        "owner": dict(owner, pid=int(said["owner"]["pid"])),
        "wanted": [str(what)[:40] for what in said["wanted"][:1000]],
        "servers": [[int(pid), int(start)] for pid, start in said["servers"][:1000]],
        "workdir": str(said["workdir"]),
        "boot": str(said["boot"]),
        "beat": float(said["beat"]),
        "at": float(said["at"]),
        "held": bool(said["held"]),
        "left": bool(said.get("left")),
    }


def counts(found: dict[str, Any]) -> bool:
    """Say whether a claim was renewed lately, or a server of the account that made it lives."""
    if found["boot"] != boot_id():
        return False
    if 0 <= time.monotonic() - found["beat"] < CLAIM_STALE:
        return True
    return has_server(found)


def has_server(found: dict[str, Any]) -> bool:
    """Say whether a server of the account that made a claim lives."""
    return any(is_alive(pid, start) and owner_of(pid) == found["uid"] for pid, start in found["servers"])
