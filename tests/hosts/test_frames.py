"""Frames survive any way of cutting the bytes, and any noise before them."""

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relight.hosts.agent.frames import FrameBuffer, FrameError, pack_frame, read_frame

FRAMES: list[tuple[dict[str, Any], bytes]] = [({"id": 1}, b""), ({"text": "äöü\n"}, b"\x00\xff" * 50), ({}, b"x")]
STREAM = b"".join(pack_frame(head, blob) for head, blob in FRAMES)


@given(st.lists(st.integers(1, 40), min_size=1), st.binary(max_size=50))
def test_frames_come_out_whole_however_the_bytes_are_cut(sizes: list[int], noise: bytes) -> None:
    marker = b"0123456789abcdef"
    data = noise.replace(marker, b"") + marker + STREAM
    buffer = FrameBuffer(marker)

    found = []
    while data:
        size = sizes[len(data) % len(sizes)]
        found += buffer.feed(data[:size])
        data = data[size:]

    assert found == FRAMES


def test_a_banner_before_the_marker_is_kept_as_noise_until_the_marker_comes() -> None:
    buffer = FrameBuffer(b"MARK")

    buffer.feed(b"Welcome to the box\n")

    assert buffer.noise == b"Welcome to the box\n"
    buffer.feed(b"MARK")
    assert buffer.noise == b""


def test_a_frame_of_absurd_size_is_refused_instead_of_awaited() -> None:
    with pytest.raises(FrameError, match="bytes"):
        FrameBuffer(b"").feed(b"\xff" * 16)


def test_a_broken_head_is_an_error_of_the_channel() -> None:
    with pytest.raises(FrameError, match="head"):
        FrameBuffer(b"").feed(b"\0\0\0\4\0\0\0\0{{{{")


def test_a_blocking_reader_gets_the_same_frames_and_the_end() -> None:
    stream = io.BytesIO(STREAM)

    found = [read_frame(stream.read) for _ in range(4)]

    assert found == [*FRAMES, None]


def test_a_stream_cut_within_a_frame_has_ended() -> None:
    assert read_frame(io.BytesIO(STREAM[:5]).read) is None
    assert read_frame(io.BytesIO(STREAM[:10]).read) is None
