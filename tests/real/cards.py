"""Eight cards that only answer questions, and kernels that only exist by name: enough for argument validation."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CARDS = """
import types
import torch
card = types.SimpleNamespace(name="RTX PRO 6000 Blackwell", total_memory=97887 << 20, major=12, minor=0,
                             multi_processor_count=188, uuid="0")
torch.version.cuda = "12.9"
answers = dict(is_available=True, device_count=8, get_device_capability=(12, 0), get_device_name=card.name,
               get_device_properties=card, mem_get_info=(96 << 30, 95 << 30), current_device=0, set_device=None)
for name, answer in answers.items():
    setattr(torch.cuda, name, lambda *_, answer=answer, **__: answer)
"""
KERNELS = """
import importlib.abc, importlib.util, sys, types
import torch
class Missing:
    def __call__(self, *_, **__):
        raise RuntimeError("no compiled kernels here")
    def __getattr__(self, name):
        return give(name)
class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.startswith("sgl_kernel."):
            return importlib.util.spec_from_loader(name, self, is_package=True)
    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = give
        return module
    def exec_module(self, module):
        pass
def give(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Missing()
__getattr__ = give
__path__ = []
sys.meta_path.insert(0, Finder())
operators = torch.library.Library("sgl_kernel", "FRAGMENT")
for name in ("sgl_per_token_group_quant_8bit", "sgl_per_token_quant_fp8", "sgl_per_tensor_quant_fp8",
             "fp8_scaled_mm", "fp8_blockwise_scaled_mm", "moe_fused_gate", "int8_scaled_mm"):
    operators.define(name + "(Tensor a) -> Tensor")
"""
HYBRID: Mapping[str, Any] = {
    "architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "hidden_size": 64, "head_dim": 16,
    "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16,
    "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32,
    "vocab_size": 512, "max_position_embeddings": 2048, "dtype": "bfloat16", "torch_dtype": "bfloat16",
    "bos_token_id": 0, "eos_token_id": 2,
}  # fmt: skip


def install_cards(folder: Path, path: str) -> dict[str, str]:
    """Write the cards, the kernels and a configuration of a hybrid model (folder "model") below `folder`.

    Returns the variables that bring them into an interpreter; `path` is what PATH is without them.
    """
    (folder / "sgl_kernel").mkdir()
    (folder / "sgl_kernel" / "__init__.py").write_text(KERNELS)
    (folder / "sitecustomize.py").write_text(CARDS)
    about = folder / "sglang_kernel-99.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang-kernel\nVersion: 99\n")
    smi = folder / "nvidia-smi"
    smi.write_text("#!/bin/sh\nfor card in 0 1 2 3 4 5 6 7; do echo 97887; done\n")
    smi.chmod(0o755)
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text(json.dumps(HYBRID))
    return {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(folder), "PATH": f"{folder}:{path}"}
