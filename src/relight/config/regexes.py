"""What is known of regexes, kept from run to run: that they compile, and the literals in them.

To look at some thousand regexes takes longer than to read most logs. It is kept by the text of each regex, in one file
of the user's cache folder that belongs to this interpreter and this way of looking; a file that cannot be read or
written is done without.
"""

import hashlib
import json
import os
import platform
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from relight.config import literals as looking
from relight.config.literals import Choice, literals


@dataclass
class Regexes:
    """Regexes that compile, with their literals; `used` are those that this run asked for."""

    known: dict[str, Choice] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    fresh: bool = False

    def literals(self, regex: str) -> Choice:
        """Return what `relight.config.literals` finds in a regex. re.error where it does not compile."""
        if regex not in self.known:
            re.compile(regex)
            self.known[regex] = literals(regex)
            self.fresh = True
        self.used.add(regex)
        return self.known[regex]

    def wrong(self, regex: str) -> str:
        """Return what is wrong with a regex, empty when nothing is."""
        try:
            self.literals(regex)
        except re.error as error:
            return str(error)
        return ""


def remembered() -> Regexes:
    """Return what earlier runs found out."""
    with suppress(OSError, ValueError):
        table = json.loads(_file().read_text(encoding="utf-8"))
        if isinstance(table, dict) and all(isinstance(texts, list) for texts in table.values()):
            return Regexes({regex: frozenset(map(str, texts)) for regex, texts in table.items()})
    return Regexes()


def remember(regexes: Regexes) -> None:
    """Keep what this run found out, where it found out anything."""
    if not regexes.fresh:
        return
    file = _file()
    text = json.dumps({regex: sorted(regexes.known[regex]) for regex in sorted(regexes.used)})
    part = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    with suppress(OSError):
        part.unlink(missing_ok=True)


def _file() -> Path:
    from platformdirs import user_cache_path  # noqa: PLC0415  not needed for --help

    way = hashlib.sha256(Path(looking.__file__).read_bytes()).hexdigest()[:12]
    return user_cache_path("relight") / f"regexes-{platform.python_version()}-{way}.json"
