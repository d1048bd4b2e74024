"""A small engine of our own to read: the kinds of checks that argument validation makes, written for these tests."""

from collections.abc import Callable

import pytest

from relight.diagnosis.source.read import Reading, read_failure
from relight.words.parser import HostParser, ParserFlag

FLAGS = HostParser(
    (
        ParserFlag(("tensor-parallel-size", "tp-size"), "tp_size", "int", default=1),
        ParserFlag(("nnodes",), "nnodes", "int", default=1),
        ParserFlag(("draft-steps",), "draft_steps", "int"),
        ParserFlag(("draft-topk",), "draft_topk", "int"),
        ParserFlag(("draft-tokens",), "draft_tokens", "int"),
        ParserFlag(("algorithm",), "algorithm", "str", choices=("EAGLE", "NEXTN", "NGRAM")),
        ParserFlag(("page-size",), "page_size", "int"),
        ParserFlag(("chunk",), "chunk", "int", default=4096),
        ParserFlag(("backend",), "backend", "str", choices=("triton", "flash", "fa3", "torch")),
        ParserFlag(("kv-dtype",), "kv_dtype", "str", choices=("auto", "fp8", "bf16"), default="auto"),
        ParserFlag(("disable-cache",), "disable_cache", "bool", action="store_true", nargs=0, default=False),
        ParserFlag(("mixed",), "mixed", "bool", action="store_true", nargs=0, default=False),
        ParserFlag(("policy",), "policy", "str", default="lpm"),
        ParserFlag(("fraction",), "fraction", "float"),
        ParserFlag(("buckets",), "buckets", "float", nargs="+"),
        ParserFlag(("lora", "lora-paths"), "lora", "str", nargs="+"),
    ),
    "1.0",
)


Read = Callable[..., Reading]


@pytest.fixture
def flags() -> HostParser:
    """Return the parser of the small engine."""
    return FLAGS


@pytest.fixture
def read() -> Read:
    """Return what reads the line of a text that ends with `# here`."""

    def read_marked(text: str, **kwargs: object) -> Reading:
        line = next(n for n, row in enumerate(text.split("\n"), 1) if row.rstrip().endswith("# here"))
        return read_failure(text, "/engine/pkg/server_args.py", line, **kwargs)  # type: ignore[arg-type]

    return read_marked
