"""Logs of other shapes than the usual one: native libraries, NPUs, chat templates, sizes that do not divide."""

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.logs.lines import split
from relight.words.diagnosis import Diagnosis

KNOWLEDGE = load_knowledge()
SITE = "/opt/venv/lib/python3.12/site-packages/sglang/srt"
AT = "[2026-11-30 10:00:00 TP3]"
NATIVE = "1130 10:00:00.123456 4321"


def read(*rows: str) -> Diagnosis:
    return diagnose(split(["\n".join(rows).encode()]), KNOWLEDGE, name="log")


def raised(error: str, *places: str) -> list[str]:
    frames = [f'  File "{SITE}/{place.split()[0]}", line 7, in {place.split()[1]}' for place in places]
    return ["Traceback (most recent call last):", *frames, error]


def npu(code: int, *why: str) -> list[str]:
    return [
        *raised(
            f"RuntimeError: go:build/compiler_depend.ts:99 NPU function error: aclrtGo, error code is {code}",
            "managers/scheduler.py run_batch",
            "hardware_backend/npu/attention/ascend_backend.py forward_decode",
        ),
        "[ERROR] 2026-11-30-10:00:00 (PID:4321, Device:3, RankID:3) ERR00100 PTA call acl api failed.",
        *why,
    ]


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([f"E{NATIVE} rdma_context.cpp:55] No available RDMA device: mlx5_9"], "comm.transfer"),
        ([f"E{NATIVE} rdma_endpoint.cpp:21] Failed to modify QP to RTR: Connection timed out [110]"], "comm.transfer"),
        ([f"E{NATIVE} worker_pool.cpp:24] Worker: Cannot make connection for endpoint: peer@mlx5_0"], "comm.transfer"),
        ([f"prefill-1  | E2026{NATIVE} rdma_endpoint.cpp:21] Failed to modify QP to RTS: Connection timed out [110]"],
         "comm.transfer"),
        ([f"F{NATIVE} rdma_context.cpp:9] Check failed: ibv_reg_mr errno 12: Cannot allocate memory [12]",
          "*** Check failure stack trace: ***"], "comm.transfer"),
        ([f"E{NATIVE} ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL"],
         "comm.timeout"),
    ],
)  # fmt: skip
def test_a_line_of_a_native_logger_is_read(rows: list[str], kind: str) -> None:
    cause = read(*rows).cause

    assert cause is not None
    assert cause.kind == kind
    assert cause.line == 1


def test_what_a_native_logger_only_informs_of_is_no_failure() -> None:
    found = read(
        f"I{NATIVE} transfer_engine.cpp:45] Transfer Engine starting, devices: 8",
        f"W{NATIVE} rdma_context.cpp:12] Failed to query a gid, the next one is taken",
        "[2026-11-30 10:00:09] The server is fired up and ready to roll!",
    )

    assert found.verdict == "healthy"


@pytest.mark.parametrize(
    ("rows", "kind", "decides"),
    [
        (npu(507015, "EZ9999: Inner Error!", "EZ9999: [PID: 4321] 2026-11-30 an exception of aivec error"),
         "kernel.launch_failure", "RuntimeError"),
        (npu(507018, "[Error]: The aicpu execution is abnormal.", "E39999: Inner Error!"),
         "kernel.launch_failure", "RuntimeError"),
        (npu(100012, "EE9999: Inner Error!", "EE9999: [PID: 4321] 2026-11-30 a stream could not be made"),
         "kernel.launch_failure", "RuntimeError"),
        (npu(207001, "EL0004: [PID: 4321] 2026-11-30-10:00:00.222.333 Failed to allocate memory."),
         "oom.gpu.unspecified", "EL0004"),
        (npu(207001, "[Error]: no room", "        TraceBack (most recent call last):",
             "        rtMalloc execute failed, reason=[driver error:out of memory][FUNC:Reason][FILE:manage.cc]"),
         "oom.gpu.unspecified", "rtMalloc"),
        (npu(7, "EJ0003: [PID: 4321] 2026-11-30-10:02:00.100.200 Failed to bind the IP port. Reason: bound already."),
         "comm.port_in_use", "EJ0003"),
        (npu(7, "EI0006: [PID: 4321] 2026-11-30-10:02:00.100.200 Getting socket times out. Reason: no request came."),
         "comm.timeout", "EI0006"),
        (npu(500001, "EH9999: Inner Error!",
             "EH9999: [PID: 4321] 2026-11-30 [Init]init runtime platform info failed, SocVersion = Acme910"),
         "env.driver", "EH9999: [PID"),
        (["EE9999: Inner Error!", "EE9999: [PID: 77] 2026-11-30-10:00:00.1.1 Stream synchronize timeout, stream_id=3"],
         "kernel.launch_failure", "EE9999: [PID"),
    ],
)  # fmt: skip
def test_of_an_npu_s_report_the_line_that_decides_is_told(rows: list[str], kind: str, decides: str) -> None:
    cause = read(f"{AT} Init torch distributed begin.", *rows).cause

    assert cause is not None
    assert cause.kind == kind
    assert cause.text.startswith(decides)


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        (raised("RuntimeError: Chat template own.jinja is not a built-in template name or a valid chat template file"
                " path.", "entrypoints/http_server.py launch_server", "managers/template_manager.py load"),
         "model.processor"),
        (raised("jinja2.exceptions.TemplateSyntaxError: Encountered unknown tag 'acme'.",
                "managers/template_manager.py _load_jinja_template"), "model.processor"),
        (["[2026-11-30 10:01:00] Initialization failed. warmup error: " + row if not i else row for i, row in enumerate(
            raised('AssertionError: {"message":"Cannot use chat template functions, tokenizer.chat_template is not'
                   ' set","code":400}', "entrypoints/http_server.py _execute_server_warmup"))], "model.processor"),
        (raised("jinja2.exceptions.TemplateError: roles must take turns",
                "entrypoints/openai/serving_chat.py _apply_jinja_template"), "engine.request"),
        (raised("jinja2.exceptions.UndefinedError: 'dict object' has no attribute 'acme'",
                "entrypoints/openai/serving_base.py handle_request", "entrypoints/openai/serving_chat.py render"),
         "engine.request"),
    ],
)  # fmt: skip
def test_a_chat_template_that_cannot_be_used_is_told_from_a_request_it_refuses(rows: list[str], kind: str) -> None:
    cause = read(*rows).cause

    assert cause is not None
    assert cause.kind == kind


@pytest.mark.parametrize(
    ("rows", "kind", "flag"),
    [
        (raised("AssertionError: 151936 is not divisible by 7", "models/a.py __init__"), "assertion.model", "tp-size"),
        (raised("RuntimeError: Parameter for vocabulary of size 32003 is not divisible by tp_size 8"),
         "assertion.model", "tp-size"),
        (raised("AssertionError: tp_size must be divisible by number of nodes", "server_args.py check_server_args"),
         "assertion.args", "tp-size"),
        (raised("AssertionError: ep_size must be 1 or tp_size", "server_args.py handle"), "assertion.args", "ep-size"),
        (["AssertionError: tp_size (6) must be divisible by dp_size (4)"], "assertion.args", "dp-size"),
        (raised("ValueError: len(partitions)=3 does not match pp_size=4.", "distributed/utils.py get_pp_indices"),
         "args.conflict", "pp-size"),
    ],
)  # fmt: skip
def test_sizes_that_do_not_go_together_name_the_flag(rows: list[str], kind: str, flag: str) -> None:
    found = read(*rows)

    assert found.cause is not None
    assert found.cause.kind == kind
    assert any(flag in {*repair.set, *repair.unset} for repair in found.repairs[:3])


def test_what_a_compiler_says_above_a_traceback_belongs_to_the_call_in_it() -> None:
    found = read(
        "/opt/rocm/include/acme/config.h:22:10: fatal error: 'acme/detail/runtime.cuh' file not found",
        "ninja: build stopped: subcommand failed.",
        *["    noise of the build"] * 20,
        *raised("RuntimeError: [aiter] build [module_moe_acme] failed", "managers/scheduler.py run_batch",
                "layers/moe/fused_moe_triton/layer.py forward", "layers/moe/rocm_aiter_moe.py fused_moe"),
    )  # fmt: skip

    assert any("moe-runner-backend" in repair.set for repair in found.repairs[:3])
    assert not any("attention-backend" in repair.set for repair in found.repairs[:3])


def test_a_plain_product_in_prefill_graphs_is_laid_on_the_graphs() -> None:
    rows = raised("RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling a product",
                  "model_executor/piecewise_cuda_graph_runner.py warmup_compile")  # fmt: skip
    linear = '  File "/opt/venv/lib/python3.12/site-packages/torch/nn/functional.py", line 2290, in linear'

    found = read(*rows[:-1], linear, rows[-1])

    names = {name for repair in found.repairs[:1] for name in repair.set}
    assert names & {"disable-piecewise-cuda-graph", "disable-prefill-cuda-graph"}


def test_a_kernel_that_triton_cannot_compile_for_attention_asks_for_another_backend() -> None:
    found = read(
        *raised("triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error",
                "managers/scheduler.py run_batch", "layers/attention/triton_backend.py forward_extend",
                "layers/attention/triton_ops/extend_attention.py extend_attention_fwd"),
        "ptxas fatal   : Register allocation failed with register count of '255'",
    )  # fmt: skip

    values = [repair.set["attention-backend"] for repair in found.repairs[:3] if "attention-backend" in repair.set]
    assert values
    assert "triton" not in values


def test_speculation_that_overlaps_gives_up_the_overlap_before_itself() -> None:
    found = read(
        *raised("AttributeError: 'NoneType' object has no attribute 'acme'", "managers/scheduler.py run_batch",
                "speculative/eagle_worker_v2.py forward_batch_generation",
                "layers/attention/acme_backend.py init_forward_metadata"),
    )  # fmt: skip

    asked = [repair for repair in found.repairs if repair.set.get("disable-overlap-schedule")]
    without = [repair for repair in found.repairs if "speculative-algorithm" in repair.unset]
    assert asked
    assert all(found.repairs.index(asked[0]) < found.repairs.index(repair) for repair in without)
