"""Nothing is proposed that is not there on the device of the log; late faults are told as symptoms."""

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.logs.lines import split
from relight.words.diagnosis import Cause, Diagnosis
from relight.words.settings import Repair

KNOWLEDGE = load_knowledge()
AT = "[2026-03-01 10:00:00"
SITE = "/opt/venv/lib/python3.11/site-packages"
NVIDIA = {
    "CUDA_LAUNCH_BLOCKING",
    "NCCL_P2P_DISABLE",
    "NCCL_IB_DISABLE",
    "disable-flashinfer-autotune",
    "fp4-gemm-backend",
}
ILLEGAL = "an illegal memory access was encountered"


def found(*lines: str, argv: tuple[str, ...] = (), env: dict[str, str] | None = None) -> Diagnosis:
    return diagnose(split(["\n".join(lines).encode() + b"\n"]), KNOWLEDGE, name="log", argv=argv, env=env)


def raised(error: str, *places: str) -> list[str]:
    split_places = [p.partition(" ") for p in ("sglang/srt/managers/scheduler.py run_batch", *places)]
    frames = [f'  File "{SITE}/{file}", line 41, in {function}' for file, _, function in split_places]
    return [f"{AT} TP0] Scheduler hit an exception: Traceback (most recent call last):", *frames, error]


def dump(device: str, **fields: object) -> str:
    told = ", ".join(f"{name}={value!r}" for name, value in {"model_path": "m", "device": device, **fields}.items())
    return f"{AT}] server_args=ServerArgs({told})"


def touched(repairs: tuple[Repair, ...]) -> set[str]:
    return {name for repair in repairs for name in (*repair.names, *repair.variables)}


def values(diagnosis: Diagnosis) -> set[object]:
    return {value for repair in diagnosis.repairs for value in repair.set.values()}


def cause(diagnosis: Diagnosis) -> Cause:
    assert diagnosis.cause is not None
    return diagnosis.cause


@pytest.mark.parametrize(
    "log",
    [
        [dump("npu"), *raised("RuntimeError: call hccl api failed", "torch/distributed/distributed_c10d.py barrier")],
        raised(
            "RuntimeError: NPU function error: call aclnnAdd failed, error code is 561002", "sglang/srt/layers/x.py f"
        ),
        [dump("cpu"), *raised("RuntimeError: Gloo connectFullMesh failed with pair.cc:144 no error")],
        raised(f"RuntimeError: HIP error: {ILLEGAL}", "sglang/srt/layers/attention/aiter_backend.py forward_decode"),
    ],
)
def test_no_repair_is_for_a_device_that_is_not_there(log: list[str]) -> None:
    diagnosis = found(*log)

    assert diagnosis.cause
    assert not touched(diagnosis.repairs) & NVIDIA
    assert not any("flashinfer" in str(value) or "cutlass" in str(value) for value in values(diagnosis))


def test_a_library_that_reads_the_variables_of_another_keeps_them() -> None:
    log = [
        f"{AT}] HIP version: 6.4.43482",
        *raised("torch.distributed.DistBackendError: NCCL error: unhandled system error"),
    ]

    assert any(name.startswith("NCCL_") for name in touched(found(*log).repairs))


def test_attention_on_a_cpu_is_given_a_backend_that_runs_there() -> None:
    log = raised(
        "RuntimeError: head_size 72 is not supported", "sglang/srt/layers/attention/intel_amx_backend.py forward"
    )

    offered = values(found(dump("cpu"), *log))

    assert "torch_native" in offered
    assert not offered & {"triton", "flashinfer", "intel_amx"}


def test_where_no_device_shows_everything_is_offered() -> None:
    log = raised("RuntimeError: the moon is full", "sglang/srt/layers/attention/acme_backend.py forward")

    assert {"triton", "flashinfer"} <= values(found(*log))


def test_a_list_of_choices_shows_no_device() -> None:
    error = "ValueError: attention backend 'acme' is none of 'aiter', 'ascend', 'flashinfer', 'intel_xpu'"
    log = raised(error, "sglang/srt/layers/attention/acme_backend.py forward")

    assert {"triton", "flashinfer"} <= values(found(*log))


@pytest.mark.parametrize(
    ("error", "step"),
    [
        (f"RuntimeError: CUDA error: {ILLEGAL}", {"CUDA_LAUNCH_BLOCKING": "1"}),
        ("torch.AcceleratorError: CUDA error: unspecified launch failure", {"CUDA_LAUNCH_BLOCKING": "1"}),
        ("RuntimeError: CUDA error: misaligned address", {"CUDA_LAUNCH_BLOCKING": "1"}),
        ("RuntimeError: CUDA error: device-side assert triggered", {"CUDA_LAUNCH_BLOCKING": "1"}),
        (f"RuntimeError: HIP error: {ILLEGAL}", {"AMD_SERIALIZE_KERNEL": "3"}),
    ],
)
def test_a_late_fault_is_a_symptom_and_the_last_step_shows_its_kernel(error: str, step: dict[str, str]) -> None:
    diagnosis = found(*raised(error, "torch/cuda/streams.py synchronize"))

    assert cause(diagnosis).late
    assert cause(diagnosis).confidence < 0.9
    assert diagnosis.repairs[-1].set_env == step
    assert [r.telling for r in diagnosis.repairs] == [False] * (len(diagnosis.repairs) - 1) + [True]


def test_where_every_call_waits_the_frames_show_what_failed() -> None:
    log = raised(f"RuntimeError: CUDA error: {ILLEGAL}", "sglang/srt/layers/sampler.py forward")

    diagnosis = found(*log, argv=("--model-path", "m"), env={"CUDA_LAUNCH_BLOCKING": "1"})

    assert not cause(diagnosis).late
    assert "CUDA_LAUNCH_BLOCKING" not in touched(diagnosis.repairs)


@pytest.mark.parametrize("error", ["RuntimeError: CUDA error: invalid argument", "RuntimeError: the moon is full"])
def test_what_a_call_itself_reports_is_no_symptom(error: str) -> None:
    diagnosis = found(*raised(error, "sglang/srt/layers/sampler.py forward"))

    assert not cause(diagnosis).late
    assert not any(r.telling for r in diagnosis.repairs)


@pytest.mark.parametrize(
    ("runner", "first", "never"),
    [
        ("sglang/srt/model_executor/cuda_graph_runner.py replay", "decode", "prefill"),
        ("sglang/srt/model_executor/runner/decode_cuda_graph_runner.py execute", "decode", "prefill"),
        ("sglang/srt/model_executor/runner/prefill_cuda_graph_runner.py execute", "prefill", "decode"),
        ("sglang/srt/model_executor/piecewise_cuda_graph_runner.py replay", "prefill", "decode"),
    ],
)
@pytest.mark.parametrize("error", ["RuntimeError: CUDA error: invalid argument", "RuntimeError: the moon is full"])
def test_of_two_kinds_of_graphs_the_one_that_failed_goes(runner: str, first: str, never: str, error: str) -> None:
    diagnosis = found(*raised(error, runner, "torch/cuda/graphs.py replay"))
    names = [" ".join((*r.names, str(r.set))) for r in diagnosis.repairs]

    assert first in names[0]
    assert not any(never in name for name in names)


def test_a_graph_that_is_replayed_is_not_captured() -> None:
    runner = "sglang/srt/model_executor/cuda_graph_runner.py"

    assert cause(found(*raised("RuntimeError: the moon is full", f"{runner} replay"))).phase == "serving"


def test_the_backend_whose_code_reported_a_late_fault_is_not_asked_for_again() -> None:
    place = "sglang/srt/layers/attention/triton_backend.py init_forward_metadata"

    diagnosis = found(*raised("RuntimeError: CUDA error: misaligned address", place))

    assert {"attention-backend": "triton"} not in [dict(r.set) for r in diagnosis.repairs]


def test_what_a_dump_says_to_be_off_is_not_switched_off() -> None:
    fields = {"enable_hierarchical_cache": False}

    diagnosis = found(
        dump("cuda", **fields), *raised(f"RuntimeError: CUDA error: {ILLEGAL}", "torch/cuda/streams.py wait")
    )

    assert "enable-hierarchical-cache" not in touched(diagnosis.repairs)
