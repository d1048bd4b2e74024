"""The oracle against a stand-in engine: an importable package with a parser and checks of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from relight.hosts import oracle
from relight.hosts.parser_answer import read_parser
from relight.hosts.parser_source import parser_script
from relight.hosts.values import HostError, Ran, Validation
from relight.words.settings import Settings
from relight.words.step import Answer

ENGINE = """
import argparse, dataclasses, os, subprocess, sys, time
print("noise on stdout while it is imported")
AT_IMPORT = os.environ.get("READ_EARLY", "")
IMPORTED_BY = os.getpid()
{extra}

@dataclasses.dataclass
class ServerArgs:
    model_path: str
    tp_size: int
    fast: bool
    early: str = ""

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", required=True)
        parser.add_argument("--tensor-size", "--tp", type=int, default=1)
        parser.add_argument("--fast", action="store_true", help="Deprecated: slow is the new fast")
        parser.add_argument("--kind", choices=["a", "b"], default="a")

    @classmethod
    def from_cli_args(cls, args):
        args.tp_size = args.tensor_size
        return cls(args.model_path, args.tp_size, args.fast, AT_IMPORT + "/" + os.environ.get("READ_LATE", ""))

    def check_server_args(self):
        behave(self)
        assert self.tp_size != 3

def behave(args):
    if args.model_path == "raise":
        raise ValueError("no such thing: {{}}".format(args.tp_size))
    if args.model_path == "exit":
        sys.exit(7)
    if args.model_path == "die":
        os._exit(9)
    if args.model_path == "hang":
        time.sleep(60)
    if args.model_path == "eat":
        eaten = b"x" * (300 << 20)
        time.sleep(60)
    if args.model_path == "spawn":
        subprocess.Popen(["sleep", "61"], start_new_session=True)
        open("left-behind", "w").close()
    if args.model_path == "fork" and os.getpid() != IMPORTED_BY:
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess")

def prepare_server_args(argv):
    parser = argparse.ArgumentParser(prog="serve")
    ServerArgs.add_cli_args(parser)
    return ServerArgs.from_cli_args(parser.parse_args(argv))
"""
Ask = Callable[..., Validation]


@pytest.fixture
def engine(tmp_path: Path) -> Callable[[str], Path]:
    """Return what lays a stand-in engine into a folder for PYTHONPATH."""

    def lay(extra: str = "") -> Path:
        package = tmp_path / "site" / "sglang"
        (package / "srt").mkdir(parents=True)
        (package / "__init__.py").write_text("__version__ = '0.0.1'\n")
        (package / "srt" / "__init__.py").write_text("")
        (package / "srt" / "server_args.py").write_text(ENGINE.format(extra=extra))
        return tmp_path / "site"

    return lay


def run(argv: Sequence[str], stdin: bytes, site: Path) -> Ran:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site)}
    done = subprocess.run(argv, input=stdin, capture_output=True, check=False, env=env, timeout=60)
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def ask(engine: Callable[[str], Path]) -> Ask:
    """Return what asks the stand-in engine about settings."""

    def ask_it(*candidates: Settings, extra: str = "", limits: oracle.Limits | None = None) -> Validation:
        site = engine(extra)
        question = oracle.request(candidates, None, limits=limits or oracle.Limits(candidate=5, memory=200))
        return oracle.answers(run(oracle.command(sys.executable), question, site), candidates)

    return ask_it


def given(path: str = "x", env: dict[str, str] | None = None, **flags: str | int | bool) -> Settings:
    return Settings({"model-path": path, **flags}, env or {})


def test_settings_pass_or_are_refused_with_place_and_reason(ask: Ask) -> None:
    fine, bare, worded, wrong = ask(given(tp=2), given(tp=3), given("raise", tp=4), given(kind="c")).answers

    assert fine.passed
    assert fine.resolved["tp_size"] == 2
    assert (bare.type, bare.message) == ("AssertionError", "")
    assert bare.file.endswith("sglang/srt/server_args.py")
    assert [f.function for f in bare.frames] == ["check_server_args"]
    assert (worded.type, worded.message) == ("ValueError", "no such thing: 4")
    assert wrong.type == "SystemExit"
    assert "error: argument --kind: invalid choice" in wrong.message


def test_a_candidate_that_dies_exits_or_hangs_does_not_harm_the_others(ask: Ask) -> None:
    limits = oracle.Limits(candidate=1.0, memory=200)

    dead, gone, hung, eaten, fine = ask(
        given("die"), given("exit"), given("hang"), given("eat"), given(), limits=limits
    ).answers

    assert "wait status" in dead.message
    assert gone.type == "SystemExit"
    assert (hung.type, eaten.type) == ("NoAnswer", "NoAnswer")
    assert "no answer after 1 s" in hung.message
    assert "more than 200 MiB" in eaten.message
    assert fine.passed


def test_a_validation_that_answers_nobody_cannot_be_asked(ask: Ask) -> None:
    silent = ask(given("hang"), given("hang", tp=2), limits=oracle.Limits(candidate=1.0))

    assert (silent.asked, silent.answers) == (False, ())
    assert "no answer after 1 s" in silent.why


def test_variables_reach_the_candidate_even_where_they_are_read_at_import(ask: Ask) -> None:
    early = ask(
        given(env={"READ_EARLY": "one", "READ_LATE": "1"}),
        given(env={"READ_EARLY": "one"}),
        given(env={"READ_EARLY": "two"}),
        given(),
    )

    assert [a.resolved["early"] for a in early.answers] == ["one/1", "one/", "two/", "/"]


def test_many_candidates_are_all_answered_in_their_order(ask: Ask) -> None:
    sizes = list(range(1, 41))

    answers = ask(*(given(tp=n) for n in sizes[:20]), given("die"), *(given(tp=n) for n in sizes[20:])).answers

    assert [a.resolved["tp_size"] for a in answers if a.passed] == [n for n in sizes if n != 3]
    assert [a.type for a in answers if not a.passed] == ["AssertionError", "NoAnswer"]


def test_nothing_is_left_behind(ask: Ask) -> None:
    before = time.time()

    answers = ask(given("spawn")).answers

    assert answers[0].passed
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if started(p, b"sleep\x0061\x00", before)]


def started(cmdline: Path, command: bytes, since: float) -> bool:
    try:
        return cmdline.read_bytes() == command and cmdline.stat().st_ctime >= since - 1
    except OSError:
        return False


def test_an_engine_that_cannot_be_imported_says_why(ask: Ask) -> None:
    answer = ask(given(), extra="import no_such_module_anywhere")

    assert not answer.asked
    assert "no_such_module_anywhere" in answer.why


def test_an_import_that_takes_too_long_is_given_up(ask: Ask) -> None:
    answer = ask(given(), extra="time.sleep(30)", limits=oracle.Limits(load=1.0))

    assert not answer.asked
    assert "no answer after 1 s" in answer.why


def test_validation_that_bears_no_fork_is_asked_in_a_process_of_its_own(ask: Ask) -> None:
    alone, ordinary = ask(given("fork"), given()).answers

    assert alone.passed
    assert ordinary.passed


def test_an_interpreter_without_an_answer_is_told() -> None:
    said = oracle.answers(Ran(1, b"", b"python: not found\n"), [given()])

    assert not said.asked
    assert said.why.endswith("it ended with status 1: python: not found")
    assert "ran out of time" in oracle.answers(Ran(None, b"", b""), [given()]).why


@pytest.mark.parametrize(
    ("answer", "known", "trusted"),
    [
        (Answer(True), oracle.Known(True), True),
        (
            Answer(False, "AssertionError", "", "/a/x.py", 3),
            oracle.Known(False, "AssertionError", "", "/b/x.py", 3),
            True,
        ),
        (Answer(True), oracle.Known(False, "AssertionError"), False),
        (Answer(False, "ValueError"), oracle.Known(False, "AssertionError"), False),
        (Answer(False, "ValueError"), oracle.Known(True), False),
        (Answer(False, "ValueError", "", "/a/y.py"), oracle.Known(False, "ValueError", "", "/a/x.py"), False),
    ],
)
def test_an_oracle_that_contradicts_the_log_is_not_trusted(answer: Answer, known: oracle.Known, trusted: bool) -> None:
    said = oracle.trusted(Validation((answer,)), known)

    assert said.asked is trusted
    assert trusted or "not trusted" in said.why


def test_the_parser_describes_itself(engine: Callable[[str], Path]) -> None:
    ran = run([sys.executable, "-c", parser_script()], b"", engine(""))

    found = read_parser(ran.stdout)

    size, fast, kind = found.find("tp"), found.find("fast"), found.find("kind")
    assert size
    assert (size.names, size.dest, size.type, size.default) == (("tensor-size", "tp"), "tp_size", "int", 1)
    assert fast
    assert (fast.action, fast.takes_value, fast.deprecated[:10]) == ("store_true", False, "Deprecated")
    assert kind
    assert kind.choices == ("a", "b")


def test_the_cuda_that_torch_is_built_for_is_told_without_importing_it(engine: Callable[[str], Path]) -> None:
    folder = engine("")
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text("raise RuntimeError('not now')\n")
    (folder / "torch" / "version.py").write_text("debug = False\ncuda: Optional[str] = '12.8'\n")

    assert read_parser(run([sys.executable, "-c", parser_script()], b"", folder).stdout).cuda == "12.8"


def test_a_parser_that_cannot_be_imported_says_why(engine: Callable[[str], Path]) -> None:
    ran = run([sys.executable, "-c", parser_script()], b"", engine("import no_such_module_anywhere"))

    with pytest.raises(HostError, match="no_such_module_anywhere"):
        read_parser(ran.stdout)
    with pytest.raises(HostError, match="no answer"):
        read_parser(b"")


LATE = """
def prepare_server_args(argv):
    from sglang.srt import late
    parser = argparse.ArgumentParser(prog="serve")
    ServerArgs.add_cli_args(parser)
    settings = ServerArgs.from_cli_args(parser.parse_args(argv))
    settings.early = late.IMPORTED_BY
    return settings
"""


@pytest.fixture
def late_engine(engine: Callable[[str], Path]) -> Path:
    """Return an engine whose validation imports a module that says which process imported it."""
    site = engine("")
    with (site / "sglang" / "srt" / "server_args.py").open("a") as text:
        text.write(LATE)
    (site / "sglang" / "srt" / "late.py").write_text("import os\nIMPORTED_BY = str(os.getpid())\n")
    return site


def test_what_validation_imports_is_imported_once_for_those_that_follow(late_engine: Path) -> None:
    candidates = [given(tp=n) for n in (1, 2, 4, 5)]

    ran = run(oracle.command(sys.executable), oracle.request(candidates, None), late_engine)

    first, *later = [a.resolved["early"] for a in oracle.answers(ran, candidates).answers]
    assert len(set(later)) == 1
    assert later[0] != first
    assert "sglang.srt.late" in oracle.imported(ran, candidates)


def test_modules_known_to_be_imported_are_there_for_the_first_candidate(late_engine: Path) -> None:
    candidates = [given(tp=1), given(tp=2)]

    question = oracle.request(candidates, None, modules=["sglang.srt.late", "sglang.srt.gone"])
    ran = run(oracle.command(sys.executable), question, late_engine)

    first, second = [a.resolved["early"] for a in oracle.answers(ran, candidates).answers]
    assert first == second


def test_a_release_without_the_entrance_is_asked_through_its_parser(ask: Ask, tmp_path: Path) -> None:
    ask(given())
    server_args = tmp_path / "site" / "sglang" / "srt" / "server_args.py"
    server_args.write_text(server_args.read_text().replace("def prepare_server_args", "def another_way"))

    fine, bare, wrong = _asked(tmp_path / "site", given(tp=2), given(tp=3), given(kind="c")).answers

    assert (fine.passed, bare.type, wrong.type) == (True, "AssertionError", "SystemExit")
    assert "invalid choice" in wrong.message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("class ServerArgs", "class Renamed", "ServerArgs"),
        ("def prepare_server_args(argv)", "def prepare_server_args(argv, parser)", "parser"),
    ],
)
def test_an_engine_that_cannot_be_asked_refuses_nothing(
    ask: Ask, tmp_path: Path, old: str, new: str, said: str
) -> None:
    ask(given())
    server_args = tmp_path / "site" / "sglang" / "srt" / "server_args.py"
    renamed = server_args.read_text().replace(old, new)
    server_args.write_text(renamed if "argv, parser" in new else renamed.replace("def prepare_server_args", "def gone"))

    found = _asked(tmp_path / "site", given(tp=2), given(tp=4))

    assert (
        said in found.why if not found.asked else all(a.type == "NoAnswer" and said in a.message for a in found.answers)
    )


def _asked(site: Path, *candidates: Settings) -> Validation:
    question = oracle.request(candidates, None, limits=oracle.Limits(candidate=5, memory=200))
    return oracle.answers(run(oracle.command(sys.executable), question, site), candidates)
