"""Where a model is on a host, whether all of it is there, and how big it is."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from relight.attempts.fetching import hub_cache, is_path
from relight.hosts.interface import Host
from relight.hosts.values import Disk
from relight.words.settings import Settings

WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
GIB = 1 << 30
_INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
_LIMIT = 32 << 20
_TRUE = {"1", "true", "yes", "on"}


@dataclass(frozen=True)
class ModelSeen:
    """A model on the host: `source` is how it was named (a path, or an id of the hub).

    `folder` is where it is, "" where it is not there. `missing` are files that it names and lacks; `bytes` is the size
    of its weights; `disk` the filesystem that a download would fill; `offline` that no download is allowed.
    """

    name: str
    source: Literal["path", "hub"]
    folder: str = ""
    missing: tuple[str, ...] = ()
    bytes: int = 0
    disk: Disk | None = None
    offline: bool = False


def in_units(size: int) -> str:
    """Return a size in bytes as people read it."""
    return f"{size / GIB:.1f} GiB" if size >= GIB // 10 else f"{size / (1 << 20):.1f} MiB"


def look_at_model(host: Host, home: str, settings: Settings) -> ModelSeen | None:
    """Look for the model of `settings` on the host; None where the settings name none."""
    name = settings.flags.get("model-path", settings.flags.get("model"))
    if not isinstance(name, str):
        return None
    if is_path(name) or host.stat(name) is not None:
        found = host.stat(name) is not None
        return _inside(host, name, "path", name) if found else ModelSeen(name, "path")
    cache = hub_cache(settings.env, home)
    offline = settings.env.get("HF_HUB_OFFLINE", "").lower() in _TRUE
    folder = _snapshot(host, cache, name, str(settings.flags.get("revision", "")))
    disk = host.disk(cache)
    if not folder:
        return ModelSeen(name, "hub", disk=disk, offline=offline)
    seen = _inside(host, name, "hub", folder)
    return ModelSeen(name, "hub", seen.folder, seen.missing, seen.bytes, disk, offline)


def _snapshot(host: Host, cache: str, name: str, revision: str) -> str:
    base = f"{cache}/models--{name.replace('/', '--')}/snapshots"
    found = [entry.name for entry in host.list_dir(base) if entry.kind == "folder"]
    wanted = [entry for entry in found if entry == revision] or found
    return f"{base}/{wanted[-1]}" if wanted else ""


def _inside(host: Host, name: str, source: Literal["path", "hub"], folder: str) -> ModelSeen:
    entries = {entry.name: entry for entry in host.list_dir(folder)}
    size = sum(entry.size for entry in entries.values() if entry.name.endswith(WEIGHTS))
    if not entries and (stat := host.stat(folder)) and stat.kind == "file":
        return ModelSeen(name, source, folder, bytes=stat.size)
    index = next((i for i in _INDEXES if i in entries), None)
    named = shards(host.read_file(f"{folder}/{index}", 0, _LIMIT) or b"") if index else ()
    missing = [shard for shard in named if shard not in entries]
    missing += [] if "config.json" in entries else ["config.json"]
    missing += [] if size else ["weights"]
    return ModelSeen(name, source, folder, tuple(missing), size)


def shards(index: bytes) -> tuple[str, ...]:
    """Return the files that an index of weights names; () where it is none."""
    try:
        data: Any = json.loads(index)
    except ValueError:
        return ()
    weights = data.get("weight_map") if isinstance(data, dict) else None
    return tuple(sorted(set(map(str, weights.values())))) if isinstance(weights, dict) else ()
