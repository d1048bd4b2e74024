"""Ranks that fail together write into one log, line by line, without a word about whose line it is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.logs.lines import split
from relight.words.diagnosis import Diagnosis

KNOWLEDGE = load_knowledge()
SITE = "/opt/venv/lib/python3.12/site-packages/sglang/srt"
HEADER = "Traceback (most recent call last):"
FRAMES = [
    f'  File "{SITE}/managers/scheduler.py", line 9, in run_scheduler_process',
    "    scheduler.run_event_loop()",
    f'  File "{SITE}/models/acme.py", line 12, in forward',
    "    return self.experts(x)",
    f'  File "{SITE}/layers/moe/topk.py", line 77, in select_experts',
    "    kernel(logits)",
]
ERROR = "RuntimeError: CUDA error: an illegal memory access was encountered"
PEER = [HEADER, *FRAMES[:2], "RuntimeError: [pair.cc:544] Connection closed by peer [peer]:45492"]
RANKS = 8


def prefixed(rank: int) -> str:
    return f"[2026-11-30 10:00:00 TP{rank}] Scheduler hit an exception: {HEADER}"


def bare(rank: int) -> str:  # noqa: ARG001  all alike
    return HEADER


def read(rows: list[str]) -> Diagnosis:
    return diagnose(split(["\n".join(rows).encode()]), KNOWLEDGE, name="log")


def functions(found: Diagnosis) -> list[str]:
    assert found.traceback is not None
    return [frame.function for frame in found.traceback.frames]


def in_turns(blocks: list[list[str]], turns: list[int]) -> list[str]:
    """Return the lines of all blocks, each block's in order: `turns` says whose line is next."""
    left = [list(block) for block in blocks]
    rows = [left[turn].pop(0) for turn in turns if left[turn]]
    return [*rows, *(row for block in left for row in block)]


@pytest.mark.parametrize("header", [prefixed, bare])
def test_ranks_that_write_line_by_line_have_a_traceback_each(header: type) -> None:
    blocks = [[header(rank), *FRAMES, ERROR] for rank in range(RANKS)]

    found = read(in_turns(blocks, list(range(RANKS)) * 8))

    assert found.cause is not None
    assert found.cause.kind == "kernel.illegal_access"
    assert found.cause.line == RANKS * 7 + 1
    assert functions(found) == ["run_scheduler_process", "forward", "select_experts"]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 3), min_size=8, max_size=32))
def test_however_ranks_take_turns_the_cause_is_theirs(turns: list[int]) -> None:
    blocks = [[prefixed(rank), *FRAMES, ERROR] for rank in range(4)]

    rows = in_turns(blocks, turns)
    found = read(rows)

    assert found.cause is not None
    assert found.cause.kind == "kernel.illegal_access"
    assert rows[(found.cause.line or 0) - 1] == ERROR
    assert len(functions(found)) <= 3


def test_a_rank_that_fails_by_itself_stands_out_among_those_that_lost_it() -> None:
    blocks = [[prefixed(0), *PEER[1:]], [prefixed(1), *FRAMES, ERROR], [prefixed(2), *PEER[1:]]]

    found = read(in_turns(blocks, [0, 1, 2] * 8))

    assert found.cause is not None
    assert found.cause.kind == "kernel.illegal_access"


def test_a_traceback_after_one_that_broke_off_keeps_its_frames() -> None:
    found = read([HEADER, *FRAMES[:4], f"Exception in thread writer: {HEADER}", FRAMES[0], *FRAMES[4:], ERROR])

    assert functions(found) == ["run_scheduler_process", "select_experts"]
