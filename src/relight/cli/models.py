"""The models that lie on a host."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from relight.attempts.fetching import hub_cache
from relight.cli.model import WEIGHTS
from relight.hosts.interface import Host

PLACES = ("/models", "/data/models", "/mnt/models", "/srv/models", "/opt/models", "/data", "/workspace")
MOST = 200
"""Folders looked into at most."""


@dataclass(frozen=True)
class ModelThere:
    """A model on the host: how a playbook names it, and the size of its weights."""

    name: str
    bytes: int


def models_on(host: Host, home: str, env: Mapping[str, str]) -> tuple[ModelThere, ...]:
    """Return the models in the hub's cache and in the usual folders, biggest first."""
    found = [*_cached(host, hub_cache(env, home)), *_folders(host, (f"{home}/models", *PLACES))]
    unique = {model.name: model for model in found if model.bytes}
    return tuple(sorted(unique.values(), key=lambda m: -m.bytes))


def _cached(host: Host, cache: str) -> Iterator[ModelThere]:
    for entry in host.list_dir(cache)[:MOST]:
        if entry.name.startswith("models--"):
            base = f"{cache}/{entry.name}/snapshots"
            snapshots = host.list_dir(base)
            size = _size(host, f"{base}/{snapshots[-1].name}") if snapshots else 0
            yield ModelThere(entry.name.removeprefix("models--").replace("--", "/", 1), size)


def _folders(host: Host, places: tuple[str, ...]) -> Iterator[ModelThere]:
    for place in places:
        for folder in _subfolders(host, place):
            own = _size(host, folder)
            # A folder that is no model may be its owner's, with the models below it.
            below = () if own else _subfolders(host, folder)
            yield from (ModelThere(f, _size(host, f)) for f in below)
            yield ModelThere(folder, own)


def _subfolders(host: Host, folder: str) -> tuple[str, ...]:
    """Return the folders in a folder, hidden ones left out."""
    entries = (e for e in host.list_dir(folder)[:MOST] if e.kind == "folder" and not e.name.startswith("."))
    return tuple(f"{folder}/{e.name}" for e in entries)


def _size(host: Host, folder: str) -> int:
    entries = host.list_dir(folder)
    if not any(entry.name == "config.json" for entry in entries):
        return 0
    return sum(entry.size for entry in entries if entry.name.endswith(WEIGHTS))
