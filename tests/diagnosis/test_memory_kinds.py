"""Where the lines of memory are missing, message and frames name what had no room."""

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.logs.lines import split
from relight.words.diagnosis import Diagnosis

KNOWLEDGE = load_knowledge()
SITE = "/opt/venv/lib/python3.11/site-packages"
FULL = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 94.97 GiB"
    " of which 1.20 GiB is free."
)
LITTLE = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
NEGATIVE = "RuntimeError: Trying to create tensor with negative dimension -12: [-12, 8, 128]"
POOLS = ("model_executor/model_runner.py init_memory_pool", "mem_cache/memory_pool.py _create_buffers")
STATES = ("model_executor/model_runner.py init_memory_pool", "mem_cache/memory_pool.py _init_mamba_pool")
DRAFT = ("speculative/eagle_worker.py __init__", "model_executor/model_runner.py init_memory_pool")


def found(*lines: str) -> Diagnosis:
    return diagnose(split(["\n".join(lines).encode() + b"\n"]), KNOWLEDGE, name="log")


def raised(error: str, *places: str) -> list[str]:
    split_places = [p.partition(" ") for p in ("managers/scheduler.py __init__", *places)]
    frames = [f'  File "{SITE}/sglang/srt/{file}", line 41, in {function}' for file, _, function in split_places]
    return ["Traceback (most recent call last):", *frames, error]


def kind(*lines: str) -> str:
    cause = found(*lines).cause
    return cause.kind.removeprefix("oom.gpu.") if cause else ""


@pytest.mark.parametrize(
    ("error", "places", "wanted"),
    [
        (FULL, POOLS, "kv_pool"),
        (NEGATIVE, POOLS, "kv_pool"),
        (LITTLE, POOLS, "kv_pool"),
        (FULL, STATES, "mamba_cache"),
        (NEGATIVE, STATES, "mamba_cache"),
        (FULL, DRAFT, "draft"),
        (LITTLE, DRAFT, "draft"),
        (FULL, ("distributed/device_communicators/custom_all_reduce.py __init__",), "comm"),
        (FULL, ("model_executor/model_runner.py init_attention_backend",), "activation"),
    ],
)
def test_the_frames_of_a_bare_error_name_what_had_no_room(error: str, places: tuple[str, ...], wanted: str) -> None:
    assert kind(*raised(error, *places)) == wanted


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (LITTLE, "kv_pool"),
        ("ValueError: The model leaves no room for the KV cache: -3.20 GB. Increase --mem-fraction-static.", "kv_pool"),
        ("ValueError: Not enough GPU memory for the KV cache pool", "kv_pool"),
        ("ValueError: at least one request is wanted. The KV cache pool left no room for it", "kv_pool"),
        ("ValueError: Not enough memory for mamba cache. Increase --mem-fraction-static", "mamba_cache"),
        ("RuntimeError: Not enough GPU memory left for the linear attention states", "mamba_cache"),
    ],
)
def test_the_words_of_a_bare_error_name_what_had_no_room(error: str, wanted: str) -> None:
    assert kind(error) == wanted


def test_a_pool_without_room_asks_for_a_larger_fraction() -> None:
    assert found(*raised(NEGATIVE, *POOLS)).repairs[0].set == {"mem-fraction-static": 0.92}


def test_a_negative_dimension_elsewhere_is_no_matter_of_memory() -> None:
    assert kind(*raised(NEGATIVE, "layers/rotary_embedding.py forward")) == "engine.bug"
