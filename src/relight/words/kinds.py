"""The closed list of kinds of failure, "family.kind", with one sentence each."""

from collections.abc import Mapping
from types import MappingProxyType

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "args.unrecognized": "The command holds a flag that this version does not know, or an ambiguous abbreviation.",
        "args.invalid_value": "A flag was given a value that its parser refuses.",
        "args.missing": "A required flag is missing.",
        "args.conflict": "Argument validation refuses a value or a combination of flags.",
        "assertion.args": "An assertion in argument validation does not hold.",
        "assertion.backend": "A backend or feature is not allowed for this model or GPU.",
        "assertion.model": "A layer of the model cannot be built with these settings.",
        "assertion.kv_leak": "The pool's own consistency check found leaked memory.",
        "assertion.runtime": "An assertion failed after the model was loaded.",
        "oom.gpu.weights": "The weights do not fit into GPU memory.",
        "oom.gpu.kv_pool": "There is no or too little room for the KV pool.",
        "oom.gpu.mamba_cache": "There is no or too little room for the mamba state cache.",
        "oom.gpu.draft": "The draft model or its pool does not fit into GPU memory.",
        "oom.gpu.graph_capture": "GPU memory ran out while graphs were captured.",
        "oom.gpu.activation": "GPU memory ran out in a forward pass, in sampling or in a workspace.",
        "oom.gpu.kv_runtime": "KV or request slots ran out while serving.",
        "oom.gpu.unspecified": "GPU memory ran out; the log does not show in which phase.",
        "oom.gpu.comm": "GPU memory ran out in a communication buffer.",
        "oom.gpu.other_process": "Another process holds GPU memory.",
        "oom.host": "Host memory ran out.",
        "oom.shm": "Shared memory (/dev/shm) is too small.",
        "kernel.no_image": "The binary holds no kernel for this GPU.",
        "kernel.unsupported_arch": "The GPU's architecture is not supported by what was asked for.",
        "kernel.shared_memory": "A kernel needs more shared memory per block than the GPU has.",
        "kernel.jit_compile": "A kernel could not be compiled.",
        "kernel.illegal_access": "A kernel accessed memory it may not access.",
        "kernel.launch_failure": "A kernel failed to launch or to finish.",
        "kernel.gemm": "A matrix multiplication or MoE kernel failed.",
        "kernel.unsupported_shape": "A kernel refuses a shape, dtype or layout.",
        "kernel.graph_capture": "Graph capture failed for a reason that is not memory.",
        "kernel.segfault": "Native code crashed.",
        "kernel.autotune": "Kernel autotuning failed.",
        "comm.nccl": "The collective library failed to connect or reported a system error.",
        "comm.timeout": "A collective, a store or a rendezvous timed out.",
        "comm.p2p": "Peer-to-peer access between the GPUs does not work.",
        "comm.custom_allreduce": "Custom all-reduce failed.",
        "comm.symm_mem": "Symmetric memory, MSCCL++ or NVLS failed.",
        "comm.transfer": "The transfer of KV data between servers failed.",
        "comm.port_in_use": "A port is taken.",
        "comm.peer_died": "Another process died first; this log does not show why.",
        "env.import": "A Python module is missing.",
        "env.abi": "A shared library does not load or lacks a symbol.",
        "env.version": "Installed parts do not fit together.",
        "env.driver": "The driver or the CUDA runtime is too old or cannot be used.",
        "env.toolchain": "A compiler, header or build tool is missing or too old.",
        "env.disk": "The disk is full.",
        "env.permission": "A file may not be read or written.",
        "env.network": "A network service cannot be reached.",
        "env.http_proxy": "The server's own warm-up request went to a proxy.",
        "env.container": "The container's or the host's limits do not allow the start.",
        "env.gpu_count": "Fewer GPUs are visible than asked for.",
        "model.not_found": "The model or one of its files does not exist.",
        "model.auth": "Access to the model needs a token.",
        "model.architecture": "The model's architecture is not known to this version.",
        "model.config": "The model's configuration is broken or incomplete.",
        "model.weights": "The weights cannot be loaded into this model.",
        "model.quantization": "The quantisation method does not fit this checkpoint or GPU.",
        "model.context_length": "The context length is longer than the model allows.",
        "model.processor": "The processor, tokenizer or chat template cannot be used.",
        "hang.startup": "The start makes no progress.",
        "hang.warmup": "The warm-up request never returns.",
        "hang.watchdog": "The engine's own watchdog fired.",
        "hang.health": "The process lives but is not healthy.",
        "hardware.xid": "The GPU reported a hardware fault (Xid).",
        "hardware.ecc": "GPU memory reported ECC errors.",
        "hardware.pcie": "The PCIe link reported errors.",
        "numerics.nan": "The model computed NaN or infinity.",
        "numerics.garbage": "The model's answers are garbage.",
        "process.killed": "The process was killed and the log does not say by whom.",
        "engine.bug": "The engine's own code raised an exception that names no outside cause.",
        "engine.request": "A request failed; the server lives on.",
        "unknown": "The log does not justify any known kind.",
        "none": "Nothing failed.",
    }
)  # fmt: skip

PERSON: frozenset[str] = frozenset(
    {
        "model.auth", "model.not_found", "model.config", "env.disk", "env.permission", "env.network", "env.version",
        "env.abi", "env.import", "env.driver", "env.toolchain", "hardware.xid", "hardware.ecc", "hardware.pcie",
        "oom.gpu.other_process", "comm.port_in_use",
    }
)  # fmt: skip
"""Kinds that a person may have to settle: no change of flags can."""


def family(kind: str) -> str:
    """Return the family of a kind: what stands before its first dot."""
    return kind.split(".", 1)[0]
