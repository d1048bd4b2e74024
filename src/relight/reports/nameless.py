"""What names a person or a machine, taken out of text that goes to others. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_HOME = re.compile(r"(?<![\w.~-])/(home|Users)/(?!\.)[^/\s:'\"\\,;)\]}]+")
_EVERYBODYS = {"", "local", "localhost", "lab", "simulated"}
_LOOPBACK = re.compile(r"127\.|0\.0\.0\.0$|::1?$")


@dataclass(frozen=True)
class Nameless:
    """What is to be told in other words: the operator's `home` as ~, other homes as nobody's, `machines` by number.

    `machines` maps each name and address of a host to the word that stands for it.
    """

    home: str = ""
    machines: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, text: str) -> str:
        """Return text that names nobody."""
        home = self.home.rstrip("/")
        text = text.replace(f"{home}/", "~/") if home else text
        text = _HOME.sub(r"/\1/somebody", text)
        known = sorted((name for name in self.machines if _names_one(name)), key=len, reverse=True)
        if not known:
            return text
        found = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, known))})(?![\w-]|\.\w)")
        return found.sub(lambda match: self.machines[match[0]], text)


def _names_one(name: str) -> bool:
    return name not in _EVERYBODYS and not _LOOPBACK.match(name)
