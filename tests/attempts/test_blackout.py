"""Secrets never reach the stored log, however its bytes arrive; no byte moves."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relight.attempts.blackout import LONGEST, Blackout

VALUES = ("sk-abcdef", "abcabcabd")
SHAPED = ("hf_" + "a1B2" * 6, "sk-" + "x9" * 12, "ghp_" + "z" * 24, "AKIA" + "Q7" * 8)


def fed(pieces: list[bytes], values: tuple[str, ...] = VALUES) -> bytes:
    black = Blackout(values)
    return b"".join(map(black.feed, pieces)) + black.end()


def test_a_value_becomes_as_many_stars() -> None:
    assert fed([b"key='sk-abcdef', x\n"]) == b"key='*********', x\n"


def test_short_values_and_no_values_change_nothing() -> None:
    assert fed([b"it is true\n"], ("true",)) == b"it is true\n"
    assert fed([b"sk-"], ()) == b"sk-"


@pytest.mark.parametrize("value", ['pass"word\\x', "it's a key", "söcret-ключ", "a/b+c=d&e"])
def test_a_value_is_found_however_a_program_writes_it(value: str) -> None:
    for written in (value, json.dumps(value), repr(value)):
        assert value[-4:].encode() not in fed([f"config {written}\n".encode()], (value,))


@pytest.mark.parametrize("secret", SHAPED)
@pytest.mark.parametrize(
    "line", ["{}", "token {} given", "server_args=ServerArgs(x=1, api_key={}, y=2)", "http://u:{}@h/"]
)
def test_what_is_shaped_like_a_secret_becomes_as_many_stars_though_nobody_named_it(secret: str, line: str) -> None:
    text = f"before\n{line.format(secret)}\nafter\n".encode()

    out = fed([text], ())

    assert secret.encode() not in out
    assert len(out) == len(text)
    assert out.startswith(b"before\n")
    assert out.endswith(b"\nafter\n")


@pytest.mark.parametrize(
    "line",
    [
        b"Decode batch, #running-req: 1, #token: 17, token usage: 0.00, gen throughput (token/s): 91.5\n",
        b"max_total_num_tokens=1234, chunked_prefill_size=8192, tokenizer_path='x'\n",
        b"api_key=None, ssl_keyfile=None\n",
        b"\xff\xfe not text \x80\r50%|##   |\r100%|####|\n",
    ],
)
def test_ordinary_lines_stay_as_they_are(line: bytes) -> None:
    assert fed([line]) == line


def test_a_line_that_pauses_is_given_and_what_follows_is_still_looked_at_with_it() -> None:
    black = Blackout(())

    out = [black.feed(b"waiting for api_key="), black.rest(), black.feed(b"abcdefghij and more\n")]

    assert out == [b"", b"waiting for api_key=", b"********** and more\n"]


def test_a_line_without_end_is_not_held_for_ever() -> None:
    assert len(Blackout(()).feed(b"x" * (LONGEST + 1))) == LONGEST + 1


PARTS = st.lists(st.sampled_from([*VALUES, *SHAPED, "abc", "sk-", "x", " ", "\n", "api_key=", "\r"]), max_size=8)


@given(PARTS, st.lists(st.integers(1, 5), max_size=30), st.sets(st.integers(0, 30)))
def test_however_the_bytes_are_cut_they_come_out_the_same(parts: list[str], cuts: list[int], pauses: set[int]) -> None:
    text = "".join(parts).encode()
    pieces, at = [], 0
    for cut in [*cuts, len(text)]:
        pieces.append(text[at : at + cut])
        at += cut

    out = fed(pieces)

    assert out == fed([text])
    assert len(out) == len(text)
    assert not any(value.encode() in out for value in VALUES)
    paused = Blackout(VALUES)
    given = b"".join(paused.feed(p) + (paused.rest() if n in pauses else b"") for n, p in enumerate(pieces))
    assert len(given + paused.end()) == len(text)
    assert not any(value.encode() in given for value in VALUES)
