"""What goes into the archive of a run: names and bytes, redacted. Writing it is not done here."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

import zstandard

from relight.reports import html, issue, text
from relight.reports.nameless import Nameless
from relight.reports.world import facts
from relight.words.attempt import Record
from relight.words.text import redacted, shown

NOBODY = Nameless()
_LEVEL = 10


@dataclass(frozen=True)
class Member:
    """One file of the archive; `name` is relative, below one folder named after the run."""

    name: str
    data: bytes


def members(
    record: Record,
    *,
    encode: Callable[[Record], str],
    playbook: str = "",
    events: Iterable[str] = (),
    logs: Mapping[str, Iterable[bytes]] | None = None,
    nameless: Nameless = NOBODY,
) -> Iterator[Member]:
    """Yield the files of an archive one by one, logs last.

    `encode` turns a record into JSON, `events` are the lines of its journal, `logs` the lines of each log by the name
    it has in the record; `nameless` takes out what names a person or a machine. Each log is compressed (zstd) line by
    line; only its compressed form is held.
    """
    folder = f"relight-{_safe(record.run)}"
    hidden = shown(record)
    told = {
        "record.json": encode(hidden),
        "report.txt": text.render(record),
        "report.html": html.render(record),
        "issue.md": issue.render(record),
        "environment.json": json.dumps(dict(facts(hidden)), indent=2) + "\n",
        "playbook.toml": redacted(playbook),
        "events.jsonl": "".join(redacted(line.rstrip("\n")) + "\n" for line in events),
    }
    for name, content in told.items():
        if content.strip():
            yield Member(f"{folder}/{name}", nameless(content).encode("utf-8", "replace"))
    for name, lines in (logs or {}).items():
        yield Member(f"{folder}/logs/{_safe(name)}.zst", compressed(lines, nameless))


def _safe(name: str) -> str:
    """Return a name that stays below the folder it is put in."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in {"/", "..", "."}]
    return "-".join(parts).replace(":", "-") or "unnamed"


def compressed(lines: Iterable[bytes], nameless: Nameless = NOBODY) -> bytes:
    """Return the lines of a log, redacted and compressed; bytes that are no UTF-8 are kept as they are."""
    squeeze = zstandard.ZstdCompressor(level=_LEVEL).compressobj()
    parts = [squeeze.compress(_redacted(line, nameless)) for line in lines]
    return b"".join([*parts, squeeze.flush()])


def _redacted(line: bytes, nameless: Nameless) -> bytes:
    return nameless(redacted(line.decode("utf-8", "surrogateescape"))).encode("utf-8", "surrogateescape")
