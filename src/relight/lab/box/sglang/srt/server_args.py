"""The arguments of the server: what may be given, what is filled in, and what is refused."""

# mypy: disable-error-code="import-not-found,no-any-return,operator"
# ruff: noqa: S101, PT018  the engine checks its arguments with bare assertions, and so does what stands in for it
import argparse
import dataclasses
import os
import sys
from typing import Any

from sglang.srt import server_flags
from sglang.srt.arg_groups.speculative_hook import apply_speculative_defaults
from sglang.srt.configs.model_config import get_config
from sglang.srt.stand_in import cards
from sglang.srt.stand_in.log import raw, say
from sglang.srt.stand_in.world import Model, release, since

FLA_CHUNK_SIZE = 64
SPEC_MODELS = ("EAGLE", "EAGLE3", "STANDALONE")


def env_true(name: str, default: str = "0") -> bool:
    """Say whether an environment switch is on."""
    return os.environ.get(name, default).lower() in {"1", "true", "yes"}


def warn(message: str) -> None:
    """Write a warning as the main process does before its logger is set up."""
    if since(0, 5, 10):
        raw(f"{message}\n")
    else:
        say(f"WARNING server_args.py:{sys._getframe(1).f_lineno}: {message}")  # noqa: SLF001  the line is part of it


@dataclasses.dataclass
class ServerArgs:
    """All arguments; None where the engine chooses."""

    model_path: str = ""
    tokenizer_path: str | None = None
    trust_remote_code: bool = False
    revision: str | None = None
    host: str = "127.0.0.1"
    port: int = 30000
    served_model_name: str | None = None
    chat_template: str | None = None
    api_key: str | None = None
    admin_api_key: str | None = None
    load_format: str = "auto"
    model_loader_extra_config: str = "{}"
    json_model_override_args: str = "{}"
    dtype: str = "auto"
    quantization: str | None = None
    kv_cache_dtype: str = "auto"
    context_length: int | None = None
    mem_fraction_static: float | None = None
    max_running_requests: int | None = None
    max_total_tokens: int | None = None
    chunked_prefill_size: int | None = None
    max_prefill_tokens: int = 16384
    page_size: int | None = None
    schedule_policy: str = "fcfs"
    schedule_conservativeness: float = 1.0
    stream_interval: int = 1
    random_seed: int | None = None
    device: str | None = None
    tp_size: int = 1
    pp_size: int = 1
    dp_size: int = 1
    ep_size: int = 1
    base_gpu_id: int = 0
    nnodes: int = 1
    node_rank: int = 0
    dist_init_addr: str | None = None
    nccl_port: int | None = None
    dist_timeout: int | None = None
    watchdog_timeout: float = 300
    log_level: str = "info"
    crash_dump_folder: str | None = None
    decode_log_interval: int = 40
    enable_metrics: bool = False
    skip_server_warmup: bool = False
    reasoning_parser: str | None = None
    tool_call_parser: str | None = None
    attention_backend: str | None = None
    prefill_attention_backend: str | None = None
    decode_attention_backend: str | None = None
    mm_attention_backend: str | None = None
    linear_attn_backend: str = "triton"
    sampling_backend: str | None = None
    moe_runner_backend: str = "auto"
    moe_a2a_backend: str = "none"
    fp8_gemm_runner_backend: str = "auto"
    fp4_gemm_runner_backend: str = "flashinfer_cutlass"
    speculative_algorithm: str | None = None
    speculative_draft_model_path: str | None = None
    speculative_num_steps: int | None = None
    speculative_eagle_topk: int | None = None
    speculative_num_draft_tokens: int | None = None
    speculative_attention_mode: str = "prefill"
    mamba_scheduler_strategy: str = "auto"
    mamba_radix_cache_strategy: str = "auto"
    mamba_ssm_dtype: str | None = None
    mamba_track_interval: int = 256
    max_mamba_cache_size: int | None = None
    mamba_full_memory_ratio: float = 0.9
    disable_radix_cache: bool = False
    cuda_graph_max_bs: int | None = None
    cuda_graph_bs: list[int] | None = None
    cuda_graph_max_bs_decode: int | None = None
    cuda_graph_bs_decode: list[int] | None = None
    cuda_graph_max_bs_prefill: int | None = None
    cuda_graph_bs_prefill: list[int] | None = None
    disable_cuda_graph: bool = False
    enable_piecewise_cuda_graph: bool = False
    disable_overlap_schedule: bool = False
    enable_mixed_chunk: bool = False
    enable_dp_attention: bool = False
    enable_eplb: bool = False
    enable_hierarchical_cache: bool = False
    hicache_ratio: float = 2.0
    cpu_offload_gb: int = 0
    enable_torch_compile: bool = False
    disable_shared_experts_fusion: bool = False
    disable_flashinfer_autotune: bool = False
    disable_custom_all_reduce: bool = False
    enable_mscclpp: bool = False
    enable_torch_symm_mem: bool = False
    enable_symm_mem: bool = False
    enable_nccl_nvls: bool = False
    enable_flashinfer_allreduce_fusion: bool = False
    enable_p2p_check: bool = False

    def __post_init__(self) -> None:
        """Fill in what was not given and refuse what cannot work."""
        self._handle_missing_default_values()
        self._handle_gpu_memory_settings()
        self._handle_model_specific_adjustments()
        self._handle_attention_backend_compatibility()
        self._handle_cache_compatibility()
        self._handle_data_parallelism()
        self._handle_moe_kernel_config()
        self._handle_pipeline_parallelism()
        if since(0, 5, 20):
            apply_speculative_defaults(self, warn)
        else:
            self._handle_speculative_decoding()
        self._handle_other_validations()

    def _handle_missing_default_values(self) -> None:
        self.tokenizer_path = self.tokenizer_path or self.model_path
        self.served_model_name = self.served_model_name or self.model_path
        self.device = self.device or "cuda"
        self.random_seed = 42 if self.random_seed is None else self.random_seed
        self.sampling_backend = self.sampling_backend or "flashinfer"
        self.page_size = self.page_size or 1

    def _handle_gpu_memory_settings(self) -> None:
        if self.chunked_prefill_size is None:
            self.chunked_prefill_size = 8192
        self._default_graph_sizes()
        if self.mem_fraction_static is None:
            self.mem_fraction_static = self._default_mem_fraction()

    def _default_graph_sizes(self) -> None:
        most = 512 if self.tp_size >= 4 else 256
        if since(0, 5, 16):
            self.cuda_graph_max_bs_decode = self.cuda_graph_max_bs_decode or most
        else:
            self.cuda_graph_max_bs = self.cuda_graph_max_bs or most

    def _default_mem_fraction(self) -> float:
        graphs = 0 if self.disable_cuda_graph else 2 * self.graph_max_bs
        reserved = 512 + 1.5 * max(self.chunked_prefill_size or 0, 2048) + graphs
        reserved = max(reserved + 1024 * self.tp_size * self.pp_size / 8, 10240)
        if self.speculative_algorithm and not since(0, 5, 16):
            reserved += 4096 if since(0, 5, 12) else 2048
        return float(round((cards.TOTAL_MIB - reserved) / cards.TOTAL_MIB, 3))

    def _handle_model_specific_adjustments(self) -> None:
        if self.model_config.hybrid and not since(0, 5, 20):
            self._handle_mamba_radix_cache(self.model_config.architecture)

    def _handle_mamba_radix_cache(self, model_arch: str) -> None:
        if self.mamba_scheduler_strategy == "auto":
            self.mamba_scheduler_strategy = "no_buffer"
        if self.enable_mamba_extra_buffer():
            assert self.device == "cuda", "Mamba extra_buffer is only supported on CUDA devices with FLA backend"
            if self.speculative_num_draft_tokens is not None:
                assert self.mamba_track_interval >= self.speculative_num_draft_tokens, (
                    f"mamba_track_interval {self.mamba_track_interval} must be greater than or equal to "
                    f"speculative_num_draft_tokens {self.speculative_num_draft_tokens}"
                )
            if self.page_size is not None:
                assert self.mamba_track_interval % self.page_size == 0, (
                    f"mamba_track_interval {self.mamba_track_interval} must be divisible by page_size {self.page_size}"
                )
                assert max(FLA_CHUNK_SIZE, self.page_size) % min(FLA_CHUNK_SIZE, self.page_size) == 0, (
                    "For SSM models with extra buffer, either FLA_CHUNK_SIZE or page_size must be divisible by the "
                    f"other, got {FLA_CHUNK_SIZE=}, {self.page_size=}"
                )
        elif not self.disable_radix_cache:
            self._handle_no_buffer(model_arch)

    def _handle_no_buffer(self, model_arch: str) -> None:
        if self.speculative_algorithm is None:
            warn("Disabling overlap schedule since mamba no_buffer is not compatible with overlap schedule.")
            self.disable_overlap_schedule = True
        else:
            raise ValueError(
                f"Speculative decoding for {model_arch} is not compatible with radix cache when using "
                "--mamba-scheduler-strategy no_buffer."
                "To use radix cache with speculative decoding, please use --mamba-scheduler-strategy extra_buffer "
                "and set SGLANG_ENABLE_SPEC_V2=1."
            )

    def _handle_attention_backend_compatibility(self) -> None:
        if self.attention_backend is None:
            self.attention_backend = "flashinfer"
            warn(f"Attention backend not specified. Use {self.attention_backend} backend by default.")
        used = (self.attention_backend, self.prefill_attention_backend, self.decode_attention_backend)
        if "trtllm_mha" in used and not since(0, 5, 20):
            raise ValueError(
                "TRTLLM MHA backend is only supported on Blackwell GPUs (SM100). Please use a different backend."
            )
        if self.attention_backend in ("torch_native", "flex_attention"):
            warn(f"Cuda graph is disabled because of using {self.attention_backend.replace('_', ' ')} backend")
            self.disable_cuda_graph = True
            assert self.speculative_algorithm is None, (
                "Speculative decoding is currently not supported with Flex Attention backend"
            )

    def _handle_cache_compatibility(self) -> None:
        if self.enable_hierarchical_cache and self.disable_radix_cache:
            raise ValueError(
                "The arguments enable-hierarchical-cache and disable-radix-cache are mutually exclusive "
                "and cannot be used at the same time. Please use only one of them."
            )

    def _handle_data_parallelism(self) -> None:
        if self.enable_dp_attention:
            assert self.tp_size % self.dp_size == 0
            self.chunked_prefill_size = self.chunked_prefill_size // self.dp_size
        if self.enable_eplb:
            assert self.ep_size > 1

    def _handle_moe_kernel_config(self) -> None:
        if self.moe_runner_backend == "flashinfer_cutlass":
            assert self.quantization in ("modelopt_fp4", "modelopt_fp8", None), (
                f"Invalid quantization '{self.quantization}'. \nFlashInfer Cutlass MOE supports only: "
                "'modelopt_fp4', 'modelopt_fp8', or bfloat16 (None)."
            )
            assert self.ep_size in [1, self.tp_size], (
                "The expert parallel size must be 1 or the same as the tensor parallel size"
            )
        if self.moe_runner_backend == "cutlass" and self.quantization is not None:
            assert self.quantization in ("fp8", "mxfp8", "modelopt_fp4"), (
                "cutlass MoE is only supported with fp8/mxfp8 quantization"
            )
        if self.moe_a2a_backend == "deepep":
            warn(
                "DeepEP MoE is enabled. The expert parallel size is adjusted to be the same as the tensor parallel "
                f"size[{self.tp_size}]."
            )
            self.ep_size = self.tp_size

    def _handle_pipeline_parallelism(self) -> None:
        if self.pp_size > 1:
            warn("Overlap scheduler is disabled because of using pipeline parallelism.")
            self.disable_overlap_schedule = True
            assert (
                self.disable_overlap_schedule and self.speculative_algorithm is None and not self.enable_mixed_chunk
            ), (
                "Pipeline parallelism is not compatible with overlap schedule, speculative decoding, "
                "mixed chunked prefill."
            )

    def _handle_speculative_decoding(self) -> None:
        if self.speculative_algorithm == "NEXTN":
            self.speculative_algorithm = "EAGLE"
        if self.speculative_algorithm not in SPEC_MODELS:
            return
        if self.max_running_requests is None:
            self.max_running_requests = 48
            warn(
                "Max running requests is reset to 48 for speculative decoding. "
                "You can override this by explicitly setting --max-running-requests."
            )
        self._handle_spec_v2()
        if self.speculative_num_steps is None:
            assert self.speculative_eagle_topk is None and self.speculative_num_draft_tokens is None
            self.speculative_num_steps, self.speculative_eagle_topk, self.speculative_num_draft_tokens = 3, 1, 4
        if (
            self.speculative_eagle_topk > 1
            and self.page_size > 1
            and self.attention_backend not in ("flashinfer", "fa3")
        ):
            raise ValueError(
                "speculative_eagle_topk > 1 with page_size > 1 is unstable and produces incorrect results for paged "
                "attention backends. This combination is only supported for the 'flashinfer' backend."
            )
        if self.speculative_eagle_topk == 1 and self.speculative_num_draft_tokens != self.speculative_num_steps + 1:
            warn(
                "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 when speculative_eagle_topk == 1"
            )
            self.speculative_num_draft_tokens = self.speculative_num_steps + 1

    def _handle_spec_v2(self) -> None:
        if not self.spec_v2:
            self.disable_overlap_schedule = True
            warn(
                "Overlap scheduler is disabled when spec v2 is off or using unsupported speculative algorithm. "
                "You can set env SGLANG_ENABLE_SPEC_V2=True to enable the experimental overlap scheduler. "
            )
            return
        self.disable_overlap_schedule = False
        warn("Spec v2 is enabled for eagle/eagle3 speculative decoding and overlap schedule is turned on.")
        if self.speculative_eagle_topk is not None and self.speculative_eagle_topk > 1:
            raise ValueError("Spec v2 currently only supports topk = 1 for speculative decoding.")

    def _handle_other_validations(self) -> None:
        if self.chunked_prefill_size > 0:
            assert self.chunked_prefill_size % self.page_size == 0, (
                "chunked_prefill_size must be divisible by page_size"
            )
        assert self.tp_size * self.pp_size % self.nnodes == 0, "tp_size must be divisible by number of nodes"
        assert self.schedule_conservativeness >= 0, "schedule_conservativeness must be non-negative"
        if ":" in self.served_model_name:
            raise ValueError("served_model_name cannot contain a colon (':') character.")
        longest = self.model_config.context
        if (
            self.context_length is not None
            and self.context_length > longest
            and not env_true("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN")
        ):
            raise ValueError(
                f"User-specified context_length ({self.context_length}) is greater than the derived context_length "
                f"({longest}). This may lead to incorrect model outputs or CUDA errors. To allow overriding this "
                "maximum, set the env var SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1"
            )

    @property
    def model_config(self) -> Model:
        """Return what is known about the model; raises OSError where there is none of that name."""
        return get_config(self.model_path)

    @property
    def spec_v2(self) -> bool:
        """Say whether the overlapping worker for speculation is on."""
        return since(0, 5, 16) or env_true("SGLANG_ENABLE_SPEC_V2", "1" if since(0, 5, 12) else "0")

    @property
    def graph_max_bs(self) -> int:
        """Return the largest batch that gets a graph."""
        return (self.cuda_graph_max_bs_decode if since(0, 5, 16) else self.cuda_graph_max_bs) or 0

    @property
    def graph_sizes(self) -> list[int] | None:
        """Return the batch sizes that were asked for, None where the engine chooses."""
        return self.cuda_graph_bs_decode if since(0, 5, 16) else self.cuda_graph_bs

    def enable_mamba_extra_buffer(self) -> bool:
        """Say whether state slots get a second buffer."""
        return "extra_buffer" in (self.mamba_radix_cache_strategy if since(0, 5, 20) else self.mamba_scheduler_strategy)

    def by_flag(self) -> dict[str, object]:
        """Return the values in use by every long name of their options."""
        return {
            name: getattr(self, server_flags.SHORT.get(flag.dest, flag.dest), None)
            for flag in server_flags.known(release())
            for name in flag.names.split()
        }

    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser) -> None:
        """Add every option of this release to `parser`."""
        server_flags.add(parser, release(), ServerArgs)

    @classmethod
    def from_cli_args(cls, args: argparse.Namespace) -> "ServerArgs":
        """Return the arguments that `args` holds."""
        for long, short in server_flags.SHORT.items():
            if hasattr(args, long):
                setattr(args, short, getattr(args, long))
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: getattr(args, name) for name in names if hasattr(args, name)})


def prepare_server_args(argv: list[str]) -> ServerArgs:
    """Return the arguments of a command line; argparse ends the process (status 2) where it does not parse."""
    parser = argparse.ArgumentParser(**_program())
    ServerArgs.add_cli_args(parser)
    if "--config" in argv:
        argv = server_flags.merge_config(argv)
    return ServerArgs.from_cli_args(parser.parse_args(argv))


def _program() -> dict[str, Any]:
    return {"prog": "sglang serve"} if since(0, 5, 12) else {}
