"""The main job on the real engine with cards that only answer questions: repaired before any launch, then told."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.real.cards import install_cards
from tests.real.conftest import RELIGHT, interpreter
from tests.ssh.conftest import free_port

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]
STORY = """
schema = 1
name = "story"
[flags]
model-path = {model}
tp-size = 8
port = {port}
[[lever]]
name = "speculation"
keep = 3
variants = [{{ flags = {{ speculative-algorithm = "NEXTN", speculative-num-draft-tokens = 2, speculative-eagle-topk = 1 }}, env = {{ SGLANG_ENABLE_SPEC_V2 = "1" }} }}]
[budget]
attempts = 5
"""  # noqa: E501  an inline table is one line


def test_both_refusals_are_repaired_before_any_launch_and_what_no_flag_can_mend_is_told(tmp_path: Path) -> None:
    desk, cards = tmp_path / "desk", tmp_path / "cards"
    desk.mkdir()
    cards.mkdir()
    env = install_cards(cards, os.environ["PATH"])
    lines = [f"{name} = {json.dumps(value)}" for name, value in env.items()]
    host = f'address = "local"\npython = "{interpreter("0.5.10")}"\nworkdir = "{tmp_path / "work"}"'
    (desk / "hosts.toml").write_text("\n".join(["[hosts.here]", host, "[hosts.here.env]", *lines, ""]))
    (desk / "story.toml").write_text(STORY.format(model=json.dumps(str(cards / "model")), port=free_port()))

    done = subprocess.run(
        [RELIGHT, "retry", "story.toml", "--host", "here", "--state", "state", "--format", "json"],
        cwd=desk, capture_output=True, text=True, check=False, timeout=580,
    )  # fmt: skip

    record = json.loads(done.stdout)
    launched = [a for a in record["attempts"] if a["rung"] == "real"]
    refused = [a for a in record["attempts"] if a["n"] < launched[0]["n"]]
    assert [a["diagnosis"]["cause"]["kind"] for a in refused] == ["args.conflict", "assertion.args"], done.stderr
    assert all(r["origin"] != "isolation" for a in refused for r in a["diagnosis"]["repairs"])
    assert any("speculative-num-steps" in r["set"] for r in refused[1]["diagnosis"]["repairs"][:3])
    settings = launched[0]["settings"]
    assert settings["env"]["SGLANG_ENABLE_SPEC_V2"] == "1"
    assert settings["flags"]["speculative-algorithm"] == "NEXTN"
    assert settings["flags"]["mamba-scheduler-strategy"] == "extra_buffer"
    assert record["state"] in {"person", "exhausted", "budget"}
    families = {a["diagnosis"]["cause"]["kind"].partition(".")[0] for a in launched}
    assert not families & {"args", "assertion"}, "what validation refuses is never launched"
