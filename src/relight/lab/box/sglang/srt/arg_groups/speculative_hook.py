"""Checks of the speculative options, from release 0.5.20 on."""

# ruff: noqa: S101, PT018  the engine checks its arguments with bare assertions, and so does what stands in for it
from collections.abc import Callable
from typing import Any

TRACKED = ("EAGLE", "EAGLE3", "STANDALONE")


def apply_speculative_defaults(server_args: Any, warn: Callable[[str], None]) -> None:
    """Fill in the options of speculation that were not given and refuse what cannot work."""
    cfg = server_args
    if cfg.speculative_algorithm == "NEXTN":
        cfg.speculative_algorithm = "EAGLE"
    if cfg.speculative_algorithm not in TRACKED:
        return
    if cfg.max_running_requests is None:
        cfg.max_running_requests = 48
        warn(
            "Max running requests is reset to 48 for speculative decoding. "
            "You can override this by explicitly setting --max-running-requests."
        )
    handle_steps(cfg, warn)
    if cfg.model_config.hybrid and cfg.enable_mamba_extra_buffer():
        assert cfg.mamba_track_interval >= cfg.speculative_num_draft_tokens
        assert cfg.mamba_track_interval % cfg.page_size == 0
    if cfg.model_config.hybrid and cfg.mamba_radix_cache_strategy == "no_buffer" and not cfg.disable_radix_cache:
        raise ValueError(
            "no_buffer do not support overlap schedule. Please use --mamba-radix-cache-strategy extra_buffer "
            "or --disable-overlap-schedule."
        )


def handle_steps(cfg: Any, warn: Callable[[str], None]) -> None:
    """Fill in or check the three numbers of a draft: all of them are given or none."""
    if cfg.speculative_num_steps is None:
        assert cfg.speculative_eagle_topk is None and cfg.speculative_num_draft_tokens is None
        cfg.speculative_num_steps, cfg.speculative_eagle_topk, cfg.speculative_num_draft_tokens = 3, 1, 4
    if (
        cfg.speculative_eagle_topk > 1
        and cfg.page_size > 1
        and cfg.attention_backend not in ("flashinfer", "fa3", "triton")
    ):
        raise ValueError(
            "speculative_eagle_topk > 1 with page_size > 1 is unstable and produces incorrect results for paged "
            "attention backends. This combination is only supported on ('flashinfer', 'fa3', 'triton')."
        )
    if cfg.speculative_eagle_topk == 1 and cfg.speculative_num_draft_tokens != cfg.speculative_num_steps + 1:
        warn("speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 when speculative_eagle_topk == 1")
        cfg.speculative_num_draft_tokens = cfg.speculative_num_steps + 1
