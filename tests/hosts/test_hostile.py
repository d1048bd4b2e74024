"""Hostile values, paths and log lines: no command runs, no control sequence is shown."""

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from relight.cli.screen import Screen
from relight.cli.screen_state import View
from relight.config.knowledge import load_knowledge
from relight.diagnosis.diagnose import diagnose
from relight.hosts.program import python_of, start_line
from relight.hosts.remote import AgentHost
from relight.hosts.values import HostError, Stat
from relight.logs.lines import LineSplitter
from relight.reports import page
from relight.words.argv import to_argv
from relight.words.diagnosis import LogLine
from relight.words.errors import UsageError
from relight.words.events import Event
from relight.words.knowledge import Knowledge
from relight.words.text import shown

HOSTILE = int(os.environ.get("RELIGHT_SOAK_HOSTILE", "10000"))
BATCH = 50
SHELL = ("$(touch CANARY)", "`touch CANARY`", "; touch CANARY;", "\ntouch CANARY\n", "' ; touch CANARY ; '",
         '" && touch CANARY "', "| touch CANARY", "!touch CANARY", "${IFS}touch CANARY", "\\$(touch CANARY)",
         "%0atouch CANARY",
         "-oProxyCommand=touch CANARY", "~root", "*", "../../etc/passwd", "--", "-rf /", "\x00")  # fmt: skip
TERMINAL = ("\x1b[2J", "\x1b]0;title\x07", "\x1b]52;c;aGk=\x07", "\x9b31m", "\x1bP+q\x1b\\", "\x1b[6n", "\b\b\b", "\r",
            "\x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\", "\x07", "\u202egnp.exe", "\x84", "\x1bc", "\x0e",
            "\x1b[?1049h")  # fmt: skip
KINDS = (
    "Traceback (most recent call last):",
    '  File "/x/server_args.py", line 9, in f',
    "AssertionError: ",
    "TP3] ",
    "RuntimeError: CUDA out of memory. Tried to allocate ",
    "[2026-11-29 10:00:00] ",
    "server_args=ServerArgs(a='",
)
WORDS = st.lists(st.one_of(st.sampled_from(SHELL + TERMINAL), st.text(max_size=12)), min_size=1, max_size=4).map(
    "".join
)
LINES = st.lists(
    st.one_of(st.sampled_from(SHELL + TERMINAL + KINDS), st.text(max_size=30)), min_size=1, max_size=5
).map("".join)
Echo = Callable[[list[str]], list[str]]
NO_CARE = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]}


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    return load_knowledge()


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in a folder where every command of a hostile text would leave its mark."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "CANARY"


def sizes(number: int) -> list[object]:
    few = pytest.param(300, id="some")
    return [few, pytest.param(number, id="many", marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]


@pytest.mark.parametrize("number", sizes(HOSTILE))
def test_hostile_flag_values_arrive_as_they_are_and_run_nothing(host: AgentHost, canary: Path, number: int) -> None:
    tried = []

    @settings(max_examples=number // BATCH, **NO_CARE)  # type: ignore[arg-type]
    @given(st.lists(WORDS.map(lambda w: w.replace("\0", "")), min_size=BATCH, max_size=BATCH))
    def check(values: list[str]) -> None:
        argv = to_argv({f"flag-{n}": value for n, value in enumerate(values)})
        clean = [word.encode("utf-8", "replace").decode() for word in argv]
        ran = host.run([sys.executable, "-c", "import json,sys;print(json.dumps(sys.argv[1:]))", *clean])

        assert json.loads(ran.stdout) == clean
        tried.extend(values)

    check()
    assert not canary.exists()
    assert not (Path.home() / "CANARY").exists()
    print(f"\n{len(tried)} hostile flag values: all arrived as they were, 0 commands run")  # noqa: T201


@pytest.mark.parametrize("number", sizes(HOSTILE))
def test_hostile_paths_are_asked_for_as_they_are_and_run_nothing(
    host: AgentHost, canary: Path, tmp_path: Path, number: int
) -> None:
    tried = []

    @settings(max_examples=number // BATCH, **NO_CARE)  # type: ignore[arg-type]
    @given(st.lists(WORDS, min_size=BATCH, max_size=BATCH))
    def check(paths: list[str]) -> None:
        for path in paths:
            tried.append(path)
            there = asked(host, f"{tmp_path}/none/{path}")
            assert there is None or ".." in path

    check()
    assert not canary.exists()
    assert not list(tmp_path.rglob("CANARY"))
    print(f"\n{len(tried)} hostile paths: 0 commands run")  # noqa: T201


def asked(host: AgentHost, path: str) -> Stat | None:
    """Ask for a path; what no system has as a name may be refused."""
    try:
        return host.stat(path)
    except HostError:
        if "\0" not in path and len(path) < 200 and path.isprintable():
            raise
        return None


@given(WORDS)
def test_a_hostile_interpreter_is_one_quoted_word_or_refused(path: str) -> None:
    try:
        line = start_line(path)
    except UsageError:
        assert set(path) & set("!\n\0")
    else:
        assert python_of(line) == path


def controls(text: str) -> set[str]:
    return {c for c in text if (c < " " and c not in "\n\t") or "\x7f" <= c <= "\x9f" or c in "\u202e\u2066\u200b"}


@pytest.mark.parametrize("number", sizes(HOSTILE))
def test_hostile_log_lines_show_no_control_sequence(knowledge: Knowledge, number: int) -> None:
    tried = []

    @settings(max_examples=number // BATCH, **NO_CARE)  # type: ignore[arg-type]
    @given(st.lists(LINES, min_size=BATCH, max_size=BATCH))
    def check(texts: list[str]) -> None:
        splitter = LineSplitter()
        raw = "".join(f"{text}\n" for text in texts).encode("utf-8", "surrogatepass")
        lines = [*splitter.feed(raw), *splitter.close()]
        found = diagnose(lines, knowledge, name=texts[0])
        out = io.StringIO()
        with Screen(Console(file=out, width=100), View(), clock=lambda: 0.0) as screen:
            for n, text in enumerate(texts):
                screen.show(Event("2026-11-29T10:00:00Z", text, 1, "marked", {"text": text, "line": n}))
                screen.show(Event("2026-11-29T10:00:00Z", text, 1, "crashed", {"reason": text}))

        told = page.render(found, [LogLine(x.number, x.text) for x in lines], width=100)
        assert controls(told + out.getvalue() + "".join(map(shown, texts))) == set()
        tried.extend(texts)

    check()
    print(f"\n{len(tried)} hostile log lines: 0 control sequences shown")  # noqa: T201
