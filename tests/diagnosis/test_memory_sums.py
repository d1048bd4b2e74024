"""What the lines of a start say about memory: how much, for what, and whether the fraction can give it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relight.config.knowledge import load_knowledge
from relight.diagnosis.diagnose import diagnose
from relight.logs.lines import split
from relight.words.diagnosis import Cause, Diagnosis

KNOWLEDGE = load_knowledge()
FRACTION = KNOWLEDGE.memory.fraction
AT = "[2026-11-29 10:00:00 TP0]"
NO_POOL = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
IN_CAPTURE = """Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/sglang/srt/model_executor/cuda_graph_runner.py", line 600, in capture
    run_once()
"""
IN_PREFILL = """Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py", line 478, in run_batch
    result = self.forward(batch)
"""
IN_DRAFT = """Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/sglang/srt/speculative/eagle_worker.py", line 120, in __init__
    super().__init__(server_args, gpu_id, rank, draft=True)
  File "/opt/venv/lib/python3.11/site-packages/sglang/srt/model_executor/model_runner.py", line 510, in load_model
    self.model = get_model(self.config)
"""
SIZES = (256, 192, 128, 64, 32, 16, 8, 4, 2, 1)


def loaded(before: float, after: float, *, model: str = "MoeForCausalLM") -> str:
    used = before - after
    return (f"{AT} Load weight begin. avail mem={before:.2f} GB\n"
            f"{AT} Load weight end. type={model}, avail mem={after:.2f} GB, mem usage={used:.2f} GB.\n")  # fmt: skip


def captured(done: int, left: float) -> str:
    listed = ", ".join(map(str, sorted(SIZES)))
    bars = (f"Capturing batches (bs={s} avail_mem={left + done - i:.2f} GB):  {i}%|#| {i}/{len(SIZES)} [00:00<00:01]\n"
            for i, s in enumerate(SIZES[: done + 1]))  # fmt: skip
    return f"{AT} Capture cuda graph bs [{listed}]\n" + "".join(bars)


def out_of_memory(asked: float, free: float) -> str:
    return (f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked:.2f} GiB. GPU 0 has a total "
            f"capacity of 94.97 GiB of which {free:.2f} GiB is free.")  # fmt: skip


def read(log: str, **flags: Any) -> tuple[Diagnosis, Cause]:
    argv = ["--model-path", "m"]
    for name, value in flags.items():
        argv += [f"--{name.replace('_', '-')}", str(value)]
    found = diagnose(split([log.encode()]), KNOWLEDGE, name="log", argv=argv)
    assert found.cause
    return found, found.cause


def values(found: Diagnosis, flag: str) -> list[float]:
    return [float(str(r.set[flag])) for r in found.repairs if flag in r.set]


def price(found: Diagnosis) -> float:
    return next(r.cost for r in found.repairs if FRACTION in r.set and r.origin == "memory")


def test_what_the_sizes_still_to_be_captured_need_is_missing_too() -> None:
    log = loaded(94, 60) + captured(3, 0.5) + IN_CAPTURE + out_of_memory(2.0, 0.5)

    found, _ = read(log, mem_fraction_static=0.9)

    # 64 asks for 2 GiB, so the 63 smaller ones of 127 in all ask for as much again.
    assert max(values(found, FRACTION)) < 0.9 - (2 * 127 / 64 - 0.5) / 94 + 0.001
    assert "3 of 10 sizes were captured" in found.memory[0]


def test_the_first_size_pays_for_what_all_share_and_says_nothing_of_the_others() -> None:
    log = loaded(94, 60) + captured(0, 0.5) + IN_CAPTURE + out_of_memory(2.0, 0.5)

    found, cause = read(log, mem_fraction_static=0.9)

    assert cause.facts["mem_fraction_high"] == pytest.approx(0.9 - 2.2 / 94, abs=0.001)
    assert "sizes" not in found.memory[0]


def test_what_is_tried_leaves_room_to_serve_with_beyond_what_is_proved() -> None:
    log = loaded(94, 60) + captured(0, 0.5) + IN_CAPTURE + out_of_memory(2.0, 0.5)

    found, cause = read(log, mem_fraction_static=0.9)

    # Nine further sizes of 0.03 GiB at least, 1.5 GiB to serve with.
    assert min(values(found, FRACTION)) == pytest.approx(
        cause.facts["mem_fraction_high"] - 1.77 / 94 - 0.005, abs=0.001
    )
    assert "1.77 GiB more" in next(r.why for r in found.repairs if r.origin == "memory")


def test_where_weights_and_graphs_exceed_the_card_the_next_knob_comes_at_once() -> None:
    log = loaded(94, 28) + captured(2, 3.2) + IN_CAPTURE + out_of_memory(6.0, 3.2)

    found, cause = read(log, mem_fraction_static=0.8, cuda_graph_max_bs=256)

    assert not values(found, FRACTION)
    assert FRACTION not in cause.blames
    assert 128 in values(found, "cuda-graph-max-bs")
    assert "no fraction leaves room for both" in found.memory[-1]


def test_a_pool_that_something_else_took_is_not_sought_with_the_fraction() -> None:
    found, cause = read(loaded(94, 64) + NO_POOL, mem_fraction_static=0.85, max_running_requests=128)

    assert (cause.kind, cause.facts["taken_gib"]) == ("oom.gpu.kv_pool", 49.9)
    assert not values(found, FRACTION)
    assert values(found, "max-running-requests") == [64]


def test_states_took_it_where_the_model_keeps_states() -> None:
    log = loaded(94, 64, model="Qwen3NextForCausalLM") + NO_POOL

    speculation = {"speculative_algorithm": "NEXTN", "speculative_num_draft_tokens": 8, "speculative_num_steps": 7}
    found, cause = read(log, mem_fraction_static=0.85, max_running_requests=128, **speculation)

    assert cause.kind == "oom.gpu.mamba_cache"
    assert not values(found, FRACTION)
    assert values(found, "max-running-requests") == [64]
    assert values(found, "speculative-num-draft-tokens") == [4]


def test_a_small_pool_that_something_took_may_still_grow_with_the_fraction() -> None:
    found, cause = read(loaded(94, 64) + NO_POOL, mem_fraction_static=0.4)

    assert cause.kind == "oom.gpu.kv_pool"
    assert values(found, FRACTION)


def test_nothing_is_said_of_states_where_no_line_tells_of_them() -> None:
    found, _ = read(loaded(94, 40) + NO_POOL, mem_fraction_static=0.5, max_running_requests=128)

    assert min(values(found, FRACTION)) > 1 - 40 / 94
    assert not values(found, "max-running-requests")


def test_weights_that_fill_the_card_leave_it_by_the_gigabytes_that_lack() -> None:
    log = loaded(94, 0.4) + NO_POOL

    found, cause = read(log, mem_fraction_static=0.85, cpu_offload_gb=16, tp_size=8)

    # 15 % of 94 stay free, 5 % are for the pools, 0.4 are there: 18.4, in fours 20.
    assert values(found, "cpu-offload-gb") == [36]
    assert not values(found, FRACTION)
    assert not values(found, "max-running-requests")
    assert set(cause.blames) == {"tp-size", "cpu-offload-gb", "quantization"}


def test_of_weights_that_do_not_load_half_of_what_was_free_leaves_the_card_each_time() -> None:
    log = loaded(94, 94).split("\n", maxsplit=1)[0] + (
        '\nTraceback (most recent call last):\n  File "/opt/venv/lib/python3.11/site-packages/sglang/srt/model_loader/'
        'loader.py", line 9, in load_model\n    get()\n' + out_of_memory(1.5, 0.4)
    )

    assert values(read(log)[0], "cpu-offload-gb") == [48]
    assert values(read(log, cpu_offload_gb=48)[0], "cpu-offload-gb") == [96]


def test_where_weights_are_in_host_memory_anyhow_more_go_there_before_a_server_has_no_room() -> None:
    log = loaded(94, 8) + NO_POOL

    assert values(read(log, mem_fraction_static=0.85)[0], FRACTION)
    beside, _ = read(log, mem_fraction_static=0.85, cpu_offload_gb=32)

    assert not values(beside, FRACTION)
    assert values(beside, "cpu-offload-gb") == [44]


def test_states_that_lack_gigabytes_are_given_them() -> None:
    log = loaded(94, 40) + (
        "RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed "
        "max_mamba_cache_size=-28 (total_rest_memory=-7.52 GB, mamba_cache_per_req=151.2 MB)."
    )

    found, cause = read(log, mem_fraction_static=0.8)

    assert cause.facts["mem_fraction_low"] == pytest.approx(0.88)
    assert min(values(found, FRACTION)) > 0.88
    assert not values(read(log, mem_fraction_static=0.93)[0], FRACTION)


@settings(max_examples=30, deadline=None)
@given(asked=st.floats(1, 30), more=st.floats(0.5, 10))
def test_a_lower_fraction_costs_the_more_the_larger_the_part_of_the_pool_it_takes(asked: float, more: float) -> None:
    cheap, dear = (
        read(loaded(94, 60) + IN_PREFILL + out_of_memory(round(size, 2), 0.5), mem_fraction_static=0.88)[0]
        for size in (asked, asked + more)
    )

    assert price(cheap) < price(dear)


def test_half_the_pool_is_worth_more_than_the_next_variant_of_a_lever() -> None:
    found, _ = read(loaded(94, 60) + IN_PREFILL + out_of_memory(24, 0.5), mem_fraction_static=0.88)

    assert price(found) * 0.25 > 2 / 3


def test_no_remedy_that_does_not_reach_what_the_sums_ask_for_is_left() -> None:
    found, cause = read(loaded(94, 60) + IN_PREFILL + out_of_memory(9, 0.5), mem_fraction_static=0.88)

    assert all(v < cause.facts["mem_fraction_high"] for v in values(found, FRACTION))


def test_the_draft_gets_room_from_graphs_and_the_variable_that_saves_memory_stays() -> None:
    log = loaded(94, 44) + (
        'Traceback (most recent call last):\n  File "/opt/venv/lib/python3.11/site-packages/sglang/srt/speculative/'
        'eagle_worker.py", line 7, in __init__\n    load()\n' + out_of_memory(1.5, 0.4)
    )

    found, cause = read(log, mem_fraction_static=0.9, cuda_graph_max_bs=64, speculative_algorithm="NEXTN")

    order = [next(iter(r.set or r.unset), "") for r in found.repairs]
    assert order.index("cuda-graph-max-bs") < order.index("speculative-num-draft-tokens" if
        "speculative-num-draft-tokens" in order else "speculative-algorithm")  # fmt: skip
    assert "SGLANG_ENABLE_SPEC_V2" not in cause.blames_env
    assert not any("SGLANG_ENABLE_SPEC_V2" in r.unset_env for r in found.repairs)


def test_a_step_is_halved_as_often_as_what_it_asked_for_says() -> None:
    log = loaded(94, 60) + IN_PREFILL

    once = read(log + out_of_memory(3, 2), mem_fraction_static=0.9, chunked_prefill_size=8192)[0]
    thrice = read(log + out_of_memory(3, 0.5), mem_fraction_static=0.9, chunked_prefill_size=8192)[0]
    small = read(log + out_of_memory(0.5, 0.05), mem_fraction_static=0.9, chunked_prefill_size=8192)[0]

    assert [values(found, "chunked-prefill-size") for found in (once, thrice, small)] == [[4096], [1024], [4096]]


def test_a_fraction_the_engine_chose_itself_is_what_the_pools_left_free() -> None:
    log = loaded(94, 40) + f"{AT} Memory pool end. avail mem=16.45 GB\n" + IN_PREFILL + out_of_memory(1.5, 0.5)

    found, cause = read(log)

    # 1 - 16.45/94, and the 1.7 GiB that are missing with the margin.
    assert cause.facts["mem_fraction"] == pytest.approx(0.825)
    assert cause.facts["mem_fraction_high"] == pytest.approx(0.825 - 1.7 / 94, abs=0.0005)
    assert max(values(found, FRACTION)) < cause.facts["mem_fraction_high"]


def test_no_lower_fraction_is_proposed_that_leaves_no_pool() -> None:
    log = loaded(94, 17.6) + IN_PREFILL + out_of_memory(1.2, 0.9)

    found, _ = read(log, mem_fraction_static=0.9)

    # Below 1 - 17.6/94 nothing is left for the pools.
    assert values(found, FRACTION)
    assert min(values(found, FRACTION)) > 1 - 17.6 / 94


@pytest.mark.parametrize(("algorithm", "more"), [("EAGLE", 2.0), ("NGRAM", 0.0)])
def test_graphs_leave_room_for_a_draft_model_that_is_still_to_be_loaded(algorithm: str, more: float) -> None:
    log = loaded(94, 60) + captured(0, 0.5) + IN_CAPTURE + out_of_memory(2.0, 0.5)

    plain, _ = read(log, mem_fraction_static=0.9)
    drafting, _ = read(log, mem_fraction_static=0.9, speculative_algorithm=algorithm)

    assert min(values(plain, FRACTION)) - min(values(drafting, FRACTION)) == pytest.approx(more / 94, abs=0.0011)


def test_a_draft_model_whose_load_broke_off_is_given_what_it_had_not_asked_for_yet() -> None:
    second = f"{AT} Load weight begin. avail mem=0.90 GB\n"
    log = loaded(94, 60) + second + IN_DRAFT + out_of_memory(0.4, 0.3)

    found, cause = read(log, mem_fraction_static=0.9, speculative_algorithm="EAGLE")

    # 0.6 of 2 GiB were taken; 0.8 more are left to serve with.
    assert cause.kind == "oom.gpu.draft"
    (summed,) = (float(str(r.set[FRACTION])) for r in found.repairs if r.origin == "memory")
    assert summed == pytest.approx(cause.facts["mem_fraction_high"] - 2.2 / 94 - 0.005, abs=0.001)


def test_graphs_of_prefill_are_left_away_before_those_of_decode_are_made_smaller() -> None:
    begin = f"{AT} Capture target prefill CUDA graph begin. backend=breakable, avail mem=3.20 GB\n"
    bar = "Capturing num tokens (num_tokens=8192 avail_mem=1.05 GB):   2%|#  | 1/58 [00:00<00:56,  1.0s/it]\n"

    for log in (begin + out_of_memory(2.0, 0.5), bar + out_of_memory(2.0, 0.5)):
        found, cause = read(log)
        assert cause.signature == "oom-prefill-graphs"
        assert any("prefill" in n or "piecewise" in n for n in found.repairs[0].names)
        assert not values(found, "cuda-graph-max-bs")
