"""Which flags the sums about GPU memory read: memory.toml of an engine."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from relight.config.document import read_document
from relight.config.keys import Key, check
from relight.words.knowledge import MemoryFlags
from relight.words.near import meant

MEMORY_KEYS: Mapping[str, Key] = {
    "fraction": Key("text", "the flag for the part of a card that weights and pools may fill", required=True),
    "offload": Key("text", "the flag for the GB of weights that stay in host memory", default=""),
    "draft": Key("text", "the flag with which a draft model is loaded too", default=""),
    "draftless": Key("texts", "its values that load none", default=()),
}


def load_memory(file: Path, names: Iterable[str]) -> MemoryFlags:
    """Return the flags of `file`; each must be one of `names`. UsageError names the key and what is allowed."""
    document, known = read_document(file), set(names)
    found = check(document, MEMORY_KEYS, document.values)
    for key in ("fraction", "offload", "draft"):
        if found[key] and found[key] not in known:
            raise document.error((key,), f"no version has --{found[key]}", next=meant(found[key], known))
    return MemoryFlags(found["fraction"], found["offload"], found["draft"], frozenset(found["draftless"]))
