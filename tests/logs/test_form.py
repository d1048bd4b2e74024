"""A file of settings or a source is told from a log; whatever may be a log is one."""

from pathlib import Path

import pytest

from relight.logs.form import form_of

REPOSITORY = Path(__file__).parents[2]


def form(text: str) -> str:
    return form_of(text.split("\n"))


@pytest.mark.parametrize("file", sorted((REPOSITORY / "playbooks").rglob("*.toml")), ids=lambda p: p.name)
def test_every_file_of_settings_here_is_one(file: Path) -> None:
    assert form(file.read_text(encoding="utf-8")) == "TOML"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('[flags]\nmodel-path = "m"\ntp-size = \nport = 30000\n[env]\nA = "b"', "TOML"),
        ("import os\n\n\ndef crash():\n    raise RuntimeError('CUDA out of memory')\n", ""),
        (
            "import os\n\n\ndef crash():\n    os.abort()\n    raise RuntimeError('CUDA out of memory')\n",
            "Python source",
        ),
        ('{"run": "a",\n "attempts": [{"log": "RuntimeError: x"}]}', "JSON"),
        ('[{"log": "a.log", "verdict": "failed"}]', "JSON"),
        ("#!/bin/sh\nset -e\npython -m sglang.launch_server --watchdog-timeout 9", "a script"),
        ("services:\n  sgl:\n    image: sglang\n    command: --tp 8\n    ports:\n      - 30000", "YAML"),
        ("<!DOCTYPE html>\n<p>RuntimeError: x</p>", "a web page"),
        ("", ""),
    ],
)
def test_what_is_no_log_is_called_by_its_name(text: str, name: str) -> None:
    assert form(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "AssertionError",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "ValueError: a\nKeyError: b\nTypeError: c\nRuntimeError: d",
        "[2026-03-01 10:00:00 TP0] Load weight begin.\n[2026-03-01 10:00:01 TP0] Scheduler hit an exception",
        "[rank0]: Traceback (most recent call last):\n[rank0]:     x = f(\"a\")\n[rank0]: KeyError: 'b'",
        '  File "a.py", line 4, in f\n    x = f("a")\nAssertionError',
        '{"log": "RuntimeError: x", "stream": "stderr"}',
        '[{"textPayload": "RuntimeError: x"}]',
        "INFO: up\nERROR: down\nINFO: a\nINFO: b",
        "assert x == 1\nAssertionError\nx = 1\n",
        "\x00\xff" * 50,
    ],
)
def test_what_may_be_a_log_is_one(text: str) -> None:
    assert form(text) == ""


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    [
        "import x\n" + "-" * 500_000 + "1\n\n\n",
        "[" * 500_000 + "]",
        "a.b = {" * 99_000,
        "import x\n" + "(" * 500_000 + "\n1\n2\n",
    ],
)
def test_what_nests_deeply_is_looked_at_at_once(text: str) -> None:
    assert form(text) in {"", "TOML", "Python source"}
