"""Lay out a simulated machine in a folder: an interpreter with the stand-in engine, nvidia-smi, the scenario."""

import os
import shutil
import sys
from pathlib import Path

from relight.lab.scenario import Scenario

BOX = Path(__file__).parent / "box"
# Runs in every interpreter of the machine, so that its nvidia-smi is found before any real one.
SITE = """import os, sys
os.environ["PATH"] = os.pathsep.join([os.path.join(sys.prefix, "bin"), os.environ.get("PATH", os.defpath)])
"""
BUILT_FOR_CUDA = "12.8"
METADATA = """Metadata-Version: 2.1
Name: sglang
Version: {version}
Summary: A stand-in for SGLang, part of relight lab
"""


def install(folder: Path, scenario: Scenario) -> Path:
    """Lay out the machine below `folder` and return its interpreter."""
    prefix = folder / "opt" / "sglang"
    purelib = prefix / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (prefix / "bin").mkdir(parents=True)
    (folder / "box" / "cards").mkdir(parents=True)
    (folder / "box" / "scenario.toml").write_text(scenario.text)
    shutil.copytree(BOX / "sglang", purelib / "sglang", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("smi", "stranger"):
        shutil.copy(BOX / f"{name}.py", purelib / f"lab_{name}.py")
    (purelib / "sglang" / "version.py").write_text(f'"""The release."""\n\n__version__ = "{scenario.version}"\n')
    (purelib / "torch").mkdir()
    (purelib / "torch" / "version.py").write_text(f"cuda = {BUILT_FOR_CUDA!r}\n")
    (purelib / "sitecustomize.py").write_text(SITE)
    _write_metadata(purelib, scenario.version)
    return _write_programs(prefix)


def write_home(folder: Path, programs: Path) -> Path:
    """Make a home whose login shells of all kinds have `programs` first in PATH; return it."""
    home = folder / "home"
    home.mkdir()
    posix = f'export PATH="{programs}:$PATH"\n'
    for name in (".profile", ".bash_profile", ".zprofile"):
        (home / name).write_text(posix)
    (home / ".login").write_text(f'setenv PATH "{programs}:$PATH"\n')
    fish = home / ".config" / "fish"
    fish.mkdir(parents=True)
    (fish / "config.fish").write_text(f'set -gx PATH "{programs}" $PATH\n')
    return home


def _write_metadata(purelib: Path, version: str) -> None:
    folder = purelib / f"sglang-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(METADATA.format(version=version))


def _write_programs(prefix: Path) -> Path:
    base = base_interpreter()
    (prefix / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
    python = prefix / "bin" / "python"
    python.symlink_to(base)
    (prefix / "bin" / "python3").symlink_to("python")
    smi = prefix / "bin" / "nvidia-smi"
    smi.write_text(f'#!/bin/sh\nexec "{python}" -I -m lab_smi "$@"\n')
    smi.chmod(0o755)
    return python


def base_interpreter() -> Path:
    """Return the interpreter that this one was made from (not the one of a virtual environment)."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = Path(sys.base_prefix) / "bin" / name
    return found if os.access(found, os.X_OK) else Path(sys.executable).resolve()
