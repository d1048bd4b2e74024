"""Secret values never reach the stored log, however its bytes arrive."""

from hypothesis import given
from hypothesis import strategies as st

from relight.attempts.blackout import Blackout

VALUES = ("sk-abcdef", "abcabcabd")


def fed(pieces: list[bytes]) -> bytes:
    black = Blackout(VALUES)
    return b"".join(map(black.feed, pieces))


def test_a_value_becomes_as_many_stars() -> None:
    assert fed([b"api_key='sk-abcdef', x\n"]) == b"api_key='*********', x\n"


def test_short_values_and_no_values_change_nothing() -> None:
    assert Blackout(["true"]).feed(b"it is true\n") == b"it is true\n"
    assert Blackout([]).feed(b"sk-") == b"sk-"


@given(st.lists(st.sampled_from([*VALUES, "abc", "sk-", "x"]), max_size=8), st.lists(st.integers(1, 5), max_size=30))
def test_however_the_bytes_are_cut_they_come_out_the_same(parts: list[str], cuts: list[int]) -> None:
    text = ("".join(parts) + "\n").encode()
    pieces, at = [], 0
    for cut in [*cuts, len(text)]:
        pieces.append(text[at : at + cut])
        at += cut

    out = fed(pieces)

    assert out == fed([text])
    assert len(out) == len(text)
    assert not any(value.encode() in out for value in VALUES)
