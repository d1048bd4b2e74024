"""What the runs kept here take."""

from pathlib import Path

from relight.cli.findings import Finding, counted
from relight.cli.model import in_units
from relight.journal.runs import ids, runs_folder


def kept_here(state: Path) -> tuple[Finding, ...]:
    """Return a note on what the runs in the state folder take; nothing where there are none."""
    names = ids(state)
    files = [path for path in runs_folder(state).rglob("*") if path.is_file()] if names else []
    size = sum(path.lstat().st_blocks * 512 for path in files)
    text = f"{in_units(size)} of {counted(len(names), 'run')} are kept here"
    return (Finding("note", str(state), text, "`relight prune` shows what can go"),) if names else ()
