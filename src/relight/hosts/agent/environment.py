"""The environment of a launch: that of a login, the settings, and what relight adds."""

from __future__ import annotations

import json
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Mapping

from relight.hosts.agent.folders import Refused, Site, expand

LOGIN_PATIENCE = 10.0
DROPPED = ("SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "SSH_AUTH_SOCK", "PWD", "OLDPWD", "SHLVL", "_")
ADDED = {
    "SPT_NOENV": "1",
    "PYTHONUNBUFFERED": "1",
    "SGLANG_PYSPY_DUMP_BEFORE_CRASH": "0",
    "SGLANG_CUDA_COREDUMP_BEFORE_CRASH": "0",
}
LOGIN: dict[str, dict[str, str]] = {}  # the login shell is asked once per channel: it may cost a second
LOGIN_GUARD = threading.Lock()


def login_shell() -> str:
    """Return the login shell of this user."""
    try:
        return pwd.getpwuid(os.getuid()).pw_shell or "/bin/sh"
    except KeyError:  # in a container the user may be a number that nobody gave a name
        return os.environ.get("SHELL") or "/bin/sh"


def login_env() -> dict[str, str]:
    """Return the environment that a login of this user gets; our own where its shell does not say."""
    with LOGIN_GUARD:
        if "" not in LOGIN:
            LOGIN[""] = ask_login_shell(login_shell()) or dict(os.environ)
        found = LOGIN[""]
    return {k: v for k, v in found.items() if k not in DROPPED and not k.startswith("RELIGHT_")}


def ask_login_shell(shell: str) -> dict[str, str] | None:
    """Return what `shell` has in its environment as a login shell, None where it cannot be had in time."""
    mark = secrets.token_hex(8)
    code = f'import json,os;print("{mark}"+json.dumps(dict(os.environ))+"{mark}")'
    line = f"{quoted(sys.executable)} -E -S -c '{code}'"
    try:
        # A leading dash makes any shell a login shell; csh knows no other way together with -c.
        child = subprocess.Popen(
            ["-" + os.path.basename(shell), "-c", line],
            executable=shell,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=os.path.expanduser("~") if os.path.isdir(os.path.expanduser("~")) else "/",
        )
    except OSError:
        return None
    parts = finish(child, b"", LOGIN_PATIENCE)[1].decode("ascii", "replace").split(mark)
    return json.loads(parts[1]) if len(parts) == 3 else None


def quoted(word: str) -> str:
    """Quote a word for any shell; csh is why a word with "!" or a newline is refused."""
    if "!" in word or "\n" in word:
        raise Refused(f"cannot be written on a shell's line: {word!r}")
    return "'" + word.replace("'", "'\\''") + "'"


def finish(child: subprocess.Popen[bytes], stdin: bytes, patience: float) -> tuple[int | None, bytes, bytes]:
    """Wait for a child, then kill its session. A child that will not die (D state) is left behind, not waited for."""
    try:
        out, err = child.communicate(stdin, timeout=patience)
    except subprocess.TimeoutExpired:
        kill_session(child)
        with suppress(subprocess.TimeoutExpired):
            out, err = child.communicate(timeout=1.0)
            return None, out or b"", err or b""
        return None, b"", b""
    return child.returncode, out or b"", err or b""


def kill_session(child: subprocess.Popen[bytes]) -> None:
    """End a child and what it started in its session."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def run_command(
    argv: list[str], patience: float, env: Mapping[str, str] | None = None, stdin: bytes = b"", cwd: str = "/"
) -> tuple[int | None, bytes, bytes]:
    """Run a command to its end: code (None: out of time), stdout, stderr. Refused where it cannot be started."""
    try:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    except OSError as error:
        raise Refused(f"cannot run {argv[0]}: {error.strerror}") from error
    return finish(child, stdin, patience)


def tool(name: str, python: str = "") -> str | None:
    """Return the path of a program, looked for where a launch finds it, in a session's PATH, and in the usual folders.

    A launch's PATH begins with the folder of `python`.
    """
    own = os.path.dirname(expand(python)) if python else ""
    usual = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/wsl/lib"
    return shutil.which(
        name, path=os.pathsep.join(filter(None, [own, login_env().get("PATH"), os.environ.get("PATH"), usual]))
    )


def launch_python(site: Site) -> str:
    """Return the interpreter of a launch as an absolute path, links in it kept: a venv is known by its link."""
    name = expand(site.python)
    if os.path.dirname(name):
        path = os.path.abspath(name)
        found = path if os.access(path, os.X_OK) and os.path.isfile(path) else None
    else:
        found = shutil.which(name, path=login_env().get("PATH", os.defpath))
    if not found:
        raise Refused(f"no interpreter at {site.python}; set python to the one that has the engine")
    return found


def launch_env(site: Site, env: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a launch: a login's, what relight adds, the settings, `extra`."""
    base = login_env()
    whole = dict(base, **ADDED)
    whole.update(env)
    if "PATH" not in env:
        whole["PATH"] = launch_path(launch_python(site), base.get("PATH", ""), whole.get("CUDA_HOME", ""))
    if site.gpus is not None:
        whole["CUDA_VISIBLE_DEVICES"] = ",".join(str(n) for n in site.gpus)
    whole["RELIGHT_WORKDIR"] = site.workdir
    whole.update(extra)
    return whole


def launch_path(python: str, login_path: str, cuda_home: str) -> str:
    """Return PATH: the interpreter's folder, a login's PATH, CUDA_HOME/bin."""
    parts = [os.path.dirname(python), *login_path.split(os.pathsep)]
    if cuda_home:
        parts.append(os.path.join(cuda_home, "bin"))
    return os.pathsep.join(dict.fromkeys(p for p in parts if p))
