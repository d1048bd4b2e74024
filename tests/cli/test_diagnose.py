"""`relight diagnose` as scripts see it (CONTRACT.md section 6)."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import zstandard

from relight.cli.schema import schema_of
from relight.cli.sources import locate, sources_from
from relight.words.diagnosis import Want
from tests.cli.conftest import Relight

CRASH = """\
usage: launch_server.py [-h] --model-path MODEL_PATH [--tokenizer-path TOKENIZER_PATH]
launch_server.py: error: unrecognized arguments: --speculative-frobnicate 3
"""
HEALTHY = """\
[2026-03-01 10:00:00] server_args=ServerArgs(model_path='m', port=30000)
[2026-03-01 10:00:20] Load weight begin. avail mem=94.00 GB
[2026-03-01 10:01:20] Load weight end. type=M, dtype=torch.bfloat16, avail mem=39.00 GB, mem usage=55.00 GB.
[2026-03-01 10:02:00] INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)
[2026-03-01 10:02:05] The server is fired up and ready to roll!
"""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "crash.log").write_text(CRASH)
    (tmp_path / "fine.log").write_text(HEALTHY)
    (tmp_path / "empty.log").write_text("")
    (tmp_path / "crash.log.gz").write_bytes(gzip.compress(CRASH.encode()))
    (tmp_path / "crash.log.zst").write_bytes(zstandard.compress(CRASH.encode()))
    return tmp_path


@pytest.mark.usefixtures("logs")
def test_a_failure_is_status_1_and_a_list_of_one(relight: Relight) -> None:
    done = relight("diagnose", "crash.log", "--format", "json")

    assert done.status == 1
    jsonschema.validate(done.json, schema_of("diagnosis"))
    found = done.json[0]
    assert (found["log"], found["verdict"]) == ("crash.log", "failed")
    assert (found["cause"]["kind"], found["cause"]["family"], found["cause"]["line"]) == (
        "args.unrecognized",
        "args",
        2,
    )
    assert found["cause"]["text"] == "launch_server.py: error: unrecognized arguments: --speculative-frobnicate 3"
    assert (found["traceback"], found["constraint"]) == (None, None)


@pytest.mark.usefixtures("logs")
def test_a_healthy_log_is_status_0_and_has_no_cause(relight: Relight) -> None:
    done = relight("diagnose", "fine.log", "--format", "json")

    assert (done.status, done.json[0]["verdict"], done.json[0]["cause"]) == (0, "healthy", None)


@pytest.mark.usefixtures("logs")
def test_several_logs_come_in_the_order_given(relight: Relight) -> None:
    done = relight("diagnose", "fine.log", "crash.log", "--format", "json")

    assert done.status == 1
    assert [d["log"] for d in done.json] == ["fine.log", "crash.log"]


@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize("name", ["crash.log.gz", "crash.log.zst"])
def test_compressed_logs_are_read(relight: Relight, name: str) -> None:
    assert relight("diagnose", name, "--format", "json").json[0]["cause"]["line"] == 2


@pytest.mark.usefixtures("logs")
def test_a_log_that_cannot_be_read_is_status_2_and_the_others_are_printed(relight: Relight) -> None:
    done = relight("diagnose", "none.log", "crash.log", "--format", "json")

    assert done.status == 2
    assert [d["log"] for d in done.json] == ["crash.log"]
    assert "none.log" in done.err


@pytest.mark.usefixtures("logs")
def test_an_empty_log_is_unknown_and_one_sentence_on_stderr(relight: Relight) -> None:
    done = relight("diagnose", "empty.log", "--format", "json")

    assert (done.status, done.json[0]["verdict"], done.json[0]["cause"]) == (0, "unknown", None)
    assert done.err.count("\n") == 1
    assert "empty" in done.err


@pytest.mark.usefixtures("logs")
def test_with_json_no_human_text_is_on_stdout(relight: Relight) -> None:
    done = relight("diagnose", "crash.log", "--format", "json")

    assert done.out == json.dumps(done.json, indent=2) + "\n"


@pytest.mark.usefixtures("logs")
def test_text_names_kind_line_and_help(relight: Relight) -> None:
    done = relight("diagnose", "crash.log")

    assert done.status == 1
    assert "args.unrecognized" in done.out
    assert "crash.log:2" in done.out


def test_a_dash_reads_standard_input() -> None:
    code = "from relight.cli.main import run; run(['diagnose', '-', '--format', 'json'])"

    done = subprocess.run([sys.executable, "-c", code], input=CRASH, capture_output=True, text=True, check=False)

    assert (done.returncode, json.loads(done.stdout)[0]["log"]) == (1, "-")


def test_a_character_that_stdout_cannot_write_ends_nothing() -> None:
    code = "from relight.cli.main import run; run(['diagnose', '-'])"
    log = "Traceback (most recent call last):\n  File 'a.py', line 1, in f\nValueError: caf\u00e9 \u2192 sglang\n"
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}

    done = subprocess.run([sys.executable, "-c", code], input=log.encode(), capture_output=True, env=env, check=False)

    assert done.returncode == 1, done.stderr.decode("latin-1")
    assert b"caf\xe9 ? sglang" in done.stdout


def test_a_hostile_log_never_reaches_the_terminal_raw(relight: Relight, tmp_path: Path) -> None:
    (tmp_path / "bad.log").write_text(
        "\x1b]0;owned\x07\x1b[31mlaunch_server.py: error: unrecognized arguments: --x\x1b[0m\n"
    )

    text, document = relight("diagnose", "bad.log"), relight("diagnose", "bad.log", "--format", "json")

    assert "\x1b" not in text.out + text.err
    assert document.out.isascii()
    assert "\\u001b" not in document.out


def test_a_secret_in_a_log_is_not_repeated(relight: Relight, tmp_path: Path) -> None:
    args = "[2026-03-01 10:00:00] server_args=ServerArgs(model_path='m', api_key='planted-key')\n"
    (tmp_path / "a.log").write_text(args + "ValueError: no such thing as api_key='planted-key'\n")

    for words in (["diagnose", "a.log"], ["diagnose", "a.log", "--format", "json"]):
        done = relight(*words)
        assert "planted-key" not in done.out + done.err


def test_source_files_are_found_by_the_longest_tail_of_their_path(tmp_path: Path) -> None:
    file = tmp_path / "sglang" / "srt" / "server_args.py"
    file.parent.mkdir(parents=True)
    file.write_text("assert x")
    name = "/usr/lib/python3/site-packages/sglang/srt/server_args.py"

    assert locate(tmp_path, name) == file
    assert sources_from(tmp_path, [Want(name, 1)]) == {name: "assert x"}
    assert locate(tmp_path, "/elsewhere/other.py") is None


def test_a_source_file_is_never_taken_from_outside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "out.py").write_text("x")
    (tmp_path / "in").mkdir()

    assert locate(tmp_path / "in", "../out.py") is None


def test_a_log_that_shows_nothing_known_is_shown_by_its_last_lines(relight: Relight, tmp_path: Path) -> None:
    (tmp_path / "odd.log").write_text("first\n" * 9 + "several thousand exclamation marks\n")

    done = relight("diagnose", "odd.log")

    assert "10 > several thousand exclamation marks" in done.out
    assert "nothing in this log" not in done.out
