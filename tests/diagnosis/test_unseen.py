"""Failures whose text nobody has written down get their kind from where they were raised and how they speak."""

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.logs.lines import split
from relight.words.diagnosis import Diagnosis

KNOWLEDGE = load_knowledge()
AT = "[2026-03-01 10:00:00"
SITE = "/opt/venv/lib/python3.11/site-packages"


def read(*lines: str, argv: tuple[str, ...] = ()) -> Diagnosis:
    return diagnose(split(["\n".join(lines).encode() + b"\n"]), KNOWLEDGE, name="log", argv=argv)


def kind(*lines: str) -> str:
    found = read(*lines)
    return found.cause.kind if found.cause else found.verdict


def raised(error: str, *places: str) -> list[str]:
    frames = [f'  File "{SITE}/{file}", line 41, in {function}' for file, _, function in map(partition, places)]
    return [f"{AT} TP0] Scheduler hit an exception: Traceback (most recent call last):", *frames, error]


def partition(place: str) -> tuple[str, str, str]:
    return place.partition(" ")


SCHEDULER = "sglang/srt/managers/scheduler.py run_scheduler_process"


@pytest.mark.parametrize(
    ("error", "place", "expected"),
    [
        ("RuntimeError: the moon is full", "triton/compiler/compiler.py make_ir", "kernel.jit_compile"),
        ("RuntimeError: the moon is full", "flashinfer/gemm/gemm_base.py run", "kernel.gemm"),
        ("AssertionError", "sgl_kernel/elementwise.py rmsnorm", "kernel.unsupported_shape"),
        ("RuntimeError: the moon is full", "flashinfer/comm/trtllm_ar.py create", "comm.custom_allreduce"),
        ("RuntimeError: the moon is full", "torch/distributed/distributed_c10d.py barrier", "comm.nccl"),
        ("AttributeError: the moon is full", "transformers/modeling_utils.py _prepare", "env.version"),
        ("RuntimeError: the moon is full", "huggingface_hub/file_download.py http_get", "env.network"),
        ("ValueError: the moon must be full", "sglang/srt/managers/scheduler.py init_overlap", "args.conflict"),
        ("ValueError: the moon is full", "sglang/srt/managers/scheduler.py init_overlap", "engine.bug"),
        ("ValueError: the moon is full", "sglang/srt/model_loader/loader.py _get_weights", "model.weights"),
        ("AttributeError: the moon is full", "sglang/srt/managers/scheduler.py get_batch", "engine.bug"),
    ],
)
def test_an_unknown_text_is_what_fails_where_it_was_raised(error: str, place: str, expected: str) -> None:
    assert kind(*raised(error, SCHEDULER, place)) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("RuntimeError: acme_fwd: head_size must be a multiple of 8", "kernel.unsupported_shape"),
        ("ValueError: the checkpoint is missing 14 tensors", "model.weights"),
        ("RuntimeError: acme requires grunge>=2.9, found grunge 2.6", "env.version"),
        ("ValueError: Could not find AutoProcessor for the model", "model.processor"),
        ("RuntimeError: CUDA_VISIBLE_DEVICES has 2 devices but tp=4 is requested", "env.gpu_count"),
        ("AssertionError: fa3 or triton is required for the acme model but got ascend", "assertion.backend"),
        ("RuntimeError: the acme driver of this GPU: driver version too old", "env.driver"),
        ("OSError: this is a gated model, ask for access to it first", "model.auth"),
        ("RuntimeError: acme tile: 160 KB of shared memory exceed the limit", "kernel.shared_memory"),
        ("RuntimeError: HIP error: the moon is full", "kernel.launch_failure"),
        ("ValueError: non-finite values in the logits of row 3", "numerics.nan"),
        ("RuntimeError: the page pool leaked 12 pages", "assertion.kv_leak"),
        ("RuntimeError: insufficient memory left for the mamba states", "oom.gpu.mamba_cache"),
        ("RuntimeError: NCCL transport: out of memory while a channel was made", "oom.gpu.comm"),
        ("AssertionError: assert cfg.n_heads % ranks == 0", "assertion.model"),
        ("ValueError: SGLANG_ACME_DEPTH must be a power of two", "args.conflict"),
        ("RuntimeError: No supported CUDA architectures found for family [12]", "kernel.unsupported_arch"),
        ("RuntimeError: the acme JIT failed to compile kernel fwd.cu", "kernel.jit_compile"),
        ("RuntimeError: the cache folder is not writable", "env.permission"),
        ("RuntimeError: No XPU devices are available", "env.driver"),
        ("AssertionError: acme tensor core is not supported in fa2 backend", "assertion.backend"),
        ("AssertionError: own_trtllm adapters currently require FP8 block quant", "assertion.backend"),
        ("RuntimeError: Intel AMX is required for the acme layer", "kernel.unsupported_arch"),
        ("RuntimeError: ACL stream synchronize failed, error code:507999", "kernel.launch_failure"),
        ("ValueError: could not decode the image data of the first message", "engine.request"),
        ("AttributeError: module 'acme.saver' has no attribute 'region'", "env.version"),
        ("ValueError: the acme cache is only compatible with plain weights", "args.conflict"),
        ("RuntimeError: this call is forbidden while a graph is being captured", "kernel.graph_capture"),
        ("RuntimeError: GPU 3 seems to be occupied by another job", "oom.gpu.other_process"),
        (
            "Exception: Capture cuda graph failed: backend='acme' raised: LoweringException: no view",
            "kernel.jit_compile",
        ),
        ("ERROR acme_router: No healthy workers (all circuits open)", "comm.peer_died"),
        (
            "(raylet) A worker died or was killed while executing a task by an unexpected system error.",
            "comm.peer_died",
        ),
    ],
)
def test_an_unknown_text_is_what_its_words_speak_of(error: str, expected: str) -> None:
    assert kind(error) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("acme_wna quantization is currently not supported on this platform", "model.quantization"),
        ("could not find a chat template for the model", "model.processor"),
        ("14 tensors are missing in the checkpoint", "model.weights"),
    ],
)
def test_an_excerpt_of_the_message_alone_is_read_as_one(text: str, expected: str) -> None:
    assert kind(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "  warnings.warn('Only CUDA supports AWQ quantization currently.')",
        "/opt/acme/awq.py:87: UserWarning: Only CUDA supports AWQ quantization currently.",
        "[--quantization QUANTIZATION] [--kv-cache-dtype {auto,fp8_e5m2}]",
    ],
)
def test_warnings_and_help_are_not_read_as_messages(text: str) -> None:
    assert kind(text) in {"unknown", "healthy"}


def test_a_request_s_image_that_cannot_be_read_is_the_request_s_fault() -> None:
    places = ("sglang/srt/utils/common.py load_image", "requests/models.py raise_for_status")
    error = "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://example.com/a.jpg"

    assert kind(*raised(error, *places)) == "engine.request"


def test_a_torch_without_cuda_is_a_backend_s_refusal_where_only_the_backend_needs_it() -> None:
    error = "AssertionError: Torch not compiled with CUDA enabled"
    places = ("sglang/srt/layers/attention/acme_backend.py create", "torch/cuda/__init__.py _lazy_init")

    assert kind(*raised(error, SCHEDULER, *places)) == "assertion.backend"
    assert kind(error) == "env.version"


def test_a_graph_that_is_replayed_was_captured_before() -> None:
    error = "RuntimeError: The size of tensor a (4) must match the size of tensor b (8) at dimension 0"
    places = ("cuda_graph_runner.py replay", "cuda_graph_runner.py replay_prepare")

    assert kind(*raised(error, *(f"sglang/srt/model_executor/{p}" for p in places))) == "engine.bug"


def test_sizes_that_torch_itself_finds_different_are_the_engine_s_fault() -> None:
    error = "RuntimeError: The expanded size of the tensor (7) must match the existing size (9) at dimension 0."

    assert kind(*raised(error, SCHEDULER, "sglang/srt/layers/attention/acme_backend.py forward_extend")) == "engine.bug"


def test_a_server_that_refuses_its_own_first_request_never_warmed_up() -> None:
    error = "urllib3.exceptions.NewConnectionError: HTTPConnection(host='127.0.0.1', port=30000): "

    assert kind(f"{error}Failed to establish a new connection: [Errno 111] Connection refused") == "hang.warmup"


def test_frames_that_only_pass_a_call_on_are_not_where_it_was_raised() -> None:
    places = ("sgl_kernel/elementwise.py rmsnorm", "torch/_ops.py __call__", "torch/nn/modules/module.py _call_impl")

    assert kind(*raised("RuntimeError: the moon is full", SCHEDULER, *places)) == "kernel.unsupported_shape"


def test_a_wrapper_that_repeats_a_message_leaves_the_cause_to_what_it_repeats() -> None:
    found = read(
        "Traceback (most recent call last):",
        f'  File "{SITE}/sglang/srt/model_executor/cuda_graph_runner.py", line 7, in capture',
        "RuntimeError: the acme checkpoint is missing 14 tensors",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "Traceback (most recent call last):",
        f'  File "{SITE}/sglang/srt/model_executor/cuda_graph_runner.py", line 9, in __init__',
        "Exception: Capture cuda graph failed: the acme checkpoint is missing 14 tensors",
    ).cause

    assert found
    assert (found.kind, found.line) == ("model.weights", 3)


def test_an_unknown_text_is_less_certain_than_a_known_one() -> None:
    guessed = read(*raised("RuntimeError: the moon is full", SCHEDULER, "triton/compiler/compiler.py make_ir")).cause
    known = read("RuntimeError: CUDA error: an illegal memory access was encountered").cause

    assert guessed
    assert known
    assert guessed.confidence < known.confidence


def test_an_exception_of_a_class_of_its_own_counts_as_an_exception() -> None:
    error = "acme.masks.ChannelMaskMissing: no mask for layer 3"

    assert kind(*raised(error, "sglang/srt/server_args.py check_server_args")) == "args.conflict"


def test_what_the_log_says_before_a_traceback_belongs_to_it() -> None:
    log = raised("TimeoutError: timed out", "urllib3/connection.py getresponse")
    log[0] = f"{AT}] Initialization failed. warmup error: Traceback (most recent call last):"

    assert kind(*log) == "hang.warmup"


def test_a_message_that_begins_on_the_next_line_is_the_exception_s() -> None:
    found = read("ImportError:", "[sgl_kernel] CRITICAL: Could not load any common_ops library!").cause

    assert found
    assert (found.kind, found.line) == ("env.abi", 1)


def test_a_library_s_error_name_goes_on_with_the_message_before_it() -> None:
    found = read(
        "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:81, unhandled system error",
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.",
    ).cause

    assert found
    assert found.line == 1


def test_an_exception_named_inside_an_error_line_counts() -> None:
    assert kind(f"{AT}] The scheduler crashed: TypeError(\"'NoneType' object is not callable\")") == "engine.bug"


def test_killed_alone_was_killed_and_after_a_signal_of_the_server_it_is_a_consequence() -> None:
    sigquit = f"{AT}] Received sigquit from a child process. It usually means the child failed."

    assert kind(f"{AT}] Load weight begin. avail mem=94.0 GB", "Killed") == "process.killed"
    assert kind(sigquit, "Killed") == "comm.peer_died"


def test_a_missing_compiler_is_the_cause_of_a_build_that_failed() -> None:
    log = ("RuntimeError: ninja exited with status 127", "/bin/sh: 1: /usr/local/cuda/bin/nvcc: not found")

    assert kind(*log) == "env.toolchain"


def test_a_short_excerpt_of_harmless_warnings_shows_no_failure() -> None:
    warning = "Setup Custom allreduce failed with CUDART error: peer access is not supported between these two devices."

    assert read(f"{AT} TP0] sglang is using nccl==2.27.3", f"{AT} TP1] {warning}").verdict == "healthy"


def test_a_web_server_s_log_is_the_engine_s_where_its_command_is_known() -> None:
    log = [
        "INFO:     Started server process [7]",
        "INFO:     Waiting for application startup.",
        "INFO:     Application startup complete.",
        "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
        "INFO:     Waiting for application shutdown.",
        "INFO:     Application shutdown complete.",
    ]
    found = read(*log, argv=("--model-path", "m", "--port", "8000"))

    assert found.cause
    assert found.cause.kind == "comm.port_in_use"


def test_a_value_named_instead_of_the_refused_one_is_proposed_first() -> None:
    message = "ValueError: FlashInfer decode is not compatible with --mamba-scheduler-strategy no_buffer."
    found = read(
        f"{message} Please use extra_buffer.",
        argv=("--model-path", "m", "--mamba-scheduler-strategy", "no_buffer"),
    )

    assert dict(found.repairs[0].set) == {"mamba-scheduler-strategy": "extra_buffer"}


def test_a_refused_choice_is_captured_without_its_quotes() -> None:
    found = read("launch_server.py: error: argument --attention-backend: invalid choice: 'fa5' (choose from 'fa3')")

    assert found.cause
    assert found.cause.facts["value"] == "fa5"


def test_a_variable_that_this_version_does_not_read_is_not_proposed() -> None:
    text = "AssertionError: mm_fp4 does not support backend 'acme' with capability 120"
    old, new = (read(f"{AT}] server_args=ServerArgs(...)", f"Version: sglang {v}", text) for v in ("0.5.9", "0.5.23"))
    names = {name for found in (old, new) for repair in found.repairs for name in repair.set_env}
    known = KNOWLEDGE.env_names_for(None)

    assert {n for n in names if n.startswith("SGLANG_")} <= known


def test_a_module_that_no_flag_asks_for_is_a_person_s_work_and_blames_none() -> None:
    missing = read("ModuleNotFoundError: No module named 'orjson'")
    asked = read("ModuleNotFoundError: No module named 'llguidance'")

    assert missing.cause
    assert asked.cause
    assert (missing.action, missing.cause.blames) == ("person", ())
    assert asked.cause.blames == ("grammar-backend",)


def test_a_hang_while_weights_are_loaded_does_not_blame_the_tuner() -> None:
    found = read("relight: hung: load_weights: silent for 600 s and no sign of life")

    assert not any("disable-flashinfer-autotune" in repair.set for repair in found.repairs)


def test_a_line_of_source_with_an_annotation_is_no_exception() -> None:
    log = [
        "Traceback (most recent call last):",
        f'File "{SITE}/sglang/srt/distributed/any.py", line 7, in __init__',
        "self.comm: Handle = self.library.connect(",
        f'File "{SITE}/sglang/srt/distributed/wrapper.py", line 9, in check',
        'raise RuntimeError(f"NCCL error: {text}")',
        "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)",
    ]

    assert kind(*log) == "comm.nccl"
    assert (cause := read(*log).cause)
    assert cause.line == len(log)


def test_the_flags_that_steer_the_place_of_a_failure_are_its_suspects() -> None:
    argv = ("--model-path", "m", "--moe-runner-backend", "flashinfer_trtllm", "--attention-backend", "fa3")
    lines = raised("RuntimeError: the moon is full", "sglang/srt/layers/moe/moe_runner.py run")

    found = read(*lines, argv=argv).cause

    assert found
    assert found.suspects == ("moe-runner-backend",)


def test_a_rank_s_number_in_the_source_is_no_reason_to_split_over_fewer_cards() -> None:
    log = [
        "[2026-03-01 10:00:00 TP2] Scheduler hit an exception: Traceback (most recent call last):",
        f'  File "{SITE}/sglang/srt/mem_cache/acme_pool.py", line 7, in build',
        "    table.fill(self.server_args, self.tp_rank, self.tp_size)",
        f'  File "{SITE}/sglang/srt/mem_cache/acme_table.py", line 9, in fill',
        '    raise RuntimeError("the moon is full")',
        "RuntimeError: the moon is full",
    ]

    assert not any("tp-size" in repair.set for repair in read(*log).repairs)


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        ("X is not compatible with Y when using --mamba-scheduler-strategy no_buffer. Use extra_buffer.", "no_buffer"),
        ("this runner is not supported if you use --moe-runner-backend cutlass", "cutlass"),
        ("--attention-backend flashinfer is not supported here. Please use --attention-backend triton", "flashinfer"),
    ],
)
def test_a_value_that_the_message_speaks_against_is_not_proposed(error: str, refused: str) -> None:
    found = diagnose(split([f"ValueError: {error}\n".encode()]), KNOWLEDGE, name="log").repairs

    assert found
    assert refused not in {str(value) for repair in found for value in repair.set.values()}


def test_a_message_ends_where_another_process_speaks() -> None:
    log = [
        "(Worker pid=1) RuntimeError: NCCL error: remote process exited or there was a network error",
        "(Worker pid=2) *** SIGSEGV received at time=1720017831 on cpu 54 ***",
        "(Worker pid=2) PC: @     0x7f0a10469996  (unknown)  ncclProxyServiceUDS()",
    ]

    found = diagnose(split(["\n".join(log).encode()]), KNOWLEDGE, name="log").cause

    assert found is not None
    assert (found.kind, found.line) == ("kernel.segfault", 2)


@pytest.mark.parametrize("before", ["    ", "> ", "\t", "sglang-1  | "])
def test_a_log_that_was_pasted_into_something_else_reads_the_same(before: str) -> None:
    log = raised("RuntimeError: the moon is full", SCHEDULER, "triton/compiler/compiler.py make_ir")

    assert kind(*(before + line for line in log)) == "kernel.jit_compile"


def test_an_exception_indented_like_the_frames_of_its_traceback_ends_it() -> None:
    found = read(
        f'File "{SITE}/sglang/srt/managers/acme.py", line 7, in run',
        "      self.check(moon)",
        f'  File "{SITE}/sglang/srt/managers/acme.py", line 9, in check',
        "    assert moon % 4 == 0",
        "           ^^^^^^^^^^^^^",
        "  AssertionError",
    )

    assert found.cause
    assert (found.cause.kind, found.cause.line) == ("assertion.runtime", 6)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("'Moon' object has no attribute 'tide'", "engine.bug"),
        ("land() got an unexpected keyword argument 'moon'", "engine.bug"),
        ("oak backend can only be used with tall models.", "assertion.backend"),
    ],
)
def test_a_message_quoted_without_its_type_is_read_like_one_with_it(message: str, expected: str) -> None:
    assert kind(message) == expected


def test_of_a_signature_s_repairs_the_one_the_message_speaks_of_comes_first() -> None:
    found = read("ValueError: type fp8e4nv not supported in this architecture.").repairs

    assert "kv-cache-dtype" in found[0].set
