"""Modules that a launch runs in place of an engine."""

from pathlib import Path


def module_in(folder: Path, name: str, text: str) -> dict[str, str]:
    """Put a module where a launch finds it; return the environment for that."""
    place = folder / "modules"
    place.mkdir(exist_ok=True)
    (place / f"{name}.py").write_text(text)
    return {"PYTHONPATH": str(place)}
