"""Root against cascade, and the traps."""

from hypothesis import given, settings
from hypothesis import strategies as st

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.logs.lines import Line, LineSplitter, split
from relight.words.diagnosis import Cause, Diagnosis

KNOWLEDGE = load_knowledge()
AT = "[2026-03-01 10:00:00"
SIGQUIT = f"{AT}] Received sigquit from a child process. It usually means the child failed."
OOM = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 94.97 GiB of which 0.70 GiB is free."
)


def read(*lines: str) -> Diagnosis:
    return diagnose(split(["\n".join(lines).encode() + b"\n"]), KNOWLEDGE, name="log")


def cause(*lines: str) -> Cause:
    found = read(*lines).cause
    assert found is not None
    return found


def crash(rank: str, error: str, file: str = "managers/scheduler.py", function: str = "run_batch") -> list[str]:
    return [
        f"{AT}{rank}] Scheduler hit an exception: Traceback (most recent call last):",
        f'  File "/opt/venv/lib/python3.11/site-packages/sglang/srt/{file}", line 90, in {function}',
        "    step()",
        error,
        "",
    ]


def test_a_cascade_line_before_the_guilty_traceback_is_not_the_cause() -> None:
    found = cause(SIGQUIT, *crash(" TP0", "RuntimeError: CUDA error: an illegal memory access was encountered"))

    assert (found.kind, found.line) == ("kernel.illegal_access", 5)


def test_killed_after_sigquit_is_only_a_consequence() -> None:
    found = cause(*crash("", "ValueError: Detected errors during sampling! NaN in the logits."), SIGQUIT, "Killed")

    assert found.kind == "numerics.nan"


def test_only_a_peer_s_death_is_said_to_be_that() -> None:
    assert cause(SIGQUIT, "Killed").kind == "comm.peer_died"


def test_an_exit_code_minus_nine_without_a_reason_is_process_killed() -> None:
    assert cause(f"{AT}] Rank 3 scheduler is dead. Exit code: -9", SIGQUIT).kind == "process.killed"


def test_memory_wrapped_by_the_capture_s_message_goes_down() -> None:
    found = read(f"Exception: Capture cuda graph failed: {OOM}", "Possible solutions:", "1. set --mem-fraction-static")

    assert found.cause is not None
    assert found.cause.kind == "oom.gpu.graph_capture"
    assert found.cause.facts["asked_gib"] == 2.0


def test_the_fraction_goes_up_when_the_pool_does_not_fit() -> None:
    found = read(
        "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.3. "
        "Raise --mem-fraction-static above 0.331 (minimum viable = 1 - available/pre = 0.33)."
    )

    assert found.cause is not None
    assert found.cause.facts["above"] == 0.331
    assert found.repairs[0].origin == "memory"
    assert found.repairs[0].set == {"mem-fraction-static": 0.351}


def test_the_sums_bound_the_fraction_from_above_at_capture() -> None:
    found = read(
        f"{AT}] server_args=ServerArgs(model_path='m', mem_fraction_static=0.848)",
        f"{AT} TP0] Load weight begin. avail mem=94.60 GB",
        f"Exception: Capture cuda graph failed: {OOM}",
    )

    assert found.cause
    assert found.cause.facts["mem_fraction_high"] == 0.8269
    assert found.repairs[0].set == {"mem-fraction-static": 0.806}
    assert found.memory


def test_a_benign_warning_before_the_error_is_not_the_cause() -> None:
    warning = f"{AT} TP1] Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs."

    assert cause(warning, *crash("", f"torch.OutOfMemoryError: {OOM}")).kind == "oom.gpu.activation"


def test_shared_memory_raised_is_fatal_and_in_autotuning_is_not() -> None:
    text = "out of resource: shared memory, Required: 147456, Hardware limit: 101376"

    assert cause(f"triton.runtime.errors.OutOfResources: {text}").kind == "kernel.shared_memory"
    assert read("No valid triton configs. OutOfMemoryError: out of resource").verdict == "healthy"


def test_the_first_named_block_of_a_chain_is_the_cause() -> None:
    found = cause(
        "Traceback (most recent call last):",
        '  File "/x/sglang/srt/model_executor/cuda_graph_runner.py", line 1, in capture',
        "    go()",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "Traceback (most recent call last):",
        '  File "/x/sglang/srt/managers/scheduler.py", line 2, in run',
        "    stop()",
        "TypeError: nothing to stop",
    )

    assert (found.kind, found.line) == ("kernel.no_image", 4)


def test_an_exception_after_which_the_same_rank_goes_on_is_survived() -> None:
    found = read(*crash("", "ModuleNotFoundError: No module named 'extra'"), f"{AT}] Load weight begin. avail mem=9 GB")

    assert found.cause is None or found.cause.kind != "env.import"


def test_ready_and_nothing_wrong_is_healthy() -> None:
    assert read(f"{AT}] The server is fired up and ready to roll!").verdict == "healthy"


def test_an_empty_log_is_unknown() -> None:
    assert diagnose([], KNOWLEDGE, name="log").verdict == "unknown"


def test_a_refused_choice_names_the_nearest_allowed_one() -> None:
    found = read("launch_server.py: error: argument --dtype: invalid choice: 'float61' (choose from 'half', 'float16')")

    assert found.repairs[0].set == {"dtype": "float16"}
    assert found.cause is not None
    assert found.cause.facts["choices"] == ["half", "float16"]


def test_a_renamed_flag_is_given_its_new_name() -> None:
    line = "sglang serve: error: unrecognized arguments: --mamba-scheduler-strategy extra_buffer"
    argv = ["--mamba-scheduler-strategy", "extra_buffer"]

    found = diagnose(split([line.encode()]), KNOWLEDGE, name="log", argv=argv)

    assert found.repairs[0].set == {"mamba-radix-cache-strategy": "extra_buffer"}
    assert found.repairs[0].unset == ("mamba-scheduler-strategy",)


@given(st.permutations(range(4)), st.integers(1, 10**6), st.sampled_from(["/opt/a", "/home/u/b c"]))
@settings(max_examples=60, deadline=None)
def test_the_fingerprint_knows_no_rank_pid_size_or_path(order: list[int], pid: int, prefix: str) -> None:
    lines = [text for rank in order for text in crash(f" TP{rank}", f"KeyError: 'lost {pid}'")]
    varied = [text.replace("/opt/venv", prefix) for text in lines]

    assert cause(*varied).fingerprint == cause(*crash(" TP0", "KeyError: 'lost 7'")).fingerprint


@given(st.binary(max_size=400))
@settings(max_examples=150, deadline=None)
def test_nothing_raises(data: bytes) -> None:
    assert diagnose(split([data]), KNOWLEDGE, name="log").log == "log"


@given(st.lists(st.integers(1, 40), max_size=20))
@settings(max_examples=40, deadline=None)
def test_the_result_does_not_depend_on_how_bytes_are_cut(cuts: list[int]) -> None:
    data = "\n".join([SIGQUIT, *crash(" TP0", f"torch.OutOfMemoryError: {OOM}")]).encode()
    splitter, rest = LineSplitter(), data
    lines: list[Line] = []
    for cut in cuts:
        lines += splitter.feed(rest[:cut])
        rest = rest[cut:]
    lines += [*splitter.feed(rest), *splitter.close()]

    assert diagnose(lines, KNOWLEDGE, name="log") == diagnose(split([data]), KNOWLEDGE, name="log")


ENDED_INSIDE = (
    f"{AT} TP0] Decode batch. #running-req: 1",
    f"{AT} TP1] Scheduler hit an exception: Traceback (most recent call last):",
    '  File "/opt/venv/lib/python3.11/site-packages/sglang/srt/lora/acme.py", line 41, in run',
    "    self.moon(",
)


def test_a_log_that_ends_inside_an_error_shows_a_failure_where_the_error_begins() -> None:
    found = read(*ENDED_INSIDE)

    assert found.verdict == "failed"
    assert found.cause
    assert (found.cause.kind, found.cause.line) == ("unknown", 2)
    assert any("lora-backend" in r.names for r in found.repairs)


def test_an_error_that_a_later_line_ends_does_not_make_a_failure_of_a_healthy_log() -> None:
    assert read(*ENDED_INSIDE, f"{AT} TP0] Decode batch. #running-req: 1").verdict == "healthy"


def test_a_growing_log_that_stops_inside_an_error_waits_for_the_rest() -> None:
    lines = split(["\n".join(ENDED_INSIDE).encode() + b"\n"])

    assert diagnose(lines, KNOWLEDGE, name="log", running=True).verdict != "failed"


def test_a_start_that_ends_in_taking_host_memory_names_what_asked_for_it() -> None:
    found = read(
        f"{AT} TP0] Load weight begin.", f"{AT} TP0] Allocating 40.00 GB host memory for hierarchical KV cache."
    )

    assert found.cause
    assert found.cause.line == 2
    assert "hicache-size" in found.repairs[0].names


def test_a_panic_in_rust_is_a_failure() -> None:
    assert cause("thread 'actor' panicked at src/oak.rs:41:7:", "called `Option::unwrap()`").kind == "engine.bug"


def test_a_router_that_gives_a_server_up_says_that_it_died() -> None:
    log = "[Router (Rust)] 2026-03-01 10:00:00 - WARN - Removing failed worker: http://localhost:8001"

    assert cause(log).kind == "comm.peer_died"
