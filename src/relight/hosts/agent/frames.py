"""Frames on a channel: two lengths, a JSON head, raw bytes. Used by both ends."""

from __future__ import annotations

import json
import struct
from typing import Any, Callable

LENGTHS = struct.Struct(">II")
FRAME_LIMIT = 64 << 20


class FrameError(ValueError):
    """Bytes that are no frame: the channel cannot be used any longer."""


def pack_frame(head: dict[str, Any], blob: bytes = b"") -> bytes:
    """Return the bytes of one frame."""
    text = json.dumps(head, separators=(",", ":")).encode("ascii")
    return LENGTHS.pack(len(text), len(blob)) + text + blob


def read_frame(read: Callable[[int], bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Return the next frame from a blocking `read(n)`; None at the end of the stream."""
    lengths = read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    head_size, blob_size = LENGTHS.unpack(lengths)
    head, blob = read(head_size), read(blob_size)
    if len(head) < head_size or len(blob) < blob_size:
        return None
    return json.loads(head.decode("ascii")), blob


class FrameBuffer:
    """Bytes in, frames out; whatever comes before `marker` is skipped (banners, noise of a login shell)."""

    def __init__(self, marker: bytes) -> None:
        self._marker = marker
        self._data = bytearray()
        self.started = False

    @property
    def noise(self) -> bytes:
        """What came before the marker, while that was not seen."""
        return b"" if self.started else bytes(self._data)

    def feed(self, data: bytes) -> list[tuple[dict[str, Any], bytes]]:
        """Take bytes, return the frames they complete. Raises FrameError."""
        self._data += data
        if not self.started and not self._skip_noise():
            return []
        frames: list[tuple[dict[str, Any], bytes]] = []
        while True:
            frame = self._take()
            if frame is None:
                return frames
            frames.append(frame)

    def _skip_noise(self) -> bool:
        at = self._data.find(self._marker)
        if at < 0:
            return False
        del self._data[: at + len(self._marker)]
        self.started = True
        return True

    def _take(self) -> tuple[dict[str, Any], bytes] | None:
        if len(self._data) < LENGTHS.size:
            return None
        head_size, blob_size = LENGTHS.unpack_from(self._data)
        if head_size + blob_size > FRAME_LIMIT:
            raise FrameError(f"a frame of {head_size + blob_size} bytes")
        end = LENGTHS.size + head_size + blob_size
        if len(self._data) < end:
            return None
        head = bytes(self._data[LENGTHS.size : LENGTHS.size + head_size])
        blob = bytes(self._data[LENGTHS.size + head_size : end])
        del self._data[:end]
        try:
            return json.loads(head.decode("ascii")), blob
        except ValueError as error:
            raise FrameError("a frame with a broken head") from error
