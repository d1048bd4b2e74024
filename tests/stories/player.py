"""Play a story: a playbook against a simulated machine, through the command line."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relight.lab import open as open_lab
from relight.lab.lab import end_processes
from relight.lab.machine import install, write_home
from relight.lab.scenario import load_scenario, read_scenario

FOLDER = Path(__file__).parent
PACE = 0.02
HEALTH = '\n[health]\ndeadline = "90s"\nsoak = "0s"\n'


@dataclass(frozen=True)
class Story:
    """A story file: what is asked of which machine, and how that must end; what it does not name is not checked.

    `kinds`: of the failures, in order; `only`: failures of any number, all of these kinds. `kept`: the position of each
    lever's variant in the end, 0 for off. `gives_up`: the flags and variables that repairs changed. `launches`: at
    most. `machine`: a scenario of the story's own; `link`: "local" reaches the machine without SSH.
    """

    name: str
    playbook: str
    status: int
    launches: int
    scenario: str = "plain"
    machine: str = ""
    options: tuple[str, ...] = ()
    link: str = "ssh"
    soak: bool = False
    kinds: tuple[str, ...] | None = None
    only: tuple[str, ...] = ()
    kept: Mapping[str, int] = field(default_factory=dict)
    gives_up: tuple[str, ...] | None = None


def read_story(path: Path) -> Story:
    """Return the story of a file."""
    data = tomllib.loads(path.read_text())
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    return Story(name=path.stem, **fields)


def stories() -> list[Story]:
    """Return all stories."""
    return [read_story(path) for path in sorted(FOLDER.glob("*.toml"))]


def playbook_of(story: Story, port: int) -> str:
    """Return the text of a story's playbook, for a server on `port`."""
    text = f'name = "{story.name}"\n' + story.playbook.replace("{port}", str(port))
    return text if "[health]" in text else text + HEALTH


def hurried(story: Story) -> str:
    """Return the text of a story's scenario, in which time passes fast."""
    text = re.sub(r"(?m)^pace = .*$", "", story.machine or load_scenario(story.scenario).text)
    return "\n".join([f"pace = {PACE}", "" if "release =" in text else "release = 0.0", text])


@contextmanager
def machine(story: Story, folder: Path, port: int) -> Iterator[tuple[str, Path]]:
    """Yield a hosts.toml that reaches the machine of a story as "simulated", and where the machine is."""
    text = hurried(story)
    if story.link == "local":
        root = folder / "machine"
        python = install(root, read_scenario(text, story.name, story.name))
        workdir = write_home(root, python.parent) / ".relight"
        try:
            yield f'[hosts.simulated]\naddress = "local"\npython = "{python}"\nworkdir = "{workdir}"\n', root
        finally:
            end_processes(root)
        return
    scenario = folder / f"{story.name}.toml"
    scenario.write_text(text)
    with open_lab(folder / "lab", str(scenario), port=port) as lab:
        yield lab.snippet(), lab.folder


def failures(record: Mapping[str, Any]) -> list[str]:
    """Return the kinds of the failures of a record, in order."""
    found = [a for a in record["attempts"] if a["outcome"] not in {"healthy", "aborted", None}]
    return [a["diagnosis"]["cause"]["kind"] if (a["diagnosis"] or {}).get("cause") else "unknown" for a in found]


def launched(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the attempts of a record that cost a launch."""
    return [a for a in record["attempts"] if a["rung"] in {"dummy", "real"}]


def given_up(record: Mapping[str, Any]) -> set[str]:
    """Return the flags and variables that the repairs of the last attempt changed."""
    changes = [c for c in record["attempts"][-1]["changes"] if c["origin"] != "lever"]
    return {name for c in changes for key in ("set", "unset", "set_env", "unset_env") for name in c.get(key, ())}


def servers(root: Path) -> list[int]:
    """Return the live processes of servers on a machine."""
    return [int(p.parent.name) for p in Path("/proc").glob("[0-9]*/environ") if _of_a_server(p, root)]


def _of_a_server(environ: Path, root: Path) -> bool:
    try:
        words = environ.read_bytes()
    except OSError:
        return False
    return b"RELIGHT_ATTEMPT" in words and bytes(root) in words
