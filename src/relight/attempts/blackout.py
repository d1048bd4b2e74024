"""Secrets that a server prints itself, blackened in its log without moving a byte."""

from collections.abc import Iterable

from relight.journal.redact import written
from relight.words.text import blackened

LONGEST = 64 << 10
"""Bytes of an unfinished line that are looked at again when more of it comes."""
HINTS = (
    b"key", b"passw", b"secret", b"credential", b"_token", b"-token", b"hf_", b"sk-", b"gho_", b"ghp_", b"ghu_",
    b"ghs_", b"ghr_", b"akia", b"bearer", b"://",
)  # fmt: skip
"""One of these is in every line with something shaped like a secret."""


class Blackout:
    """Blackens `values`, and what is named or shaped like a secret, in bytes that arrive in pieces.

    What comes out is as long as what went in. Values shorter than six characters are left: they would hide ordinary
    words. An end that may become a value, and a line that is not finished, are held back until more comes.
    """

    def __init__(self, values: Iterable[str]) -> None:
        self._values = tuple(value.encode() for value in written(values))
        self._held = b""
        self._line = b""
        self._given = 0

    def feed(self, data: bytes) -> bytes:
        """Return what may be stored now."""
        return self._whole_lines(self._without_values(data)) if data else data

    def rest(self) -> bytes:
        """Return the unfinished line: nothing more came for a while. What comes later is looked at together with it."""
        out = self._black(self._line)[self._given :]
        self._given = len(self._line)
        return out

    def end(self) -> bytes:
        """Return all that was held back: nothing more will come."""
        held, self._held = self._held, b""
        return self._whole_lines(held) + self.rest()

    def _without_values(self, data: bytes) -> bytes:
        data = self._held + data
        for value in self._values:
            data = data.replace(value, b"*" * len(value))
        keep = len(data) - max((_begun(data, value) for value in self._values), default=0)
        self._held = data[keep:]
        return data[:keep]

    def _whole_lines(self, data: bytes) -> bytes:
        data = self._line + data
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if len(data) - end > LONGEST:
            end = len(data)
        out = self._black(data[:end])[self._given :]
        self._given = max(0, self._given - end)
        self._line = data[end:]
        return out

    def _black(self, data: bytes) -> bytes:
        for value in self._values if self._given else ():
            data = data.replace(value, b"*" * len(value))
        return b"".join(_black_line(line) for line in data.splitlines(keepends=True)) if _hinted(data) else data


def _black_line(line: bytes) -> bytes:
    # A byte is a character here: what is not of ASCII is in no secret's name, and nothing may move.
    return blackened(line.decode("latin-1")).encode("latin-1") if _hinted(line) else line


def _hinted(data: bytes) -> bool:
    small = data.lower()
    return any(hint in small for hint in HINTS)


def _begun(data: bytes, value: bytes) -> int:
    """Return how many bytes at the end of `data` are a beginning of `value`."""
    return next((n for n in range(min(len(value) - 1, len(data)), 0, -1) if data.endswith(value[:n])), 0)
