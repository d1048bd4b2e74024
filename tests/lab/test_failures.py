"""Each scenario fails as its name says: what is printed, and how the launcher ends."""

import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from tests.lab.conftest import READY, Server, Start

KILLED = -signal.SIGKILL
WORKS = ("--attention-backend", "triton", "--quantization", "modelopt_fp4")
SPECULATION = ("--speculative-algorithm", "NEXTN", "--mamba-scheduler-strategy", "extra_buffer")
V2 = (("SGLANG_ENABLE_SPEC_V2", "1"),)


@dataclass(frozen=True)
class Case:
    """Settings that fail in a scenario: the last exception (or line), and the exit status."""

    scenario: str
    argv: Sequence[str]
    said: str
    status: int = KILLED
    env: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.scenario}: {self.said[:40]}"


CASES = (
    Case("story", ("--speculative-algorithm", "NEXTN"), "ValueError: Speculative decoding for Qwen3_5Moe", 1),
    Case("story", (*WORKS, *SPECULATION, "--speculative-eagle-topk", "1"), "\nAssertionError\n", 1, V2),
    Case("story", (*WORKS, *SPECULATION, "--speculative-num-steps", "2"), "\nTypeError: '>' not supported", 1, V2),
    Case("story", ("--attention-backend", "trtllm_mha"), "ValueError: TRTLLM MHA backend is only supported", 1),
    Case("story", ("--attention-backend", "flashinfer"), "AssertionError: triton or trtllm_mha backend are the only"),
    Case("story", ("--attention-backend", "fa3"), "AssertionError: FlashAttention v3 Backend requires"),
    Case("story", (*WORKS, *SPECULATION, "--mem-fraction-static", "0.93"), "in _create_buffers", env=V2),
    Case("story", (*WORKS, "--moe-runner-backend", "flashinfer_trtllm"), "Current device has SM 120"),
    Case("story", (*WORKS, "--no-such-flag"), "launch_server.py: error: unrecognized arguments: --no-such-flag", 2),
    Case("story", (*WORKS, "--enable-dp-attention", "--dp-size", "3"), "assert self.tp_size % self.dp_size == 0", 1),
    Case("renamed-flags", ("--mamba-scheduler-strategy", "auto"), "unrecognized arguments: --mamba-scheduler", 2),
    Case("renamed-flags", ("--cuda-graph-max-bs", "8"), "ambiguous option: --cuda-graph-max-bs could match", 2),
    Case("oom-kv-pool", ("--mem-fraction-static", "0.7"), "Please try to increase --mem-fraction-static. Current"),
    Case("oom-kv-pool-new", ("--mem-fraction-static", "0.7"), "Raise --mem-fraction-static above 0.742"),
    Case("oom-mamba", ("--speculative-algorithm", "NEXTN", "--mem-fraction-static", "0.8"), "max_mamba_cache_size=-"),
    Case("oom-graphs", (), "Exception: Capture cuda graph failed: CUDA out of memory."),
    Case("oom-weights", (), "in create_weights"),
    Case("kernel-jit", WORKS, "ptxas fatal   : Value 'sm_120a' is not defined"),
    Case("kernel-shared-memory", WORKS, "Required: 147456, Hardware limit: 101376"),
    Case("kernel-no-image", (), "no kernel image is available for execution on the device"),
    Case("nccl-error", WORKS, "ncclSystemError: System call"),
    Case("segfault", WORKS, "Rank 0 scheduler is dead. Please check if there are relevant logs.", 1),
    Case("killed", ("--attention-backend", "triton"), "Rank 3 scheduler died during initialization (exit code: -9)", 1),
    Case("transient", WORKS, "EADDRINUSE"),
    Case("model-not-found", WORKS, "is not a valid model identifier listed on", 1),
    Case("driver", WORKS, "The NVIDIA driver on your system is too old"),
    Case("exhausted", WORKS, "This kernel requires 10.x architecture"),
    Case(
        "interleaved", (*WORKS, "--moe-runner-backend", "flashinfer_trtllm"), "This kernel requires 10.x architecture"
    ),
    Case("slow-release", WORKS, "Capture cuda graph failed: CUDA error: unspecified launch failure"),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_settings_that_fail_show_their_failure_and_exit_status(start: Start, case: Case) -> None:
    server = start(case.scenario, *case.argv, env=dict(case.env))

    status = server.ended()

    assert case.said in server.log
    assert status == case.status
    assert READY not in server.log


CURES = (
    Case("story", (*WORKS, *SPECULATION, "--mem-fraction-static", "0.9"), READY, env=V2),
    Case("story", (*WORKS, "--moe-runner-backend", "flashinfer_cutlass"), READY),
    Case("renamed-flags", ("--mamba-radix-cache-strategy", "extra_buffer"), READY),
    Case("oom-kv-pool", ("--mem-fraction-static", "0.8"), READY),
    Case("oom-kv-pool-new", ("--mem-fraction-static", "0.8"), READY),
    Case("oom-graphs", ("--cuda-graph-max-bs", "64"), READY),
    Case("oom-weights", ("--cpu-offload-gb", "30"), READY),
    Case("kernel-jit", WORKS, READY, env=(("TRITON_PTXAS_PATH", "/usr/local/cuda/bin/ptxas"),)),
    Case("kernel-shared-memory", (*WORKS, "--moe-runner-backend", "flashinfer_cutlass"), READY),
    Case("kernel-no-image", ("--attention-backend", "triton"), READY),
    Case("nccl-hang", WORKS, READY, env=(("NCCL_P2P_DISABLE", "1"),)),
    Case("nccl-error", WORKS, READY, env=(("NCCL_IB_DISABLE", "1"),)),
    Case("segfault", WORKS, READY, env=(("NCCL_IB_DISABLE", "1"),)),
    Case("oom-mamba", ("--speculative-algorithm", "NEXTN", "--max-running-requests", "8"), READY),
)


@pytest.mark.parametrize("case", CURES, ids=str)
def test_every_failure_that_settings_cause_has_settings_that_cure_it(start: Start, case: Case) -> None:
    server = start(case.scenario, *case.argv, env=dict(case.env))

    assert case.said in server.read_until(READY)


@pytest.mark.parametrize("scenario", ["transient", "killed-silent"])
def test_a_failure_of_the_first_launch_only_is_over_with_the_second(start: Start, scenario: str) -> None:
    first = start(scenario, *WORKS)
    first.read_until("Received sigquit", patience=1.5)
    first.close()

    assert READY in start(scenario, *WORKS).read_until(READY)


def test_a_hang_says_nothing_after_the_version_of_nccl(start: Start) -> None:
    server = start("nccl-hang", *WORKS)

    log = server.read_until(READY, patience=1.5)

    assert "sglang is using nccl==" in log
    assert "Init torch distributed ends" not in log
    assert server.process.poll() is None
    assert server.ask("/health")[0] == 0


def test_a_rank_that_dies_in_silence_leaves_the_old_release_waiting(start: Start) -> None:
    server = start("killed-silent", *WORKS)

    log = server.read_until(READY, patience=1.5)

    assert "Load weight begin" in log
    assert "Load weight end" not in log
    assert server.process.poll() is None


def test_all_eight_ranks_report_what_all_eight_hit(start: Start) -> None:
    server = start("story", *WORKS, "--moe-runner-backend", "flashinfer_trtllm", pace=1.0)

    server.ended()

    assert server.log.count("Scheduler hit an exception: Traceback") >= 4
    assert server.log.rstrip().endswith("It usually means the child failed.")


@pytest.mark.parametrize(
    ("scenario", "argv", "text"),
    [
        ("garbage", ("--kv-cache-dtype", "fp8_e4m3"), "Method"),
        ("nan", ("--moe-runner-backend", "flashinfer_cutlass"), "!!!!!!!!"),
        ("story", ("--ep-size", "8"), "Method"),
    ],
)
def test_a_sick_server_is_up_and_answers_wrongly(start: Start, scenario: str, argv: Sequence[str], text: str) -> None:
    server = start(scenario, *WORKS, *argv)
    server.read_until(READY)
    question = {"text": "The capital of France is", "sampling_params": {"max_new_tokens": 16}, "return_logprob": True}

    answer = server.ask("/generate", question)[1]

    assert server.ask("/health")[0] == 200
    assert text in answer["text"]
    assert "Paris" not in answer["text"]
    assert (answer["meta_info"]["output_token_logprobs"][0][0] is None) is (scenario == "nan")


def test_load_ends_a_server_that_single_requests_do_not(start: Start) -> None:
    server = start("nan-under-load", *WORKS)
    server.read_until(READY)

    assert server.ask("/generate", {"text": "1 + 1 ="})[0] == 200
    _ask_at_once(server, 8)

    assert server.ended() == KILLED
    assert "Scheduler hit an exception: Traceback" in server.log
    assert "probability tensor contains either" in server.log
    assert "SIGQUIT received." in server.log


def test_a_long_prompt_ends_a_server_that_has_no_room_for_it(start: Start) -> None:
    server = start("oom-activation", "--attention-backend", "triton")
    server.read_until(READY)

    assert server.ask("/generate", {"text": "short"})[0] == 200
    server.ask("/generate", {"text": "long " * 6000})

    assert server.ended() == KILLED
    assert "in forward_extend" in server.log


def test_a_server_that_stops_answering_is_unwell_and_lives(start: Start) -> None:
    server = start("hang-health", *WORKS, "--enable-mixed-chunk")
    server.read_until(READY)
    for _ in range(2):
        assert server.ask("/generate", {"text": "1 + 1 ="})[0] == 200

    threading.Thread(target=server.ask, args=("/generate", {"text": "1 + 1 ="}), daemon=True).start()
    server.read_until("\0never", patience=1.0)

    assert server.ask("/health")[0] == 503
    assert server.process.poll() is None


def test_a_port_that_is_taken_is_noticed_last_of_all_and_yet_called_ready(start: Start) -> None:
    first = start("story", *WORKS, tp=4, env={"CUDA_VISIBLE_DEVICES": "0,1,2,3"})
    first.read_until(READY)

    second = start("story", *WORKS, "--port", str(first.port), tp=4, env={"CUDA_VISIBLE_DEVICES": "4,5,6,7"})

    assert second.ended() == 1
    assert "address already in use" in second.log
    assert second.log.rstrip().endswith(READY)
    assert first.ask("/health")[0] == 200


def _ask_at_once(server: Server, many: int) -> None:
    for n in range(many):
        threading.Thread(target=server.ask, args=("/generate", {"text": f"{n}"}), daemon=True).start()
