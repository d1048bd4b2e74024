"""The work folder on the host: where things are, and files written so that a reader never sees half of one."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import threading
import time
from contextlib import contextmanager
from typing import Any, Iterator, NamedTuple

PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}\Z")


class Refused(Exception):  # noqa: N818  the host's answer, not a fault of the agent
    """A question that cannot be answered; its text goes back as it is."""


class Site(NamedTuple):
    """What the agent was told when it was started."""

    workdir: str
    python: str
    env: dict[str, str]
    gpus: list[int] | None
    source: bytes


def expand(path: str) -> str:
    """Return `path` with `~` replaced by the host's home."""
    return os.path.expanduser(path)


def attempts_folder(site: Site) -> str:
    """Return the folder that holds the folders of all attempts."""
    return os.path.join(site.workdir, "attempts")


def attempt_folder(site: Site, attempt: str) -> str:
    """Return the folder of one attempt. Ids are plain names: they cannot lead out of the work folder."""
    return os.path.join(attempts_folder(site), plain_name(attempt))


def plain_name(name: str) -> str:
    """Return a name that is safe as one part of a path; Refused for any other."""
    if not PLAIN_NAME.match(name):
        raise Refused(f"not a plain name: {name!r}")
    return name


def make_private(path: str) -> str:
    """Make a folder that only its owner may enter, parents included."""
    parent = os.path.dirname(path)
    if parent and not os.path.isdir(parent):
        make_private(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        hint = "set workdir to a place that can be written"
        raise Refused(f"cannot make the folder {path}: {error.strerror}; {hint}") from error
    return path


def write_private(path: str, data: bytes) -> None:
    """Write a file of mode 0600 by rename, so that it is there whole or not at all."""
    part = f"{path}.{os.getpid()}.{threading.get_ident()}.part"
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(part, path)


def write_all(fd: int, data: bytes) -> None:
    """Write every byte."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_json(path: str, value: Any) -> None:
    """Write JSON by rename, mode 0600."""
    write_private(path, json.dumps(value).encode("ascii"))


def read_json(path: str) -> Any:
    """Return the JSON of a file, None where there is none or it is broken."""
    try:
        with open(path, "rb") as file:
            return json.loads(file.read().decode("ascii"))
    except (OSError, ValueError):
        return None


def read_text(path: str, limit: int = 1 << 20) -> str:
    """Return the text of a small file, "" where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(limit).decode("utf-8", "replace")
    except OSError:
        return ""


@contextmanager
def flocked(path: str, wait: float = 30.0) -> Iterator[None]:
    """Hold a file's lock; the kernel gives it back when the holder dies. Refused after `wait` seconds."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until = time.monotonic() + wait
        while not try_flock(fd):
            if time.monotonic() > until:
                raise Refused(f"{path} is held by another process for {wait:.0f} s")
            time.sleep(0.05)
        yield
    finally:
        os.close(fd)


def try_flock(fd: int) -> bool:
    """Take the lock of an open file, say whether it was free."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        return False
    return True


def is_flocked(path: str) -> bool:
    """Say whether some process holds the lock of this file."""
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return not try_flock(fd)
    finally:
        os.close(fd)


def remove_tree(path: str) -> None:
    """Delete a folder of ours as far as it can be; symbolic links are unlinked, never followed."""
    shutil.rmtree(path, ignore_errors=True)


def boot_id() -> str:
    """Return the id of this boot of the kernel."""
    return read_text("/proc/sys/kernel/random/boot_id").strip()
