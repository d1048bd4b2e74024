"""Write the pages under docs/ that are made from the code; with --check only say which are out of date."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from relight.cli.manual import cli_page

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES: Mapping[str, Callable[[], str]] = {"cli.md": cli_page}


def main(argv: list[str]) -> int:
    """Write every page, or with --check return 1 where one differs from what would be written."""
    stale = [name for name, page in PAGES.items() if not _is(DOCS / name, page())]
    if "--check" in argv:
        for name in stale:
            sys.stderr.write(f"docs/{name} is out of date; run `make docs`\n")
        return int(bool(stale))
    for name in stale:
        (DOCS / name).write_text(PAGES[name](), encoding="utf-8")
        sys.stdout.write(f"wrote docs/{name}\n")
    return 0


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
