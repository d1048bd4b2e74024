"""Where the engine is installed, and which version: without importing it, which costs many seconds."""

from __future__ import annotations

import glob
import json
import os
import re
from contextlib import suppress
from typing import Any

from relight.hosts.agent.environment import launch_env, launch_python, login_env, run_command
from relight.hosts.agent.folders import Site, expand, read_text

PLACES = (
    "/opt/*/bin/python3", "/opt/*/*/bin/python3", "/opt/conda/envs/*/bin/python3", "/usr/bin/python3",
    "/usr/local/bin/python3", "/usr/local/*/bin/python3", "/srv/*/bin/python3", "/venv/bin/python3",
    "/workspace/*/bin/python3", "/data/*/bin/python3", "~/*/bin/python3", "~/.*/bin/python3",
    "~/.pyenv/versions/*/bin/python3", "~/.virtualenvs/*/bin/python3", "~/*/*/bin/python3",
    "~/*conda*/envs/*/bin/python3",
)  # fmt: skip
# Runs under the launch's interpreter and environment. `find_spec` of a top-level name imports nothing.
VERSION_SCRIPT = r"""
import ast, importlib.util, json, os, sys
try:
    from importlib.metadata import version
    found = version("NAME")
except Exception:
    found = None
spec = importlib.util.find_spec("NAME")
folders = list(spec.submodule_search_locations or []) if spec else []
def literal(path):
    try:
        tree = ast.parse(open(path, encoding="utf-8", errors="replace").read())
    except (OSError, SyntaxError):
        return None
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {t.id for t in targets if isinstance(t, ast.Name)}
            value = getattr(node.value, "value", None)
            if names & {"__version__", "version"} and isinstance(value, str):
                return value
files = [os.path.join(d, f) for f in ("version.py", "_version.py", "__init__.py") for d in folders]
for path in files:
    found = found or literal(path)
stamp = 0
for d in folders:
    for sub in (("srt", "server_args.py"), ("__init__.py",)):
        path = os.path.join(d, *sub)
        if os.path.exists(path):
            stamp = max(stamp, int(os.stat(path).st_mtime))
sys.stdout.write("\n" + json.dumps({"version": found, "folders": folders, "stamp": stamp}) + "\n")
"""


def ask_engine(site: Site, name: str) -> dict[str, Any]:
    """Answer version, folders and the time of the engine's sources, as the launch's interpreter has them."""
    python = launch_python(site)
    env = launch_env(site, site.env, {})
    script = VERSION_SCRIPT.replace("NAME", name)
    _, out, err = run_command([python, "-c", script], 50.0, env=env)
    lines = [line for line in out.decode("utf-8", "replace").splitlines() if line.startswith('{"version"')]
    answer: dict[str, Any] = {"version": None, "folders": [], "stamp": 0}
    with suppress(ValueError, IndexError):
        answer = json.loads(lines[-1])
    said = err.decode("utf-8", "replace").strip().splitlines()
    return dict(answer, python=python, error="" if lines else (said or ["no answer"])[-1])


def ask_interpreters(site: Site, name: str) -> list[dict[str, Any]]:
    """Answer the Pythons that have the engine, told from the files in their folders."""
    on_path = [os.path.join(p, "python3") for p in login_env().get("PATH", "").split(os.pathsep) if p]
    candidates = [expand(site.python), *on_path, *(p for place in PLACES for p in sorted(glob.glob(expand(place))))]
    found: dict[str, dict[str, Any]] = {}
    for path in candidates:
        if os.path.isabs(path) and os.access(path, os.X_OK):
            prefix = prefix_of(path)
            for version in installed(prefix, name)[:1]:
                found.setdefault(prefix, {"path": path, "version": version})
    return list(found.values())


def prefix_of(python: str) -> str:
    """Return the folder that an interpreter's packages are under: a venv's own, else that of the real program."""
    prefix = os.path.dirname(os.path.dirname(os.path.abspath(python)))
    if os.path.exists(os.path.join(prefix, "pyvenv.cfg")):
        return prefix
    return os.path.dirname(os.path.dirname(os.path.realpath(python)))


def installed(prefix: str, name: str) -> list[str | None]:
    """Return the versions of a package below a prefix; [None] where it is there without one."""
    folders = [
        f for kind in ("site", "dist") for f in glob.glob(os.path.join(prefix, "lib*/python3*", kind + "-packages"))
    ]
    if prefix in {"/usr", "/usr/local"}:
        folders += glob.glob("/usr/local/lib/python3*/dist-packages") + glob.glob("/usr/lib/python3/dist-packages")
        folders += glob.glob(os.path.expanduser("~/.local/lib/python3*/site-packages"))
    versions: list[str | None] = []
    for folder in folders:
        for info in glob.glob(os.path.join(folder, f"{name}-*.dist-info")):
            found = re.search(r"(?m)^Version: (\S+)", read_text(os.path.join(info, "METADATA"), 4096))
            versions.append(found.group(1) if found else None)
        if os.path.isdir(os.path.join(folder, name)):
            versions.append(None)
    return versions
