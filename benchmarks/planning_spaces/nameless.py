"""Spaces whose failures name nothing: real levers, and a guilt that only launches can find."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from relight.words.playbook import Budget, Lever, Playbook, Variant

Given = Mapping[str, Any]
BASE = {
    "model-path": "nvidia/Qwen3.5-397B-A17B-NVFP4", "tp-size": 8, "port": 30000, "quantization": "modelopt_fp4",
    "chunked-prefill-size": 8192, "max-running-requests": 48,
}  # fmt: skip
SPECULATION = {"speculative-algorithm": "NEXTN", "speculative-num-steps": 3, "speculative-eagle-topk": 1,
               "speculative-num-draft-tokens": 4}  # fmt: skip
# A lever's worth, its variants, and whether it may be off.
CATALOGUE: Mapping[str, tuple[float, tuple[dict[str, Any], ...], bool]] = {
    "speculation": (5, (SPECULATION, {**SPECULATION, "speculative-num-steps": 1, "speculative-num-draft-tokens": 2}),
                    True),
    "prefix": (3, ({"mamba-scheduler-strategy": "extra_buffer", "page-size": 64},), True),
    "attention": (2, ({"attention-backend": "flashinfer"}, {"attention-backend": "triton"}), False),
    "experts": (2, ({"moe-runner-backend": "flashinfer_cutlass"}, {"moe-runner-backend": "triton"}), True),
    "gemm": (1, ({"fp4-gemm-backend": "flashinfer_cutlass"}, {"fp4-gemm-backend": "flashinfer_cudnn"}), True),
    "graphs": (1, ({"cuda-graph-max-bs": 32}, {"cuda-graph-max-bs": 8}), True),
    "cache": (1, ({"kv-cache-dtype": "fp8_e4m3"},), True),
    "mscclpp": (0.5, ({"enable-mscclpp": True},), True),
    "symmetric": (0.5, ({"enable-torch-symm-mem": True},), True),
    "fusion": (0.5, ({"enable-flashinfer-allreduce-fusion": True},), True),
    "mixed": (1, ({"enable-mixed-chunk": True},), True),
    "compile": (0.5, ({"enable-torch-compile": True},), True),
    "batches": (1, ({"enable-two-batch-overlap": True},), True),
    "host-cache": (2, ({"enable-hierarchical-cache": True, "hicache-ratio": 2},), True),
    "ranks": (1, ({"ep-size": 8},), True),
    "streams": (1, ({"num-continuous-decode-steps": 4},), True),
}  # fmt: skip
# How often each is at fault where nobody can say why, among what people report of PCIe boxes; others: 1.
OFTEN = {"speculation": 4, "mscclpp": 4, "symmetric": 4, "fusion": 3, "attention": 3, "experts": 3, "compile": 2,
         "cache": 2, "gemm": 2, "batches": 2, "ranks": 2, "host-cache": 2}  # fmt: skip
GUILTS = ("one", "one", "one", "one", "two", "two", "pair", "pair", "base")
SYMPTOMS = ("crash", "crash", "hang", "garbage")


@dataclass(frozen=True)
class Guilt:
    """A reason to fail that no log tells: `print` sets failures apart, `phase` is how far a start gets."""

    met: Callable[[Given], bool]
    print: str
    phase: str


@dataclass(frozen=True)
class Nameless:
    """A playbook, and what is wrong with it; `how` says what kind of guilt it is, `symptom` what it shows."""

    playbook: Playbook
    guilts: tuple[Guilt, ...]
    how: str
    symptom: str
    seed: int


def nameless(seed: int, levers: int | None = None, *, often: bool = False) -> Nameless:
    """Return the space of a seed; with `often`, what is at fault is drawn by how often it is in practice."""
    random = Random(seed)
    count = levers or random.randint(5, 10)
    names = random.sample(list(CATALOGUE), count)
    made = tuple(_lever(name) for name in names)
    how, symptom = random.choice(GUILTS), random.choice(SYMPTOMS)
    book = Playbook(f"nameless-{seed}", flags=BASE, levers=made, budget=Budget(attempts=60, deadline=1e12),
                    protect_flags=frozenset({"tp-size", "quantization"}))  # fmt: skip
    return Nameless(book, _guilts(how, symptom, made, random, often=often), how, symptom, seed)


def _lever(name: str) -> Lever:
    keep, variants, leavable = CATALOGUE[name]
    off = (Variant(off=True),) if leavable else ()
    return Lever(name, (*map(Variant, variants), *off), keep)


def _guilts(how: str, symptom: str, levers: tuple[Lever, ...], random: Random, *, often: bool) -> tuple[Guilt, ...]:
    phases = {"crash": "capture", "hang": "warmup", "garbage": "serving"}
    last, phase = phases[symptom], random.choice(("pools", "capture"))
    if how == "base":
        name = random.choice(("chunked-prefill-size", "max-running-requests"))
        return (Guilt(lambda f: f.get(name) == BASE[name], "one", last),)
    first, second = _drawn(levers, random, often=often)
    one, other = _met(first, random), _met(second, random)
    if how == "pair":
        return (Guilt(lambda f: one(f) and other(f), "one", last),)
    if how == "one":
        return (Guilt(one, "one", last),)
    alike = symptom == "garbage" or random.random() < 0.5
    return (Guilt(one, "one", last), Guilt(other, "one" if alike else "other", last if alike else phase))


def _drawn(levers: tuple[Lever, ...], random: Random, *, often: bool) -> tuple[Lever, Lever]:
    weights = [OFTEN.get(lever.name, 1) if often else 1 for lever in levers]
    first = random.choices(levers, weights)[0]
    rest = [(lever, w) for lever, w in zip(levers, weights, strict=True) if lever is not first]
    return first, random.choices([x for x, _ in rest], [w for _, w in rest])[0]


def _met(lever: Lever, random: Random) -> Callable[[Given], bool]:
    """Return when a lever is at fault: with its first variant, or half the time with any where it may be off."""
    name, value = next(iter(lever.variants[0].flags.items()))
    whole = any(v.off for v in lever.variants) and random.random() < 0.5
    asked = lever.variants[0].flags

    def met(given: Given) -> bool:
        if whole:
            return name in given
        return given.get(name) == value and all(given.get(n) == v for n, v in asked.items())

    return met


def healthy(space: Nameless, given: Given) -> bool:
    """Say whether settings work."""
    return not any(guilt.met(given) for guilt in space.guilts)
