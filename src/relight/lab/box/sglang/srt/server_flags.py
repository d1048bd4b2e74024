"""The options of this stand-in, by release. Names, types and choices are facts about the real engine's parser."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

ATTENTION = (
    "triton torch_native flex_attention nsa cutlass_mla fa3 fa4 flashinfer flashmla trtllm_mla trtllm_mha "
    "dual_chunk_flash_attn aiter wave intel_amx ascend intel_xpu"
)
MOE = (
    "auto deep_gemm triton triton_kernel flashinfer_trtllm flashinfer_cutlass flashinfer_mxfp4 flashinfer_cutedsl "
    "cutlass"
)
QUANTIZATION = (
    "awq fp8 mxfp8 gptq marlin gptq_marlin awq_marlin bitsandbytes gguf modelopt modelopt_fp8 modelopt_fp4 "
    "petit_nvfp4 w8a8_int8 w8a8_fp8 moe_wna16 w4afp8 mxfp4 compressed-tensors"
)
SWITCH = "switch"
LATEST = (99,)


@dataclass(frozen=True)
class Flag:
    """One option: its long names (the first decides the field unless `field` does), type, choices, releases."""

    names: str
    kind: Any = str
    choices: str = ""
    field: str = ""
    nargs: str | None = None
    required: bool = False
    since: tuple[int, ...] = ()
    until: tuple[int, ...] = LATEST

    @property
    def dest(self) -> str:
        """Return the field that the option sets."""
        return self.field or self.names.split()[0].replace("-", "_")


FLAGS = (
    Flag("model-path model", required=True),
    Flag("tokenizer-path"),
    Flag("trust-remote-code", SWITCH),
    Flag("revision"),
    Flag("host"),
    Flag("port", int),
    Flag("served-model-name"),
    Flag("chat-template"),
    Flag("api-key"),
    Flag("admin-api-key"),
    Flag("config"),
    Flag("load-format", choices="auto pt safetensors npcache dummy sharded_state gguf layered fastsafetensors"),
    Flag("model-loader-extra-config"),
    Flag("json-model-override-args"),
    Flag("dtype", choices="auto half float16 bfloat16 float float32"),
    Flag("quantization", choices=QUANTIZATION),
    Flag("kv-cache-dtype", choices="auto fp8_e5m2 fp8_e4m3 bf16 bfloat16 fp4_e2m1", until=(0, 5, 19)),
    Flag("kv-cache-dtype", choices="auto fp8_e5m2 fp8_e4m3 mxfp8 bf16 bfloat16 nvfp4", since=(0, 5, 20)),
    Flag("context-length", int),
    Flag("mem-fraction-static", float),
    Flag("max-running-requests", int),
    Flag("max-total-tokens", int),
    Flag("chunked-prefill-size", int),
    Flag("max-prefill-tokens", int),
    Flag("page-size", int),
    Flag("schedule-policy", choices="lpm random fcfs dfs-weight lof priority routing-key"),
    Flag("schedule-conservativeness", float),
    Flag("stream-interval", int),
    Flag("random-seed", int),
    Flag("device"),
    Flag("tensor-parallel-size tp-size", int, until=(0, 5, 19)),
    Flag("tp-size tensor-parallel-size", int, since=(0, 5, 20)),
    Flag("pipeline-parallel-size pp-size", int, until=(0, 5, 19)),
    Flag("pp-size pipeline-parallel-size", int, since=(0, 5, 20)),
    Flag("data-parallel-size dp-size", int, until=(0, 5, 19)),
    Flag("dp-size data-parallel-size", int, since=(0, 5, 20)),
    Flag("expert-parallel-size ep-size ep", int, until=(0, 5, 19)),
    Flag("ep-size expert-parallel-size ep", int, since=(0, 5, 20)),
    Flag("base-gpu-id", int),
    Flag("nnodes", int),
    Flag("node-rank", int),
    Flag("dist-init-addr nccl-init-addr"),
    Flag("nccl-port", int),
    Flag("dist-timeout", int),
    Flag("watchdog-timeout", float),
    Flag("log-level"),
    Flag("crash-dump-folder"),
    Flag("decode-log-interval", int),
    Flag("enable-metrics", SWITCH),
    Flag("skip-server-warmup", SWITCH),
    Flag("reasoning-parser"),
    Flag("tool-call-parser"),
    Flag("attention-backend", choices=ATTENTION),
    Flag("prefill-attention-backend", choices=ATTENTION),
    Flag("decode-attention-backend", choices=ATTENTION),
    Flag("mm-attention-backend", choices="sdpa fa3 fa4 triton_attn ascend_attn aiter_attn"),
    Flag("linear-attn-backend", choices="triton cutedsl flashinfer", since=(0, 5, 12)),
    Flag("sampling-backend", choices="flashinfer pytorch ascend"),
    Flag("moe-runner-backend", choices=MOE, until=(0, 5, 15)),
    Flag("moe-runner-backend", choices=f"{MOE} marlin", since=(0, 5, 16)),
    Flag("moe-a2a-backend", choices="none deepep mooncake mori ascend_fuseep flashinfer"),
    Flag(
        "fp8-gemm-backend",
        choices="auto deep_gemm flashinfer_trtllm flashinfer_deepgemm cutlass triton aiter",
        field="fp8_gemm_runner_backend",
    ),
    Flag(
        "fp4-gemm-backend",
        choices="auto flashinfer_cudnn flashinfer_cutlass flashinfer_trtllm",
        field="fp4_gemm_runner_backend",
    ),
    Flag("speculative-algorithm", choices="EAGLE EAGLE3 NEXTN STANDALONE NGRAM"),
    Flag("speculative-draft-model-path speculative-draft-model"),
    Flag("speculative-num-steps", int),
    Flag("speculative-eagle-topk", int),
    Flag("speculative-num-draft-tokens", int),
    Flag("speculative-attention-mode", choices="prefill decode"),
    Flag("mamba-scheduler-strategy", choices="auto no_buffer extra_buffer", until=(0, 5, 15)),
    Flag(
        "mamba-radix-cache-strategy mamba-scheduler-strategy",
        choices="auto no_buffer extra_buffer extra_buffer_lazy",
        since=(0, 5, 16),
        until=(0, 5, 19),
    ),
    Flag("mamba-radix-cache-strategy", choices="auto no_buffer extra_buffer extra_buffer_lazy", since=(0, 5, 20)),
    Flag("mamba-ssm-dtype", choices="float32 bfloat16 float16"),
    Flag("mamba-track-interval", int),
    Flag("max-mamba-cache-size", int),
    Flag("mamba-full-memory-ratio", float),
    Flag("disable-radix-cache", SWITCH),
    Flag("cuda-graph-max-bs", int, until=(0, 5, 15)),
    Flag("cuda-graph-bs", int, nargs="+", until=(0, 5, 15)),
    Flag("cuda-graph-max-bs-decode cuda-graph-max-bs", int, since=(0, 5, 16), until=(0, 5, 19)),
    Flag("cuda-graph-max-bs-decode", int, since=(0, 5, 20)),
    Flag("cuda-graph-bs-decode", int, nargs="+", since=(0, 5, 16)),
    Flag("cuda-graph-max-bs-prefill", int, since=(0, 5, 16)),
    Flag("cuda-graph-bs-prefill", int, nargs="+", since=(0, 5, 16)),
    Flag("disable-cuda-graph", SWITCH),
    Flag("enable-piecewise-cuda-graph", SWITCH, until=(0, 5, 11)),
    Flag("disable-overlap-schedule", SWITCH),
    Flag("enable-mixed-chunk", SWITCH),
    Flag("enable-dp-attention", SWITCH),
    Flag("enable-eplb", SWITCH),
    Flag("enable-hierarchical-cache", SWITCH),
    Flag("hicache-ratio", float),
    Flag("cpu-offload-gb", int),
    Flag("enable-torch-compile", SWITCH),
    Flag("disable-shared-experts-fusion", SWITCH),
    Flag("disable-flashinfer-autotune", SWITCH),
    Flag("disable-custom-all-reduce", SWITCH),
    Flag("enable-mscclpp", SWITCH),
    Flag("enable-torch-symm-mem", SWITCH),
    Flag("enable-symm-mem", SWITCH),
    Flag("enable-nccl-nvls", SWITCH),
    Flag("enable-flashinfer-allreduce-fusion", SWITCH),
    Flag("enable-p2p-check", SWITCH),
)
# Long names of the parser and short ones of the fields differ for these up to 0.5.19.
SHORT = {
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "data_parallel_size": "dp_size",
    "expert_parallel_size": "ep_size",
}


def known(release: tuple[int, ...]) -> Iterator[Flag]:
    """Yield the options of `release`."""
    return (f for f in FLAGS if f.since <= release <= f.until)


def add(parser: argparse.ArgumentParser, release: tuple[int, ...], defaults: Any) -> None:
    """Add the options of `release` to `parser`; `defaults` has an attribute per field."""
    for flag in known(release):
        words = [f"--{name}" for name in flag.names.split()]
        default = getattr(defaults, SHORT.get(flag.dest, flag.dest), None)
        if flag.kind == SWITCH:
            parser.add_argument(*words, action="store_true", dest=flag.dest, help=f"Set {flag.dest}.")
        else:
            parser.add_argument(
                *words,
                type=flag.kind,
                dest=flag.dest,
                default=default,
                choices=flag.choices.split() or None,
                nargs=flag.nargs,
                required=flag.required,
                help=f"Set {flag.dest}.",
            )


def merge_config(argv: list[str]) -> list[str]:
    """Return `argv` with `--config FILE` replaced by what the file says (YAML of one key per line, or JSON)."""
    at = argv.index("--config")
    with open(argv[at + 1]) as file:  # noqa: PTH123  the same call and the same errors as the engine's
        text = file.read()
    return [*_words(_pairs(text)), *argv[:at], *argv[at + 2 :]]


def _pairs(text: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        found: dict[str, Any] = json.loads(text)
        return found
    lines = [line.split(":", 1) for line in text.splitlines() if ":" in line and not line.lstrip().startswith("#")]
    return {key.strip(): _scalar(value.strip()) for key, value in lines}


def _scalar(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.strip("'")


def _words(pairs: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for key, value in pairs.items():
        if value is True:
            words.append(f"--{key}")
        elif value is not False and value is not None:
            words += [f"--{key}", *(str(v) for v in (value if isinstance(value, list) else [value]))]
    return words
