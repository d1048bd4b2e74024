"""Secret values that a server prints itself, blackened in its log without moving a byte."""

from collections.abc import Iterable


class Blackout:
    """Blackens `values` in bytes that arrive in pieces; what comes out is as long as what went in.

    Values shorter than six characters are left: they would hide ordinary words.
    """

    def __init__(self, values: Iterable[str]) -> None:
        self._values = sorted((v.encode() for v in values if len(v) >= 6), key=len, reverse=True)
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return what may be stored now; an end that may become a secret is held back until more has come."""
        if not self._values or not data:
            return data
        data = self._held + data
        for value in self._values:
            data = data.replace(value, b"*" * len(value))
        keep = len(data) - max(_begun(data, value) for value in self._values)
        self._held = data[keep:]
        return data[:keep]


def _begun(data: bytes, value: bytes) -> int:
    """Return how many bytes at the end of `data` are a beginning of `value`."""
    return next((n for n in range(min(len(value) - 1, len(data)), 0, -1) if data.endswith(value[:n])), 0)
