"""Wrong usage, wrong files, and what is said about them (CONTRACT.md section 1)."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from relight.cli import logging
from relight.cli import main as cli
from relight.cli.main import COMMANDS, failed
from relight.cli.manual import cli_page
from relight.cli.playbooks import existing
from relight.cli.schema import SCHEMAS, schema_of
from tests.cli.conftest import Relight

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "relight"
HELP = "from relight.cli.main import run; run(['--help'])"
PLAYBOOK = 'name = "x"\n[flags]\nmodel-path = "m"\n'


def test_without_arguments_help_is_printed(relight: Relight) -> None:
    done = relight()

    assert done.status == 0
    assert all(name in done.out for name in COMMANDS)


def test_the_commands_of_the_contract_are_there(relight: Relight) -> None:
    told = relight("--help").out

    for name in ("deploy", "retry", "report", "diagnose", "check", "runs", "status", "logs", "stop", "playbook", "init",
                 "explain", "lab", "schema"):  # fmt: skip
        assert name in told


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(relight: Relight, name: str) -> None:
    done = relight(name, "--help")

    assert (done.status, done.err) == (0, "")
    assert "Usage: relight" in done.out


def test_the_page_of_commands_is_up_to_date() -> None:
    assert (ROOT / "docs" / "cli.md").read_text() == cli_page(), "run `make docs`"


def test_an_unknown_command_is_answered_with_the_near_one(relight: Relight) -> None:
    done = relight("dianose", "x.log")

    assert done.status == 2
    assert "did you mean 'diagnose'?" in done.err


def test_an_unknown_option_is_answered_with_the_near_one(relight: Relight) -> None:
    done = relight("retry", "--max-atempts", "3")

    assert done.status == 2
    assert "--max-attempts" in done.err


def test_an_option_before_the_command_is_told_to_go_after_it(relight: Relight) -> None:
    assert "goes after the command" in relight("--state", "x", "runs").err


def test_a_command_of_commands_alone_prints_its_help(relight: Relight) -> None:
    done = relight("playbook")

    assert (done.status, done.err) == (0, "")
    assert "Usage: relight playbook" in done.out


def test_explain_without_a_name_lists_the_kinds(relight: Relight) -> None:
    assert "oom.gpu.draft" in relight("explain").out
    assert {"kind", "is"} == set(relight("explain", "--format", "json").json[0])


def test_the_list_of_commands_needs_no_second_line_for_any(relight: Relight) -> None:
    told = relight("--help").out

    assert all(text in told for _, text in COMMANDS.values())


WRONG: dict[str, tuple[list[str], str]] = {
    "no playbook": (["retry", "--host", "h"], "PLAYBOOK is missing"),
    "no host": (["retry", "play.toml"], "--host NAME is missing"),
    "no such playbook": (["retry", "none.toml", "--host", "h"], "no such file"),
    "typo in a key": (["deploy", "typo.toml", "--host", "h"], "did you mean 'health'?"),
    "no hosts file": (["deploy", "play.toml", "--host", "h"], "no hosts.toml"),
    "unknown host": (["deploy", "play.toml", "--host", "rtx", "--hosts", "h.toml"], "did you mean 'rtx8'?"),
    "events and record": (["retry", "play.toml", "--host", "h", "--events", "-", "--format", "json"], "both"),
    "resume with playbook": (["retry", "play.toml", "--resume", "x"], "cannot go with --resume"),
    "resume with host": (["retry", "--host", "h", "--resume", "x"], "cannot go with --resume"),
    "resume of nothing": (["retry", "--resume", "x"], "no run 'x'"),
    "lab among several": (["retry", "play.toml", "--host", "a", "--host", "lab"], "relight lab --nodes 2"),
    "no duration": (["retry", "play.toml", "--host", "h", "--deadline", "8 hours"], "90s, 45m, 8h or 1h30m"),
    "no launches": (["retry", "play.toml", "--host", "h", "--max-attempts", "0"], "--max-attempts: 0 is not 1 or more"),
    "set without value": (["retry", "play.toml", "--host", "h", "--set", "tp-size"], "NAME=VALUE"),
    "set and unset": (["retry", "play.toml", "--host", "h", "--set", "a=1", "--unset", "a"], "set and unset"),
    "secret in set": (["retry", "play.toml", "--host", "h", "--set", "api-key=planted"], "secret-flags"),
    "secret in env": (["retry", "play.toml", "--host", "h", "--env", "HF_TOKEN=planted"], "secrets"),
    "no folder of events": (["retry", "play.toml", "--host", "h", "--events", "nowhere/e"], "no such folder: nowhere"),
    "no log": (["diagnose", "none.log"], "none.log"),
    "no source folder": (["diagnose", "none.log", "--source", "nowhere"], "--source nowhere"),
    "no such run": (["report", "x"], "no run 'x'"),
    "no run at all": (["status"], "no run is kept here yet"),
    "unknown kind": (["explain", "oom.gpu.kv_pol"], "did you mean 'oom.gpu.kv_pool'"),
    "unknown schema": (["schema", "recrd"], "did you mean 'record'?"),
    "unknown format": (["runs", "--format", "yaml"], "yaml"),
    "no signatures there": (["explain", "unknown", "--signatures", "nowhere"], "--signatures nowhere"),
    "no playbook to check": (["playbook", "check", "nowhere"], "no such file or folder"),
    "no such line": (["playbook", "new", "a", "--from", "empty.log:3"], "there is no line 3"),
    "no address": (["init", "a b"], "no address"),
    "a folder of playbooks": (["retry", "books", "--host", "h"], "there is books/one.toml"),
    "a playbook nearly named": (["retry", "books/oen.toml", "--host", "h"], "there is books/one.toml"),
    "an option nearly named": (["retry", "play.toml", "--hst", "h"], "no option --hst (did you mean --host"),
    "an argument that is missing": (["diagnose"], "relight diagnose: LOG... is missing"),
    "a choice that is missing": (["completion"], "(one of bash, zsh, fish)"),
    "no whole number": (["retry", "play.toml", "--host", "h", "--max-attempts", "few"], "'few' is not a whole number"),
    "a value that is missing": (["retry", "play.toml", "--host"], "relight retry: --host needs a value behind it"),
    "a value missing in a group": (["playbook", "new", "x", "--from"], "relight playbook new: --from needs a value"),
    "a group's unknown command": (["playbook", "chek"], "relight playbook: no command 'chek' (did you mean 'check'?"),
    "an option before a group's": (["playbook", "--state", "x"], "relight playbook COMMAND --state"),
    "one argument too many": (["runs", "x"], "relight runs: one argument too many: x (see `relight runs --help`)"),
    "an unknown choice": (["completion", "tcsh"], "SHELL: 'tcsh' is not one of"),
    "a scenario nearly named": (["lab", "--scenario", "stori"], "no scenario 'stori' (did you mean 'story'?"),
    "events into a folder": (["retry", "play.toml", "--host", "h", "--events", "books"], "is a folder (name a file in"),
    "a playbook that is no text": (["retry", "bytes.toml", "--host", "lab"], "is no text in UTF-8 (save it as UTF-8"),
    "no variable's name": (["retry", "play.toml", "--host", "h", "--env", "1X=3"], "as in NCCL_DEBUG"),
    "a folder without playbooks": (["playbook", "check", "nothing"], "no .toml file is in this folder"),
    "a line that says nothing": (
        ["playbook", "new", "a", "--from", "hi.log:1"],
        "hi.log:1: this line makes no signature",
    ),
    "a port of no host": (["init", "127.0.0.1:99999"], "HOST_OR_ADDRESS: 99999 is no port (1 to 65535)"),
    "a port of no server": (
        ["retry", "play.toml", "--host", "h", "--set", "port=319200"],
        "319200 is no port (1 to 65",
    ),
    "no port in a playbook": (["retry", "port.toml", "--host", "h"], "port.toml:4: flags.port is no port (1 to 65535)"),
    "no port of a host": (["check", "play.toml", "--host", "x", "--hosts", "p.toml"], "must be a port, 1 to 65535"),
    "a log on no host": (["diagnose", "nohost:/a.log"], "nohost:/a.log: no such file, and no host 'nohost'"),
}


@pytest.fixture
def files(tmp_path: Path) -> None:
    (tmp_path / "play.toml").write_text(PLAYBOOK)
    (tmp_path / "typo.toml").write_text(PLAYBOOK + "[helth]\n")
    (tmp_path / "h.toml").write_text('[hosts.rtx8]\naddress = "gpu1"\n')
    (tmp_path / "empty.log").write_text("")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "hi.log").write_text("hi\n")
    (tmp_path / "port.toml").write_text(PLAYBOOK + "port = 0\n")
    (tmp_path / "p.toml").write_text('[hosts.x]\naddress = "gpu1"\nport = 65536\n')
    (tmp_path / "nothing").mkdir()
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "one.toml").write_text(PLAYBOOK)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("what", WRONG)
def test_wrong_usage_is_status_2_and_one_clear_sentence(relight: Relight, what: str) -> None:
    words, said = WRONG[what]

    done = relight(*words)

    assert done.status == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert "planted" not in done.err + done.out


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("what", [w for w in WRONG if w != "unknown format"])
def test_with_json_wrong_usage_is_one_document_too(relight: Relight, what: str) -> None:
    words, _ = WRONG[what]

    done = relight(*words, "--format", "json")

    jsonschema.validate(done.json, schema_of("error"))
    assert done.json["error"]["status"] == 2


@pytest.mark.usefixtures("files")
def test_nothing_is_kept_of_a_run_that_could_not_begin(relight: Relight, tmp_path: Path) -> None:
    relight("deploy", "typo.toml", "--host", "h")

    assert not (tmp_path / "state").exists()


@pytest.mark.usefixtures("files")
def test_a_missing_secret_is_named_before_anything_is_launched(relight: Relight, tmp_path: Path) -> None:
    hosts = '[hosts.rtx8]\naddress = "local"\n[hosts.rtx8.secrets]\nHF_TOKEN = "env:RELIGHT_TEST_ABSENT"\n'
    (tmp_path / "h.toml").write_text(hosts)

    done = relight("deploy", "play.toml", "--host", "rtx8", "--hosts", "h.toml")

    assert done.status == 2
    assert "the variable RELIGHT_TEST_ABSENT, which is missing or empty" in done.err


@pytest.mark.parametrize("value", [b"\xff\xfehf", b"hf\0hf"], ids=["not UTF-8", "NUL"])
def test_a_secret_that_is_no_text_is_wrong_usage_and_not_shown(relight: Relight, tmp_path: Path, value: bytes) -> None:
    (tmp_path / "token").write_bytes(value)
    hosts = '[hosts.rtx8]\naddress = "local"\n[hosts.rtx8.secrets]\nHF_TOKEN = "file:token"\n'
    (tmp_path / "h.toml").write_text(hosts)
    (tmp_path / "play.toml").write_text(PLAYBOOK)

    done = relight("deploy", "play.toml", "--host", "rtx8", "--hosts", "h.toml")

    assert done.status == 2
    assert "the value of HF_TOKEN is no text" in done.err


def test_a_bug_is_status_70_and_one_document(capfd: pytest.CaptureFixture[str]) -> None:
    assert failed(ZeroDivisionError("by accident"), "json") == 70

    out, err = capfd.readouterr()
    jsonschema.validate(json.loads(out), schema_of("error"))
    assert json.loads(out)["error"]["status"] == 70
    assert "a bug in relight: ZeroDivisionError: by accident" in err


def test_a_bug_in_a_run_is_kept_in_its_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    logging.start(tmp_path)
    logging.stop()

    failed(ZeroDivisionError("by accident"), "text")

    assert "ZeroDivisionError" in (tmp_path / "bug.txt").read_text()
    assert f"the run folder is {tmp_path}" in capfd.readouterr().err


def test_an_interrupt_is_status_130(relight: Relight, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.relight, "main", interrupted)

    assert relight("runs").status == 130


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_one(relight: Relight, name: str) -> None:
    done = relight("schema", name)

    jsonschema.Draft202012Validator.check_schema(done.json)
    assert done.status == 0


def test_schemas_are_listed(relight: Relight) -> None:
    assert set(relight("schema").out.split()) == {
        "record", "diagnosis", "check", "plan", "error", "runs", "event", "hosts", "playbook", "signature",
    }  # fmt: skip


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(relight: Relight, shell: str) -> None:
    done = relight("completion", shell)

    assert done.status == 0
    assert "_RELIGHT_COMPLETE" in done.out


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from relight.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()

    assert not {"paramiko", "fabric", "pydantic", "rich", "structlog", "jinja2", "zstandard"} & set(loaded)


@pytest.mark.parametrize("words", ["relight re", "relight retry --host ", "relight explain oom"])
def test_completion_imports_nothing_of_ssh(words: str) -> None:
    code = "import sys; from relight.cli.main import run\ntry: run()\nfinally: print(*sys.modules, file=sys.stderr)"
    asked = {"_RELIGHT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **asked}, check=False
    )

    assert done.stdout
    assert not {"paramiko", "fabric", "pydantic", "rich", "tenacity"} & set(done.stderr.split())


def test_a_run_of_hours_has_imported_what_it_says_at_its_end() -> None:
    code = "import sys; import relight.cli.work; print(*sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert {"relight.reports.text", "relight.reports.story", "relight.cli.output"} <= set(loaded)


def test_help_is_there_at_once() -> None:
    def once() -> float:
        began = of_children()
        subprocess.run([sys.executable, "-c", HELP], capture_output=True, check=True)
        return of_children() - began

    def of_children() -> float:
        """Return the seconds of processor time they used: a busy machine adds none."""
        used = os.times()
        return used.children_user + used.children_system

    assert min(once() for _ in range(5)) < 0.5


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("words", [["--signatures", "nowhere"], ["--signatures", "books"], ["--events", "books"]])
def test_what_is_wrong_with_a_file_that_was_named_is_found_before_there_is_a_run(
    relight: Relight, tmp_path: Path, words: list[str]
) -> None:
    done = relight("deploy", "play.toml", "--host", "rtx8", "--hosts", "h.toml", *words)

    assert done.status == 2
    assert not (tmp_path / "state" / "runs").exists()


@pytest.mark.usefixtures("files")
def test_a_line_that_makes_no_signature_leaves_no_file(relight: Relight, tmp_path: Path) -> None:
    relight("playbook", "new", "a", "--from", "hi.log:1", "-o", "out")

    assert not (tmp_path / "out" / "a.toml").exists()


def test_a_check_with_warnings_does_not_say_that_all_is_well(relight: Relight, tmp_path: Path) -> None:
    (tmp_path / "warned.toml").write_text('name = "x"\n[flags]\nmodel-path = "m"\nmodel-pth = "n"\n')

    done = relight("playbook", "check", "warned.toml")

    assert (done.status, done.out.splitlines()[-1]) == (0, "1 file: 1 warning")


def test_the_demo_is_found_from_everywhere(relight: Relight, tmp_path: Path) -> None:
    done = relight("playbook", "check", existing(Path("demo.toml")))

    assert (done.status, (tmp_path / "demo.toml").exists()) == (0, False)


def errors_without_a_next_action(path: Path) -> list[str]:
    called = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    ours = {"UsageError", "PersonError", "UnreachableError"}
    raised = [node for node in called if isinstance(node.func, ast.Name) and node.func.id in ours]
    bare = [node for node in raised if not {"next", None} & {word.arg for word in node.keywords}]
    return [f"{path.name}:{node.lineno}" for node in bare]


def test_every_error_says_what_to_do_next() -> None:
    assert [bare for path in sorted(SRC.rglob("*.py")) for bare in errors_without_a_next_action(path)] == []


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "playbook"])
def test_the_help_of_every_command_ends_with_examples_that_are_commands(relight: Relight, name: str) -> None:
    examples = relight(name, "--help").out.partition("\n  Example")[2].splitlines()[1:]

    assert examples
    assert all("relight" in line for line in examples if line.strip())
