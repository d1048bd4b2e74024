"""The real SGLang's own argument validation, asked without a GPU; the story's refusals, repaired before any launch."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from relight.diagnosis.source.read import Reading, read_failure
from relight.diagnosis.source.solve import Wishes, repairs
from relight.diagnosis.source.values import Values
from relight.hosts import oracle
from relight.hosts.parser_answer import read_parser
from relight.hosts.parser_source import parser_script
from relight.hosts.values import Ran
from relight.words.parser import HostParser
from relight.words.settings import Settings
from relight.words.step import Answer

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]
VERSIONS = ("0.5.10", "0.5.23")
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
HYBRID = {
    "architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "hidden_size": 64, "head_dim": 16,
    "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16,
    "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32,
    "vocab_size": 512, "max_position_embeddings": 2048, "dtype": "bfloat16", "torch_dtype": "bfloat16",
    "bos_token_id": 0, "eos_token_id": 2,
}  # fmt: skip


class RealHost:
    """An interpreter with the real engine, and eight cards that only answer questions."""

    def __init__(self, version: str, folder: Path) -> None:
        self.python = str(Path(os.environ.get("RELIGHT_REAL", ""), version, "bin", "python"))
        if not Path(self.python).exists():
            pytest.skip(f"SGLang {version} is not installed below $RELIGHT_REAL")
        (folder / "sgl_kernel").mkdir()
        (folder / "sgl_kernel" / "__init__.py").write_text(KERNELS)
        (folder / "sitecustomize.py").write_text(CARDS)
        smi = folder / "nvidia-smi"
        smi.write_text("#!/bin/sh\nfor card in 0 1 2 3 4 5 6 7; do echo 97887; done\n")
        smi.chmod(0o755)
        (folder / "model").mkdir()
        (folder / "model" / "config.json").write_text(json.dumps(HYBRID))
        self.model = str(folder / "model")
        self.env = {
            **os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(folder), "PATH": f"{folder}:{os.environ['PATH']}",
        }  # fmt: skip

    def run(self, argv: Sequence[str], stdin: bytes = b"") -> Ran:
        done = subprocess.run(argv, input=stdin, capture_output=True, check=False, env=self.env, timeout=500)
        return Ran(done.returncode, done.stdout, done.stderr)

    def parser(self) -> HostParser:
        return read_parser(self.run([self.python, "-c", parser_script()]).stdout)

    def ask(self, candidates: Sequence[Settings], parser: HostParser) -> tuple[Answer, ...]:
        ran = self.run(oracle.command(self.python), oracle.request(candidates, parser))
        said = oracle.answers(ran, candidates)
        assert said.asked, said.why
        return said.answers


def read(answer: Answer) -> Reading:
    """Read a refusal from the files the answer names, and once more with those the reading wants."""
    files = {f.file for f in answer.frames} | {answer.file}
    callers = [(f.file, f.line) for f in answer.frames[:-1]]
    found = Reading(answer.file, answer.line)
    for _ in range(2):
        texts = {f: Path(f).read_text() for f in files if Path(f).is_file()}
        found = read_failure(
            texts[answer.file], answer.file, answer.line,
            message=answer.message, type=answer.type, others=texts, callers=callers,
        )  # fmt: skip
        files |= set(found.wants)
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_the_parser_of_a_real_release_is_described(version: str, tmp_path: Path) -> None:
    parser = RealHost(version, tmp_path).parser()

    size = parser.find("tp-size")
    assert size
    assert (size.dest, size.type, size.default) == ("tp_size", "int", 1)
    assert parser.version == version
    assert len(list(parser)) > 300


def test_the_story_is_repaired_before_any_launch(tmp_path: Path) -> None:
    host = RealHost("0.5.10", tmp_path)
    parser = host.parser()
    now = Settings(
        {
            "model-path": host.model, "tp-size": 8, "speculative-algorithm": "NEXTN",
            "speculative-num-draft-tokens": 2, "speculative-eagle-topk": 1,
        },
        {"SGLANG_ENABLE_SPEC_V2": "1"},
    )  # fmt: skip
    wishes = Wishes(
        keep={"speculative-algorithm": 3, "SGLANG_ENABLE_SPEC_V2": 3}, firsts=frozenset({"speculative-algorithm"})
    )
    refusals: list[str] = []
    (answer,) = host.ask([now], parser)
    while not answer.passed and len(refusals) < 5:
        refusals.append(answer.type)
        found = [now.changed(r) for r in repairs(read(answer), Values.of(now), parser, wishes)]
        said = host.ask(found, parser)
        place = (answer.file, answer.line)
        now, answer = next((s, a) for s, a in zip(found, said, strict=True) if a.passed or (a.file, a.line) != place)

    assert answer.passed
    assert refusals == ["ValueError", "AssertionError"]
    assert now.flags["speculative-algorithm"] == "NEXTN"
    assert now.env == {"SGLANG_ENABLE_SPEC_V2": "1"}
    assert now.flags["mamba-scheduler-strategy"] == "extra_buffer"
