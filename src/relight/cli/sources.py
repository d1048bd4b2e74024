"""Source files named in tracebacks, found in a folder: an unpacked wheel, a checkout."""

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from relight.words.diagnosis import Want

LIMIT = 4 << 20


def sources_from(folder: Path, wants: Iterable[Want]) -> Mapping[str, str]:
    """Return the text of each wanted file that `folder` holds, by the name it was wanted under."""
    found = {want.file: locate(folder, want.file) for want in wants}
    return {name: path.read_text(encoding="utf-8", errors="replace") for name, path in found.items() if path}


def locate(folder: Path, file: str) -> Path | None:
    """Return where `file`, a path on another machine, is in `folder`: the longest tail of it that exists there.

    The tail keeps at least its last folder, so that a name as common as utils.py is not taken from anywhere.
    """
    parts = [p for p in PurePosixPath(file).parts if p not in {"/", ".", ".."}]
    for start in range(max(len(parts) - 1, 0)):
        tail = Path(*parts[start:])
        for base in (folder, folder / "python", folder / "src"):
            path = base / tail
            if path.is_file() and path.stat().st_size <= LIMIT:
                return path
    return None
