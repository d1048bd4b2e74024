"""A log whose lines were cut is read as if they were whole: by a terminal, a chat, or what collected it."""

import textwrap
from collections.abc import Callable
from itertools import pairwise

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.logs.lines import split
from relight.words.diagnosis import Cause, Diagnosis, Traceback

KNOWLEDGE = load_knowledge()
SITE = "/data/jobs/serving-cluster-07/envs/production/lib/python3.12/site-packages/sglang/srt"
AT = "[2026-11-30 10:00:00 TP3 EP3]"
STARTING = [
    f"{AT} Load weight begin. avail mem=94.11 GB",
    f"{AT} Scheduler hit an exception: Traceback (most recent call last):",
    f'  File "{SITE}/managers/scheduler.py", line 4021, in run_scheduler_process',
    "    scheduler = Scheduler(server_args, port_args, gpu_id, tp_rank, moe_ep_rank, pp_rank, dp_rank, pipe_writer)",
    "                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    f'  File "{SITE}/layers/moe/fused_moe_triton/fused_moe_triton_kernels.py", line 12, in invoke_fused_moe_kernel',
    "    fused_moe_kernel[grid](a, a_scale, b, b_scale, bias, c, sorted_token_ids, expert_ids, num_tokens_post_padded)",
]
ERRORS = [
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 94.97 GiB of"
    " which 1.12 GiB is free. Of the allocated memory 91.02 GiB is allocated by PyTorch, with 1.20 GiB in pools.",
    "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    "ValueError: The output_size of gate and up = 192 is not divisible by weight quantization block_n = 128.",
    "AssertionError",
]
ENDING = ["[2026-11-30 10:00:02] Received sigquit from a child process. It usually means the child failed."]
Cut = Callable[[str, int], list[str]]


def at_a_column(line: str, width: int) -> list[str]:
    return [line[i : i + width] for i in range(0, len(line), width)] or [""]


def without_the_blank(line: str, width: int) -> list[str]:
    return [part.rstrip() for part in at_a_column(line, width)]


def at_a_blank(line: str, width: int) -> list[str]:
    return textwrap.wrap(line, width, drop_whitespace=False, break_on_hyphens=False) or [""]


def at_a_blank_that_is_lost(line: str, width: int) -> list[str]:
    first, *more = [part.rstrip() for part in at_a_blank(line, width)]
    return [first, *(part.lstrip() for part in more)]


def with_the_indentation_again(line: str, width: int) -> list[str]:
    inner = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(line.strip(), width, initial_indent=inner, subsequent_indent=inner, break_on_hyphens=False)


def with_a_prefix_on_each_row(line: str, width: int) -> list[str]:
    return [f"server-1  | {part}" for part in at_a_column(line, width - 12)]


CUTS = (
    at_a_column, without_the_blank, at_a_blank, at_a_blank_that_is_lost, with_the_indentation_again,
    with_a_prefix_on_each_row,
)  # fmt: skip


def read(rows: list[str]) -> Diagnosis:
    return diagnose(split(["\n".join(rows).encode()]), KNOWLEDGE, name="log")


def failed(rows: list[str]) -> tuple[Cause, Traceback]:
    found = read(rows)
    assert found.cause is not None
    assert found.traceback is not None
    return found.cause, found.traceback


def cut(lines: list[str], how: Cut, width: int) -> list[str]:
    return [row for line in lines for row in how(line, width)]


@pytest.mark.parametrize("width", [72, 80, 100, 120])
@pytest.mark.parametrize("how", CUTS)
@pytest.mark.parametrize("error", ERRORS)
def test_a_traceback_that_was_cut_is_read_as_one(error: str, how: Cut, width: int) -> None:
    whole, frames = failed([*STARTING, error, *ENDING])

    cause, traceback = failed(cut([*STARTING, error, *ENDING], how, width))

    assert cause.kind == whole.kind
    assert traceback.type == frames.type
    assert traceback.message == frames.message
    assert [(f.file, f.line, f.function) for f in traceback.frames] == [
        (f.file, f.line, f.function) for f in frames.frames
    ]


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("how", CUTS)
def test_the_line_of_the_cause_is_the_row_it_begins_in(how: Cut, width: int) -> None:
    rows = cut([*STARTING, ERRORS[0], *ENDING], how, width)

    cause, _ = failed(rows)

    assert "torch.OutOfMemoryError: CUDA" in rows[(cause.line or 0) - 1]


@pytest.mark.parametrize("width", [80, 100])
def test_only_a_name_that_was_cut_shows_that_a_log_was(width: int) -> None:
    frame = f'  File "/opt/{"x" * (width - 41)}/loader.py", line 12, in load_weights'
    rows = [
        AT + " Traceback (most recent call last):",
        frame[:width],
        frame[width:],
        "    load(x)",
        "ValueError: no such",
    ]

    _, traceback = failed(rows)

    assert len(frame) > width
    assert [f.function for f in traceback.frames] == ["load_weights"]
    assert traceback.type == "ValueError"


def test_a_header_cut_in_two_begins_its_traceback() -> None:
    rows = [f"{AT} Scheduler hit an exception: Traceback (most", "recent call last):", *STARTING[2:], ERRORS[1]]

    cause, traceback = failed(rows)

    assert cause.kind == "kernel.no_image"
    assert len(traceback.frames) == 2


def test_rows_of_a_whole_log_that_are_as_wide_as_each_other_stay_apart() -> None:
    wide = "    value = compute(first_argument_of_the_call, second_argument_of_the_call, 3)"
    frames = [f'  File "/opt/engine/sglang/srt/models/layer_{i}.py", line 1{i}, in forward_layer' for i in range(4)]
    rows = [STARTING[1], *(line for frame in frames for line in (frame, wide)), "KeyError: 'x'", "next line of its own"]

    _, traceback = failed(rows)

    assert [f.text for f in traceback.frames] == [wide.strip()] * 4
    assert traceback.type == "KeyError"


def test_a_syntax_error_names_its_file_without_a_function() -> None:
    rows = [
        "Traceback (most recent call last):",
        f'  File "{SITE}/launch_server.py", line 3, in <module>',
        "    import own_plugin",
        '  File "/opt/plugins/own_plugin.py", line 7',
        "    def f(:",
        "          ^",
        "SyntaxError: invalid syntax",
    ]

    cause, traceback = failed(rows)

    assert cause.line == 7
    assert traceback.type == "SyntaxError"


def test_a_message_of_several_rows_without_a_traceback_is_read_as_one() -> None:
    text = (
        "[rank3]:[E1130 10:00:00.527571405 ProcessGroupNCCL.cpp:1595] [PG ID 2 Rank 3] Process group watchdog "
        "thread terminated with exception: [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=32)"
    )

    for width in (80, 100):
        cause = read([f"{AT} Init torch distributed begin.", *at_a_blank_that_is_lost(text, width)]).cause

        assert cause is not None
        assert cause.kind == "comm.timeout"
        assert cause.line in {2, 3}


def test_numbers_of_lines_grow_through_a_log_that_was_cut() -> None:
    found = read(cut([*STARTING, ERRORS[0], *ENDING] * 3, at_a_column, 80))

    assert all(a.line < b.line for a, b in pairwise(found.evidence))
