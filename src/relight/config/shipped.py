"""Where the knowledge that comes with relight is: beside the code in a checkout, inside the package when installed."""

from pathlib import Path

from relight.words.errors import UsageError

_PACKAGE = Path(__file__).resolve().parents[1]


def folder() -> Path:
    """Return the folder `playbooks`. UsageError where the installation lacks it."""
    for path in (_PACKAGE / "playbooks", _PACKAGE.parents[1] / "playbooks"):
        if path.is_dir():
            return path
    raise UsageError("the playbooks that ship with relight are missing", place=str(_PACKAGE), next="install it again")


def engine(name: str = "sglang") -> Path:
    """Return the folder of one engine's knowledge."""
    return folder() / name
