"""Models that are fetched during a start: where the hub's client keeps them, and whether one is growing there."""

from collections.abc import Mapping
from dataclasses import dataclass

from relight.hosts.interface import Host
from relight.hosts.values import HostError
from relight.words.settings import Settings

LOOK_EVERY = 15.0
"""Seconds between two looks at what the hub's client has fetched so far."""
_UNFINISHED = ".incomplete"


def is_path(name: str) -> bool:
    """Say whether a model's name can only be a path: the hub knows OWNER/NAME, without a leading dot or slash."""
    return name.startswith(("/", ".", "~")) or name.count("/") > 1


def hub_cache(env: Mapping[str, str], home: str) -> str:
    """Return the folder in which the hub's client keeps models on the host."""
    if env.get("HF_HUB_CACHE"):
        return env["HF_HUB_CACHE"]
    return f"{env.get('HF_HOME') or f'{home}/.cache/huggingface'}/hub"


def model_of(settings: Settings) -> str:
    """Return what settings name as the model, "" where they name none."""
    name = settings.flags.get("model-path", settings.flags.get("model"))
    return name if isinstance(name, str) else ""


def blobs(settings: Settings, home: str) -> str:
    """Return where the files of the settings' model grow while they are fetched, "" where nothing is fetched."""
    name = model_of(settings)
    if not name or is_path(name):
        return ""
    return f"{hub_cache(settings.env, home)}/models--{name.replace('/', '--')}/blobs"


@dataclass
class Fetching:
    """Tells whether a model is being fetched, though the log shows no bar for it.

    `folder` is where its files grow ("": nothing can be fetched). A fetch counts until one look finds no growth.
    """

    host: Host
    folder: str
    goes_on: bool = False
    _looked: float = -1e9
    _size: int = 0

    def look(self, now: float) -> bool:
        """Look, at most every LOOK_EVERY seconds, and say whether it goes on; `now` is monotonic seconds."""
        if self.folder and now - self._looked >= LOOK_EVERY:
            first, before = self._looked < 0, self._size
            self._looked = now
            try:
                entries = self.host.list_dir(self.folder)
            except HostError:
                # A disk that is slow, or that we may not read, tells nothing.
                return self.goes_on
            self._size = sum(e.size for e in entries)
            unfinished = any(e.name.endswith(_UNFINISHED) for e in entries)
            self.goes_on = unfinished and not first and self._size > before
        return self.goes_on
