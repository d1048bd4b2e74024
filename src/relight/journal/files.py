"""Files that are written whole or not at all, readable by their owner only."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from relight.journal.codec import dumps
from relight.words.errors import BusyError

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def make_folder(path: Path) -> Path:
    """Make `path` and the folders above it, mode 0700 where they are new."""
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
    return path


def write_whole(path: Path, text: str) -> None:
    """Replace `path` by `text` in one step: a reader sees the old or the new file, also after a power cut."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with _private(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def write_json(path: Path, value: Any) -> None:
    """Replace `path` by the JSON of a word."""
    write_whole(path, dumps(value, indent=1) + "\n")


def read_json(path: Path) -> Any:
    """Return the data of a JSON file, None where it is missing or is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None


def open_append(path: Path) -> IO[str]:
    """Open `path` for appending, mode 0600 where it is new."""
    return _private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def append_line(file: IO[str], text: str) -> None:
    """Append a line, on disk when this returns; where there is no room, none of it stays."""
    descriptor, data = file.fileno(), f"{text}\n".encode()
    before = os.fstat(descriptor).st_size
    try:
        while data:
            data = data[os.write(descriptor, data) :]
        os.fsync(descriptor)
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, before)
        raise


def is_held(path: Path) -> bool:
    """Say whether a process holds the lock file `path`."""
    try:
        with path.open("r") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def _private(path: Path, flags: int) -> IO[str]:
    return os.fdopen(os.open(path, flags, FILE_MODE), "w", encoding="utf-8")


@contextmanager
def locked(path: Path, *, wait: bool, what: str) -> Iterator[None]:
    """Hold the lock file `path`. BusyError naming `what` where another process holds it and `wait` is not set."""
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE), "r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            text = f"another relight (pid {file.read().strip() or 'unknown'}) works on {what}"
            raise BusyError(text, place=str(path.parent), next="wait for it, or end it with Ctrl-C") from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
