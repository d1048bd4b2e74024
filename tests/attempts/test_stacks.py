"""Stacks of hung ranks."""

from relight.attempts.stacks import common, frames, place, waits

DUMP = """Process 812: sglang::scheduler_TP0
Python v3.12.3 (/opt/e/bin/python3.12)

Thread 812 (idle): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:2810)
    _warmup (sglang/srt/model_executor/model_runner.py:{line})
    run_scheduler_process (sglang/srt/managers/scheduler.py:3012)
Thread 977 (active): "watchdog"
    wait (threading.py:359)
"""


def test_the_main_thread_is_read_innermost_first() -> None:
    assert frames(DUMP.format(line=7))[:2] == (
        "all_reduce (torch/distributed/distributed_c10d.py:2810)",
        "_warmup (sglang/srt/model_executor/model_runner.py:7)",
    )


def test_ranks_in_different_lines_of_one_function_have_their_callers_in_common() -> None:
    stacks = [frames(DUMP.format(line=n).replace("all_reduce", f"call_{n}")) for n in (7, 8)]

    assert common(stacks) == "run_scheduler_process (sglang/srt/managers/scheduler.py:3012)"


def test_without_a_sampler_the_kernel_says_where_all_ranks_sleep() -> None:
    text = "/proc/7/wchan:futex_wait_queue\n/proc/7/status:Name:\tpython\n/proc/8/wchan:futex_wait_queue\n"

    assert waits(text) == {7: "futex_wait_queue", 8: "futex_wait_queue"}
    assert place((), waits(text)) == "the kernel's futex_wait_queue"


def test_ranks_that_sleep_in_different_places_have_none_in_common() -> None:
    assert place((), {7: "futex_wait_queue", 8: "do_poll"}) == ""
    assert common([]) == ""


def test_a_running_process_sleeps_nowhere() -> None:
    assert waits("/proc/7/wchan:0\n") == {}
