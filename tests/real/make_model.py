"""Write a tiny GPT-2 with random weights and its own tokenizer: make_model.py FOLDER (the engine's Python)."""

import json
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel

WORDS = ["a small model that only has to start and to answer something", "relight the engine after it flamed out"]


def write_tokenizer(folder: Path) -> None:
    """Train a 512-token byte-level BPE on a few sentences and save it with a chat template."""
    tokenizer = Tokenizer(models.BPE(unk_token=None))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(WORDS * 8, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    ends = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {"tokenizer_class": "PreTrainedTokenizerFast", **ends, "model_max_length": 2048, "chat_template": template}
        )
    )
    (folder / "special_tokens_map.json").write_text(json.dumps(ends))


def main() -> None:
    """Write the model and its tokenizer."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=512, n_positions=2048, n_embd=64, n_layer=2, n_head=4, n_inner=128, bos_token_id=0, eos_token_id=2
    )
    GPT2LMHeadModel(config).to(torch.bfloat16).save_pretrained(folder)
    write_tokenizer(folder)


main()
