"""Launches: one server per attempt id, however often it is asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zlib
from typing import Any

from relight.hosts.agent.claims import note_server
from relight.hosts.agent.environment import launch_env, launch_python
from relight.hosts.agent.folders import (
    Refused,
    Site,
    attempt_folder,
    flocked,
    is_flocked,
    make_private,
    read_json,
    write_json,
    write_private,
)

START_PATIENCE = 20.0
BOOT = (
    'import sys,zlib;sys.version_info<(3,8) and sys.exit("Python 3.8 or later is needed, this is "+sys.version);'
    'b=sys.stdin.buffer;s=zlib.decompress(b.read(int(b.readline())));exec(compile(s,"relight-agent","exec"))'
)


def ask_launch(site: Site, attempt: str, order: dict[str, Any]) -> dict[str, Any]:
    """Start a server unless this attempt was started before; answer where it runs."""
    launch_python(site)  # refused before anything is written
    folder = make_private(attempt_folder(site, attempt))
    with flocked(os.path.join(folder, "launch.lock")):
        again = read_json(os.path.join(folder, "state.json")) is not None
        if not again:
            prepare(site, folder, order)
            start_supervisor(site, supervisor_order(site, attempt, folder, order))
        state = wait_for_start(folder)
    note_server(site, order["run"])
    return {
        "attempt_id": attempt,
        "pid": (state.get("server") or [None])[0],
        "supervisor": state["supervisor"][0],
        "log": os.path.join(folder, "server.log"),
        "folder": folder,
        "command": (read_json(os.path.join(folder, "order.json")) or {}).get("command", []),
        "again": again,
    }


def prepare(site: Site, folder: str, order: dict[str, Any]) -> None:
    """Write what a later look needs, secrets left out, and the file with the secret flags."""
    make_private(os.path.join(folder, "cwd"))
    kept = {key: order[key] for key in ("run", "port", "title", "env")}
    write_json(os.path.join(folder, "order.json"), dict(kept, gpus=site.gpus, command=command(site, folder, order)))
    if order["secret_flags"]:
        write_private(secrets_file(folder), yaml_of(order["secret_flags"]))


def command(site: Site, folder: str, order: dict[str, Any]) -> list[str]:
    """Return the command of the server."""
    config = ["--config", secrets_file(folder)] if order["secret_flags"] else []
    return [launch_python(site), "-m", order["module"], *order["argv"], *config]


def secrets_file(folder: str) -> str:
    """Return where the secret flags of an attempt are: beside its current folder, which stays empty."""
    return os.path.join(folder, "secret-flags.yaml")


def yaml_of(flags: dict[str, str]) -> bytes:
    """Return flags as YAML; a JSON string is a YAML string."""
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in flags.items()).encode("ascii")


def supervisor_order(site: Site, attempt: str, folder: str, order: dict[str, Any]) -> dict[str, Any]:
    """Return what the supervisor is told. It goes over a pipe: the environment is on no command line."""
    umask = os.umask(0o077)
    os.umask(umask)
    marks = {"RELIGHT_ATTEMPT": attempt, "RELIGHT_RUN": order["run"]}
    return {
        "role": "supervisor",
        "folder": folder,
        "cwd": os.path.join(folder, "cwd"),
        "umask": umask,
        "argv": command(site, folder, order),
        "env": launch_env(site, order["env"], dict(order["secrets"], **marks)),
    }


def start_supervisor(site: Site, order: dict[str, Any]) -> None:
    """Start a supervisor in its own session; it detaches by itself."""
    label = os.path.basename(order["folder"])
    child = subprocess.Popen(
        [sys.executable, "-E", "-S", "-u", "-c", BOOT, "relight-supervisor", label],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
        env={"PATH": os.defpath, "LANG": "C.UTF-8"},
    )
    source = zlib.compress(site.source, 1)
    text = b"%d\n%s%s\n" % (len(source), source, json.dumps(order).encode("ascii"))
    try:
        child.communicate(text, timeout=START_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused(f"the supervisor could not be started: {error}") from error


def wait_for_start(folder: str) -> dict[str, Any]:
    """Wait until the supervisor has started the server or said why it cannot."""
    until = time.monotonic() + START_PATIENCE
    while time.monotonic() < until:
        state = read_json(os.path.join(folder, "state.json"))
        if state and (state["server"] or state["error"] or os.path.exists(os.path.join(folder, "exit.json"))):
            return dict(state)
        if time.monotonic() > until - START_PATIENCE + 2.0 and not is_flocked(os.path.join(folder, "supervisor.lock")):
            break
        time.sleep(0.01)
    state = read_json(os.path.join(folder, "state.json"))
    if state:
        return dict(state)
    raise Refused(f"the supervisor did not come up; is {folder} on a full or read-only disk?")
