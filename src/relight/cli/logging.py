"""The log of relight itself: JSON lines, redacted, to relight.log in the run folder; with -v to stderr."""

import sys
from collections.abc import MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from relight.cli.output import say
from relight.journal.files import open_append
from relight.words.text import shown

_open: dict[str, Any] = {"folder": None, "file": None}


def run_folder() -> Path | None:
    """Return the folder of the run this process works on, None where there is none."""
    folder: Path | None = _open["folder"]
    return folder


def start(folder: Path | None, *, verbose: int = 0) -> None:
    """Send log lines to `folder`/relight.log, and with `verbose` to stderr."""
    import structlog  # noqa: PLC0415  not needed for --help

    _open["folder"] = folder
    streams: list[IO[str]] = [sys.stderr] if verbose else []
    if folder:
        _open["file"] = open_append(folder / "relight.log")
        streams.append(_open["file"])
    structlog.configure(
        processors=[
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.add_log_level,
            redact,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=lambda *_: Lines(streams),
        cache_logger_on_first_use=False,
    )


def stop() -> None:
    """Close relight.log; the folder stays known, for a bug that shows after this."""
    if _open["file"]:
        with suppress(OSError):  # what a full disk would not take was said when it came
            _open["file"].close()
    _open["file"] = None


def redact(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Take control sequences and what is named or shaped like a secret out of every field."""
    return dict(shown(dict(event)))


class Lines:
    """Write each log line to every stream, at once. A stream that takes no more is left, and that is said."""

    def __init__(self, streams: list[IO[str]]) -> None:
        self._streams = streams

    def msg(self, message: str) -> None:
        """Write one line."""
        for stream in tuple(self._streams):
            try:
                stream.write(message + "\n")
                stream.flush()
            except OSError as error:
                self._streams.remove(stream)
                say(f"relight: its own log ends here: {error.strerror}; the run goes on", err=True)

    log = debug = info = warning = error = critical = msg
