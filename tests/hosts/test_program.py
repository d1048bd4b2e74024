"""The agent is one program of the standard library that old Pythons can run, started by a line any shell reads."""

import ast
import inspect
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from relight.hosts.channel import open_channel
from relight.hosts.interface import Host, HttpRequest
from relight.hosts.local import LocalPipe
from relight.hosts.pace import Pace
from relight.hosts.program import agent_modules, agent_source, agent_version, opening, python_of, start_line
from relight.hosts.remote import AgentHost
from relight.words.errors import UsageError

LIMITS = {"timeout", "patience", "request"}
AGENT = Path(__file__).parents[2] / "src" / "relight" / "hosts" / "agent"


def pythons() -> list[str]:
    """Return the other Pythons of this machine, from 3.8 on."""
    places = [*Path("/usr/bin").glob("python3.*"), *Path("~/.pyenv/versions").expanduser().glob("3.*/bin/python3")]
    found = {}
    for path in (p for p in places if not p.name.endswith("config")):
        asked = subprocess.run(
            [path, "-c", "import sys;print(*sys.version_info[:2])"], capture_output=True, check=False
        )
        version = tuple(map(int, asked.stdout.split()))
        if version >= (3, 8):
            found[version] = str(path)
    return [found[v] for v in sorted(found)] or [sys.executable]


def test_the_program_is_in_the_grammar_of_python_3_8() -> None:
    ast.parse(agent_source(), feature_version=(3, 8))


def test_the_program_imports_the_standard_library_only() -> None:
    names = set()
    for node in ast.walk(ast.parse(agent_source())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module).split(".")[0])

    assert names <= set(sys.stdlib_module_names)


def test_every_module_of_the_agent_is_part_of_the_program_after_those_it_needs() -> None:
    files = {p.stem for p in AGENT.glob("*.py")} - {"__init__"}

    assert set(agent_modules()) == files
    assert agent_modules()[-1] == "serve"


def test_names_are_unique_across_the_modules_since_they_share_one_program() -> None:
    names: Counter[str] = Counter()
    for node in ast.parse(agent_source()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] += 1
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))

    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("python", pythons())
def test_the_agent_answers_under_every_python_of_this_machine(python: str, tmp_path: Path) -> None:
    class Link:
        pace = Pace(12.0)

        def start(self, line: str, *, timeout: float) -> LocalPipe:  # noqa: ARG002
            return LocalPipe(shlex.split(line))

        def close(self) -> None:
            pass

    order: dict[str, object] = {
        "role": "questions",
        "workdir": str(tmp_path),
        "python": python,
        "env": {},
        "gpus": None,
    }
    channel = open_channel(Link(), [python], order, timeout=20)

    channel.send({"id": 7, "ask": "clock", "with": {}})
    frame = channel.receive(10.0) or channel.receive(10.0)

    assert frame is not None
    assert frame[0]["id"] == 7
    assert frame[0]["ok"]
    channel.close()


def test_an_old_python_says_that_it_is_too_old() -> None:
    line = start_line("python").replace("<(3,8)", "<(9,9)")

    done = subprocess.run(line, shell=True, input=opening({}), capture_output=True, check=False)  # noqa: S602

    assert b"Python 3.8 or later is needed" in done.stderr


@pytest.mark.parametrize("python", ["python3", "/opt/my venv/bin/python", "~/env/bin/python", "/a'b/python", "/ü/$x"])
def test_a_start_line_gives_its_interpreter_back(python: str) -> None:
    assert python_of(start_line(python)) == python


@pytest.mark.parametrize("line", ["id", "python3 -c 'import os'", start_line("x") + "; id", "id; " + start_line("x")])
def test_any_other_line_is_no_start_line(line: str) -> None:
    assert python_of(line) is None


@pytest.mark.parametrize("python", ["/opt/a!b/python", "/a\nb"])
def test_a_path_that_some_shell_would_change_is_refused(python: str) -> None:
    with pytest.raises(UsageError, match="shells"):
        start_line(python)


def test_the_start_line_is_words_and_single_quotes_only() -> None:
    outside = "".join(start_line("/opt/x/bin/python").split("'")[::2])

    assert set(outside) <= set(" -ESuc")
    assert "\\" not in start_line("python")
    assert "!" not in start_line("python")
    assert "\n" not in start_line("python")


def test_the_version_of_the_agent_names_its_source() -> None:
    assert len(agent_version()) == 12


def test_every_question_to_a_host_has_a_time_limit() -> None:
    own = {"close", "follow"}  # the one asks nothing, the other's reads have one
    for host in (Host, AgentHost):
        asked = {name: f for name, f in vars(host).items() if not name.startswith("_") and inspect.isfunction(f)}
        unlimited = {n for n, f in asked.items() if not LIMITS & set(inspect.signature(f).parameters)}
        assert unlimited == own
    assert HttpRequest("http://127.0.0.1").timeout > 0
