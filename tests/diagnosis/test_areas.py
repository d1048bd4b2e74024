"""What failed is mended by the flags that steer it, and by nothing that is not in use or belongs to another layer."""

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.logs.lines import split
from relight.words.settings import Repair

KNOWLEDGE = load_knowledge()
AT = "[2026-03-01 10:00:00"
SITE = "/opt/venv/lib/python3.11/site-packages"
MODEL = ("--model-path", "m")
SCHEDULER = "sglang/srt/managers/scheduler.py run_batch"


def repairs(*lines: str, argv: tuple[str, ...] = ()) -> tuple[Repair, ...]:
    return diagnose(split(["\n".join(lines).encode() + b"\n"]), KNOWLEDGE, name="log", argv=argv).repairs


def raised(error: str, *places: str) -> list[str]:
    split_places = [p.partition(" ") for p in (SCHEDULER, *places)]
    frames = [f'  File "{SITE}/{file}", line 41, in {function}' for file, _, function in split_places]
    return [f"{AT} TP0] Scheduler hit an exception: Traceback (most recent call last):", *frames, error]


def first_three(*lines: str, argv: tuple[str, ...] = ()) -> set[str]:
    return {name for repair in repairs(*lines, argv=argv)[:3] for name in (*repair.names, *repair.variables)}


def all_names(*lines: str, argv: tuple[str, ...] = ()) -> set[str]:
    return {name for repair in repairs(*lines, argv=argv) for name in (*repair.names, *repair.variables)}


@pytest.mark.parametrize(
    ("place", "flag"),
    [
        ("sglang/srt/layers/attention/acme_backend.py forward_extend", "attention-backend"),
        ("sglang/srt/layers/attention/vision.py forward", "mm-attention-backend"),
        ("sglang/srt/layers/attention/fla/chunk.py run", "linear-attn-backend"),
        ("sglang/srt/layers/moe/moe_runner/acme.py run", "moe-runner-backend"),
        ("sglang/srt/layers/sampler.py forward", "sampling-backend"),
        ("sglang/srt/lora/layers.py apply_lora", "lora-backend"),
        ("sglang/srt/constrained/xgrammar_backend.py fill", "grammar-backend"),
        ("sglang/srt/mem_cache/hiradix_cache.py write_backup", "enable-hierarchical-cache"),
        ("sglang/srt/speculative/eagle_worker.py draft", "speculative-algorithm"),
        ("sglang/srt/eplb/expert_location.py update", "enable-eplb"),
        ("sglang/srt/batch_overlap/two_batch_overlap.py run", "enable-two-batch-overlap"),
        ("torch/_inductor/scheduler.py codegen", "enable-torch-compile"),
        ("sglang/srt/model_executor/cuda_graph_runner.py capture_one", "disable-cuda-graph"),
    ],
)
def test_an_unknown_error_is_met_with_the_flag_of_the_code_that_raised_it(place: str, flag: str) -> None:
    assert flag in first_three(*raised("RuntimeError: the moon is full", place))


def test_the_innermost_code_counts_first() -> None:
    log = raised(
        "RuntimeError: the moon is full",
        "sglang/srt/model_executor/cuda_graph_runner.py capture_one",
        "sglang/srt/layers/attention/acme_backend.py forward_decode",
    )

    assert "attention-backend" in repairs(*log)[0].names


def test_what_the_message_is_about_counts_before_what_it_names_in_passing() -> None:
    log = "ValueError: LoRA adapters are not compatible with hierarchical cache"

    found = [r.names for r in repairs(log)]

    assert found.index(next(n for n in found if "enable-lora" in n or "lora-paths" in n)) == 0


@pytest.mark.parametrize(
    ("error", "flag"),
    [
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "speculative-algorithm"),
        ("RuntimeError: the draft has a shape of its own", "speculative-num-steps"),
        ("RuntimeError: mamba state has another dtype", "enable-lora"),
    ],
)
def test_nothing_is_proposed_for_what_is_not_in_use(error: str, flag: str) -> None:
    assert flag not in all_names(*raised(error), argv=MODEL)


def test_a_value_that_the_launch_has_already_is_no_repair() -> None:
    log = raised("RuntimeError: the moon is full", "sglang/srt/layers/moe/moe_runner/acme.py run")

    assert all(r.set.get("ep-size") != 1 for r in repairs(*log, argv=MODEL))
    assert any(r.set.get("ep-size") == 1 for r in repairs(*log, argv=(*MODEL, "--ep-size", "4")))


def test_the_kernels_of_another_layer_are_no_repair() -> None:
    log = raised(
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 150000, limit: 101376",
        "sglang/srt/layers/attention/triton_ops/decode.py decode",
    )

    assert "moe-runner-backend" not in all_names(*log)
    assert "attention-backend" in first_three(*log)


def test_a_fault_that_shows_late_may_have_happened_in_another_layer() -> None:
    log = raised(
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "sglang/srt/layers/attention/triton_ops/decode.py decode",
    )

    assert "moe-runner-backend" in all_names(*log)
    assert "attention-backend" in repairs(*log)[0].names


def test_a_feature_in_use_is_left_away_for_a_hang_that_names_nothing() -> None:
    log = f"{AT} TP0] Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)"
    argv = (*MODEL, "--enable-eplb")

    assert any("enable-eplb" in r.unset for r in repairs(log, argv=argv))


def test_a_module_that_a_feature_needs_is_missing_only_with_the_feature() -> None:
    log = raised("ImportError: Acme is not installed.", "sglang/srt/layers/moe/token_dispatcher/deepep.py __init__")
    argv = (*MODEL, "--moe-a2a-backend", "deepep")

    found = diagnose(split(["\n".join(log).encode()]), KNOWLEDGE, name="log", argv=argv)

    assert any("moe-a2a-backend" in r.unset for r in found.repairs)
    assert found.cause
    assert "moe-a2a-backend" in found.cause.blames


def test_a_combination_that_is_refused_is_parted_not_given_other_kernels() -> None:
    log = "AssertionError: Pipeline stages are not compatible with speculative decoding"
    argv = (*MODEL, "--pp-size", "2", "--speculative-algorithm", "EAGLE")

    found = repairs(*raised(log, "sglang/srt/server_args.py check_server_args"), argv=argv)[:3]

    assert {"pp-size": 1} in [dict(r.set) for r in found]
    assert any("speculative-algorithm" in r.unset for r in found)


def test_a_variable_that_only_makes_the_engine_say_more_is_no_repair() -> None:
    log = ["RuntimeError: the compiler stopped", 'Set TORCH_LOGS="+dynamo" and ACME_VERBOSE=1 for more information']

    assert not {"TORCH_LOGS", "ACME_VERBOSE"} & all_names(*log)


def test_a_kernel_of_the_experts_is_not_asked_of_a_library_for_matrices_alone() -> None:
    log = raised("RuntimeError: the moon is full", "flashinfer/fused_moe/core.py acme_fp4_moe")

    assert "fp4-gemm-backend" not in all_names(*log)


def test_what_only_carried_the_layer_that_failed_is_not_switched_off() -> None:
    log = raised(
        "RuntimeError: this kernel is not built for SM 120",
        "sglang/srt/model_executor/cuda_graph_runner.py capture_one",
        "sglang/srt/layers/moe/moe_runner/acme.py run",
    )

    assert "disable-cuda-graph" not in all_names(*log)


def test_a_stack_dump_without_a_traceback_shows_the_place_too() -> None:
    log = (
        f"{AT} TP0] Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)",
        'Thread 0x7f (active): "MainThread"',
        "    write_backup (sglang/srt/mem_cache/hiradix_cache.py:410)",
    )

    assert "enable-hierarchical-cache" in first_three(*log)


@pytest.mark.parametrize(
    ("advice", "given", "expected"),
    [
        ("Please reduce --max-running-requests.", "64", 32),
        ("Set --max-running-requests to a larger value.", "64", 128),
        ("Try a smaller --max-running-requests.", "1", None),
    ],
)
def test_a_number_that_a_message_wants_moved_goes_one_step_that_way(
    advice: str, given: str, expected: int | None
) -> None:
    found = repairs(f"ValueError: no slots. {advice}", argv=(*MODEL, "--max-running-requests", given))

    values = [r.set["max-running-requests"] for r in found if "max-running-requests" in r.set]
    assert values == ([] if expected is None else [expected])


def test_a_value_that_a_message_names_stands_for_its_flag() -> None:
    log = "AssertionError: flashinfer_trtllm currently requires another scheme of blocks."

    assert "moe-runner-backend" in first_three(log)


def test_what_the_failing_line_computes_with_names_the_feature() -> None:
    log = raised("AttributeError: 'Acme' object has no attribute 'moon'", "sglang/srt/layers/attention/acme.py run")
    log.insert(-1, "    moon = spec_info.moon")

    assert "speculative-algorithm" in first_three(*log)


def test_what_is_only_compatible_with_something_else_is_switched_off() -> None:
    argv = (*MODEL, "--enable-lora", "--speculative-algorithm", "EAGLE")
    found = repairs("ValueError: LoRA is only compatible with the Acme kind of speculative decoding.", argv=argv)

    assert ["enable-lora" in r.unset for r in found[:2]] == [True, False]
    assert "speculative-algorithm" in found[1].unset


def test_a_variable_s_value_for_another_machine_is_no_repair() -> None:
    log = "AssertionError: bind the threads. For example, on a machine with two nodes set ACME_THREADS_BIND=0-31|32-63."

    assert "ACME_THREADS_BIND" not in all_names(log)


def test_the_backend_whose_code_failed_is_no_repair() -> None:
    frames = (
        '  File "/opt/sglang/srt/layers/attention/triton_backend.py", line 9, in forward_extend',
        '  File "/opt/sglang/srt/layers/attention/triton_ops/extend_attention.py", line 6, in extend_attention_fwd',
    )
    log = ["Traceback (most recent call last):", *frames, "triton.compiler.errors.CompilationError: at 1:2: no"]

    found = diagnose(split(["\n".join(log).encode()]), load_knowledge(), name="log")

    assert found.repairs
    assert not any(r.set.get("attention-backend") == "triton" for r in found.repairs)


@pytest.mark.parametrize(
    ("place", "flag"),
    [
        ("sglang/srt/elastic_ep/acme.py run", "elastic-ep-backend"),
        ("sglang/srt/layers/moe/kt_ep_wrapper.py apply", "kt-method"),
        ("sglang/srt/managers/multi_tokenizer_mixin.py run", "tokenizer-worker-num"),
        ("sglang/srt/kv_canary/acme.py run", "kv-canary"),
        ("sglang/srt/parser/reasoning_parser.py parse", "reasoning-parser"),
        ("sglang/srt/layers/dcp/acme.py run", "dcp-size"),
        ("sglang/srt/layers/acme.py fused_qk_norm_rope", "enable-fused-qk-norm-rope"),
    ],
)
def test_each_part_of_the_engine_is_known_by_the_flag_that_switches_it_on(place: str, flag: str) -> None:
    assert flag in first_three(*raised("RuntimeError: the moon is full", place))


def test_a_feature_asked_for_is_left_away_where_an_error_names_no_place() -> None:
    argv = (*MODEL, "--enable-mixed-chunk", "--speculative-algorithm", "NEXTN")

    found = repairs("TypeError: 'NoneType' object is not subscriptable", argv=argv)

    assert [r.unset for r in found] == [("enable-mixed-chunk",), ("speculative-algorithm",)]


def test_nothing_is_left_away_for_an_error_without_a_place_where_the_command_is_not_known() -> None:
    assert repairs("TypeError: 'NoneType' object is not subscriptable") == ()


def test_variables_of_a_library_that_is_not_in_use_are_not_set() -> None:
    log = "Fatal Python error: Segmentation fault"

    assert "NCCL_IB_DISABLE" in all_names(log, argv=(*MODEL, "--tp-size", "2"))
    assert "NCCL_IB_DISABLE" not in all_names(log, argv=MODEL)


def test_a_line_of_native_source_names_the_place() -> None:
    log = "RuntimeError: CHECK(i >= 0) failed at csrc/kvcacheio/acme.cuh:41"

    assert "enable-hierarchical-cache" in first_three(log)


def test_lines_near_an_error_inside_a_library_say_what_called_it() -> None:
    log = [
        *raised("RuntimeError: the moon is full", "acme/core.py wrap")[:1],
        f'  File "{SITE}/acme/core.py", line 41, in wrap',
        "RuntimeError: the moon is full",
        f'  File "{SITE}/sglang/srt/lora/acme.py", line 41, in run',
    ]

    assert "lora-backend" in first_three(*log)


def test_a_variable_with_its_value_in_brackets_is_what_a_message_proposes() -> None:
    found = repairs("RuntimeError: no room. Disable the moon (NCCL_ACME_ENABLE=0) to avoid this.")

    assert found[0].set_env == {"NCCL_ACME_ENABLE": "0"}


def test_an_attribute_called_like_a_flag_is_not_that_flag() -> None:
    assert "dtype" not in all_names("AttributeError: 'NoneType' object has no attribute 'dtype'")


def test_a_failed_check_of_a_library_s_own_source_is_met_by_leaving_that_library_out() -> None:
    found = repairs("RuntimeError: Assertion error (kernel_runtime.hpp:41): moon == 0")

    assert found[0].set_env == {"SGLANG_ENABLE_JIT_DEEPGEMM": "0"}


def test_what_the_command_asks_for_is_left_away_before_others_are_tried_where_a_fault_may_show_elsewhere() -> None:
    log = "Fatal Python error: Segmentation fault"

    assert "enable-mixed-chunk" in first_three(log, argv=(*MODEL, "--tp-size", "2", "--enable-mixed-chunk"))


def test_a_part_of_a_weight_s_name_is_no_value_of_a_flag() -> None:
    # A flag for adapters takes gate_up_proj as a value.
    named = all_names("KeyError: 'model.layers.7.mlp.gate_up_proj.input_scale'")

    assert not {n for n in named if "lora" in n}


def test_what_a_signature_leaves_to_a_person_is_not_guessed_at_by_place() -> None:
    error = "RuntimeError: PD disaggregation does not support different TP sizes for hybrid models of this sort."
    found = repairs(*raised(error, "sglang/srt/disaggregation/nixl/conn.py maybe_send_extra"))

    assert not found


@pytest.mark.parametrize("given", [("--enable-mixed-chunk",), ()])
def test_what_a_message_speaks_of_is_given_up_after_what_costs_less(given: tuple[str, ...]) -> None:
    leak = "ValueError: token_to_kv_pool_allocator memory leak detected! available_size=1, evictable_size=2"
    argv = (*MODEL, *given) if given else ()

    found = repairs(*raised(leak, "sglang/srt/managers/scheduler.py check_memory"), argv=argv)

    names = [next(iter((*r.names, *r.variables))) for r in found]
    assert names.index("enable-mixed-chunk") < names.index("disable-radix-cache")
    assert names.index("SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_IDLE") < names.index("disable-radix-cache")
