"""What a compiler says is found where it stands, and its commands are no advice."""

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.logs.lines import split
from relight.words.diagnosis import Cause, Diagnosis

KNOWLEDGE = load_knowledge()
AT = "[2026-03-01 10:00:00"
SITE = "/opt/venv/lib/python3.11/site-packages"
TRACEBACK = [
    f"{AT} TP0] Scheduler hit an exception: Traceback (most recent call last):",
    f'  File "{SITE}/sglang/srt/managers/scheduler.py", line 41, in run_batch',
    f'  File "{SITE}/flashinfer/jit/cpp_ext.py", line 250, in run_ninja',
]
STEP = "[1/9] /usr/local/cuda/bin/nvcc -DUSE_FAST_BUILD=1 -D_GLIBCXX_USE_CXX11_ABI=1 --device-debug -c a.cu -o a.o"
HEADER = f"{SITE}/flashinfer/data/common.h:22:10: fatal error: cuda_fp4.h: No such file or directory"


def found(*lines: str) -> Diagnosis:
    return diagnose(split(["\n".join(lines).encode() + b"\n"]), KNOWLEDGE, name="log")


def cause(diagnosis: Diagnosis) -> Cause:
    assert diagnosis.cause is not None
    return diagnosis.cause


def build(*said: str, steps: int = 3) -> list[str]:
    return [
        "ninja: Entering directory `/root/.cache/ops'",
        *[STEP] * steps,
        "FAILED: a.o",
        *said,
        "ninja: build stopped",
    ]


@pytest.mark.parametrize("steps", [0, 3, 100])
def test_the_line_that_decides_is_shown_however_far_below_it_stands(steps: int) -> None:
    diagnosis = found(*TRACEBACK, "RuntimeError: Ninja build failed. Ninja output:", *build(HEADER, steps=steps))

    assert [d.text for d in diagnosis.details] == [HEADER]
    assert cause(diagnosis).line == len(TRACEBACK) + 1


def test_a_header_that_is_missing_is_a_matter_of_tools() -> None:
    diagnosis = found(*TRACEBACK, "RuntimeError: Ninja build failed. Ninja output:", *build(HEADER))

    assert cause(diagnosis).kind == "env.toolchain"
    assert "cuda_fp4.h" in cause(diagnosis).summary


def test_what_the_compiler_said_before_the_traceback_is_found_too() -> None:
    said = 'kernel.x(88): error: identifier "fp4" is undefined'

    diagnosis = found(said, *TRACEBACK, "RuntimeError: Error building extension 'norm'")

    assert said in {cause(diagnosis).text, *(d.text for d in diagnosis.details)}


def test_the_first_error_of_an_assembler_tells_why() -> None:
    error = "ptxas /tmp/a.ptx, line 612; error   : Feature '.e2m1x2' not supported on .target 'sm_120'"
    lines = [
        "`ptxas` stderr:",
        "ptxas /tmp/a.ptx, line 5; warning : odd",
        error,
        "ptxas fatal   : aborted due to errors",
    ]

    diagnosis = found(*TRACEBACK, "triton.runtime.errors.PTXASError: Internal Triton PTX codegen error", *lines)

    assert [d.text for d in diagnosis.details] == [error]
    assert cause(diagnosis).summary.endswith("Feature '.e2m1x2' not supported on .target 'sm_120'")


def test_the_commands_of_a_build_are_no_advice() -> None:
    diagnosis = found(*TRACEBACK, "RuntimeError: Ninja build failed. Ninja output:", *build(HEADER))

    assert not any("CXX11" in name or "FAST_BUILD" in name for r in diagnosis.repairs for name in r.variables)
    assert not any(r.origin == "message" for r in diagnosis.repairs)


def test_a_failure_of_another_kind_has_no_details() -> None:
    diagnosis = found(HEADER, *TRACEBACK, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")

    assert diagnosis.details == ()
