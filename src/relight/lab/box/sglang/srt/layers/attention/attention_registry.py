"""The attention backends and what they refuse on this card (capability 12.0)."""

# mypy: disable-error-code="import-not-found,no-any-return"
# ruff: noqa: S101  the engine checks with assertions here, and so does what stands in for it
from collections.abc import Callable

from sglang.srt.server_args import ServerArgs
from sglang.srt.stand_in.errors import named
from sglang.srt.stand_in.world import since

ATTENTION_BACKENDS: dict[str, Callable[[ServerArgs], str]] = {}
OLD_HYBRID = ("triton", "trtllm_mha")
NEW_HYBRID = ("triton", "trtllm_mha", "flashinfer")


def register_attention_backend(name: str) -> Callable[[Callable[[ServerArgs], str]], Callable[[ServerArgs], str]]:
    """Register a function that creates the backend `name`."""

    def put(create: Callable[[ServerArgs], str]) -> Callable[[ServerArgs], str]:
        ATTENTION_BACKENDS[name] = create
        return create

    return put


def attn_backend_wrapper(server_args: ServerArgs, full_attention_backend: str) -> str:
    """Return the backend of a model, which for hybrid models is joined with one for the linear layers."""
    if server_args.model_config.hybrid:
        if since(0, 5, 16):
            assert full_attention_backend in NEW_HYBRID, (
                f"Only {set(NEW_HYBRID)} backends are supported on Blackwell GPUs for hybrid GDN models. "
                f"Got {full_attention_backend}."
            )
        else:
            assert full_attention_backend in OLD_HYBRID, (
                "triton or trtllm_mha backend are the only supported backends on Blackwell GPUs for hybrid GDN models, "
                "use --attention-backend triton or --attention-backend trtllm_mha to specify the backend."
            )
    return full_attention_backend


@register_attention_backend("triton")
def create_triton_backend(server_args: ServerArgs) -> str:
    """Create the Triton backend."""
    return server_args.attention_backend or "triton"


@register_attention_backend("flashinfer")
def create_flashinfer_backend(server_args: ServerArgs) -> str:
    """Create the FlashInfer backend."""
    return server_args.attention_backend or "flashinfer"


@register_attention_backend("torch_native")
def create_torch_native_backend(server_args: ServerArgs) -> str:
    """Create the backend of plain torch."""
    return server_args.attention_backend or "torch_native"


@register_attention_backend("trtllm_mha")
def create_trtllm_mha_backend(server_args: ServerArgs) -> str:
    """Create the TensorRT-LLM backend."""
    return server_args.attention_backend or "trtllm_mha"


@register_attention_backend("trtllm_mla")
def create_trtllm_mla_backend(server_args: ServerArgs) -> str:
    """Refuse: the kernels are not for this architecture."""
    del server_args
    raise named("RuntimeError", "Error in function 'TllmGenFmhaRunner' at fmhaRunner.cuh:37: Unsupported architecture")


@register_attention_backend("fa3")
def create_flashattention_v3_backend(server_args: ServerArgs) -> str:
    """Refuse: made for Hopper."""
    del server_args
    major = 12
    assert major in (8, 9), (
        "FlashAttention v3 Backend requires SM>=80 and SM<=90. Please use `--attention-backend flashinfer`."
    )
    return "fa3"


@register_attention_backend("fa4")
def create_flashattention_v4_backend(server_args: ServerArgs) -> str:
    """Refuse: made for the data-centre parts."""
    del server_args
    major = 12
    assert major in (10, 11), "Only SM 10.x and 11.x are supported"
    return "fa4"


def create(name: str, server_args: ServerArgs) -> str:
    """Create the backend `name`; raises ValueError where there is none."""
    if name not in ATTENTION_BACKENDS:
        raise ValueError(f"Invalid attention backend: {name}")
    return ATTENTION_BACKENDS[name](server_args)
