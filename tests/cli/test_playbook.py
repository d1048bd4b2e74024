"""`relight playbook check`, `playbook new`, `explain` and what `init` writes."""

import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from relight.cli.draft import pattern_of
from relight.cli.first import Offer, first_hosts, first_playbook, tp_size
from relight.cli.init import spec_of
from relight.cli.models import ModelThere
from relight.cli.schema import schema_of
from relight.config.hosts import load_hosts
from relight.config.keys import json_schema
from relight.config.playbook import PLAYBOOK_KEYS, parse_playbook
from relight.config.signatures import load_signature
from relight.hosts.values import Interpreter
from relight.words.errors import UsageError
from relight.words.host import Gpu, HostSpec
from tests.cli.conftest import Relight

CARD = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
GIB = 1 << 30
GPUS = tuple(Gpu(i, CARD, 97887, 4) for i in range(8))
MODELS = (ModelThere("nvidia/Qwen3.5-397B-A17B-NVFP4", 230 * GIB), ModelThere("/models/small", 14 * GIB))
SPEC = HostSpec("gpu1", "gpu1.example.com", user="root", port=2222)
OFFER = Offer(SPEC, "/opt/sglang/bin/python", "0.5.9", gpus=GPUS, models=MODELS)
UNKNOWN = "[2026-03-01 10:00:00 TP3] RuntimeError: the flux of rank 3 is 17.5 at 0x7f00 in 'cell a'"


@pytest.mark.parametrize("text", ['name = "x"\n[flags]\nmodel-path = "m"\nmamba-scheduler-strategy = "auto"\n'])
def test_a_playbook_that_some_version_takes_is_well(relight: Relight, tmp_path: Path, text: str) -> None:
    (tmp_path / "play.toml").write_text(text)
    done = relight("playbook", "check", "play.toml", "--format", "json")

    assert (done.status, done.json) == (0, {"ok": True, "findings": []})


def test_a_flag_that_no_version_knows_is_only_a_warning_without_a_host(relight: Relight, tmp_path: Path) -> None:
    (tmp_path / "play.toml").write_text('name = "x"\n[flags]\nmodel-path = "m"\ntp-sise = 8\n')
    done = relight("playbook", "check", "play.toml", "--format", "json")

    assert done.status == 0
    jsonschema.validate(done.json, schema_of("check"))
    assert [f["severity"] for f in done.json["findings"]] == ["warning"]


def test_a_wrong_file_is_status_2_and_is_told_beside_the_others(relight: Relight, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('name = "x"\n[helth]\n')
    (tmp_path / "worse.toml").write_text('title = "t"\nkind = "oom.gpu.nothing"\n')
    text, document = relight("playbook", "check", "."), relight("playbook", "check", ".", "--format", "json")

    assert (text.status, document.status) == (2, 2)
    assert "bad.toml:2" in text.out
    assert "worse.toml" in text.out
    jsonschema.validate(document.json, schema_of("error"))
    assert len(document.json["findings"]) == 2


def test_a_signature_made_from_a_log_line_is_valid_and_claims_it(relight: Relight, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(f"first\nsecond\n{UNKNOWN}\n")

    made = relight("playbook", "new", "flux", "--from", "a.log:3", "-o", "sigs", "--kind", "engine.bug")
    checked = relight("playbook", "check", "sigs/flux.toml")
    found = relight("diagnose", "a.log", "--signatures", "sigs", "--format", "json")

    assert (made.status, checked.status) == (0, 0), checked.out
    assert load_signature(tmp_path / "sigs" / "flux.toml").kind == "engine.bug"
    assert found.json[0]["cause"]["signature"] == "flux"
    assert relight("playbook", "new", "flux", "--from", "a.log:3", "-o", "sigs").status == 2


@pytest.mark.parametrize("line", [UNKNOWN, "a (b) [c] +1 $ 0x1f", "/a/b/c.py: 12", "plain", "x 'y' z", '"q" 1.5.2'])
def test_a_new_pattern_matches_its_line_and_leaves_open_what_varies(line: str) -> None:
    assert re.search(pattern_of(line), line)
    assert re.search(pattern_of(line), line.replace("3 is", "4 is"))


def test_the_folder_of_own_signatures_is_read(relight: Relight, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(f"{UNKNOWN}\n")
    relight("playbook", "new", "flux", "--from", "a.log:1", "--kind", "engine.bug")

    assert (tmp_path / "config" / "relight" / "signatures" / "flux.toml").exists()
    assert relight("diagnose", "a.log", "--format", "json").json[0]["cause"]["signature"] == "flux"


@pytest.mark.parametrize("name", ["oom.gpu.kv_pool", "kernel", "args-unrecognized"])
def test_a_kind_a_family_and_a_signature_are_explained(relight: Relight, name: str) -> None:
    done = relight("explain", name, "--format", "json")

    assert done.status == 0
    assert done.json["kinds"][0]["is"]
    assert done.json["signatures"]
    assert relight("explain", name).out


def load(text: str, tmp_path: Path) -> dict[str, HostSpec]:
    (tmp_path / "hosts.toml").write_text(text)
    return load_hosts(tmp_path / "hosts.toml")


def test_a_first_hosts_file_reaches_the_host(tmp_path: Path) -> None:
    spec = load(first_hosts(OFFER), tmp_path)["gpu1"]

    assert (spec.address, spec.user, spec.port, spec.python) == (
        "gpu1.example.com",
        "root",
        2222,
        "/opt/sglang/bin/python",
    )


def test_a_first_playbook_is_valid_and_names_the_biggest_model_that_fits() -> None:
    book = parse_playbook(first_playbook(OFFER), Path("first.toml"))

    assert book.flags["model-path"] == "nvidia/Qwen3.5-397B-A17B-NVFP4"
    assert book.flags["tp-size"] == 4
    jsonschema.validate(tomllib.loads(first_playbook(OFFER)), json_schema(PLAYBOOK_KEYS))


def test_levers_of_a_first_playbook_fit_the_cards() -> None:
    names = [lever.name for lever in parse_playbook(first_playbook(OFFER), Path("first.toml")).levers]
    other = Offer(OFFER.spec, "python3", None, gpus=tuple(Gpu(i, "NVIDIA H100", 81559, 4) for i in range(8)))

    assert names[0] == "attention"
    assert "attention" not in [lever.name for lever in parse_playbook(first_playbook(other), Path("first.toml")).levers]


def test_without_cards_a_first_playbook_is_for_the_cpu() -> None:
    offer = Offer(OFFER.spec, "python3", "0.5.23", others=(Interpreter("/opt/b", None),), models=MODELS[1:])
    book = parse_playbook(first_playbook(offer), Path("first.toml"))

    assert (book.flags["device"], book.health.judge, book.levers) == ("cpu", "shape", ())


def test_a_first_playbook_without_a_model_says_so() -> None:
    text = first_playbook(Offer(OFFER.spec, "python3", None, gpus=GPUS))

    assert "no model was found" in text
    assert parse_playbook(text, Path("first.toml")).name == "first"


@pytest.mark.parametrize(("size", "cards"), [(14, 1), (120, 2), (230, 4), (500, 8), (900, 8)])
def test_a_model_lies_on_the_fewest_cards_that_hold_it(size: int, cards: int) -> None:
    assert tp_size(Offer(OFFER.spec, "p", None, gpus=GPUS, models=(ModelThere("m", size * GIB),))) == cards


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("gpu1", HostSpec("gpu1", "gpu1")),
        ("root@gpu1.example.com:2222", HostSpec("gpu1", "gpu1.example.com", user="root", port=2222)),
        ("10.0.0.7", HostSpec("10-0-0-7", "10.0.0.7")),
        ("local", HostSpec("local", "local")),
    ],
)
def test_reads_an_address(text: str, spec: HostSpec) -> None:
    assert spec_of(text) == spec


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(UsageError, match="no address"):
        spec_of("two words")


def test_a_new_sample_keeps_the_indentation_of_a_traceback(relight: Relight, tmp_path: Path) -> None:
    frame = '  File "acme/router.py", line 5, in build'
    (tmp_path / "server.log").write_text(f"Traceback (most recent call last):\n{frame}\nRuntimeError: no room in it\n")

    relight("playbook", "new", "no-room", "--from", "server.log:3", "-o", "sigs")

    made = tomllib.loads((tmp_path / "sigs" / "no-room.toml").read_text())
    assert made["sample"][0]["log"][1] == frame


def test_a_first_hosts_file_claims_no_engine_that_was_not_found() -> None:
    spec = HostSpec("box", "gpu1")

    assert "# no SGLang was found in python3: name the" in first_hosts(Offer(spec, "python3", None, found=False))
    assert "# SGLang 0.5.9 is in /opt/bin/python" in first_hosts(Offer(spec, "/opt/bin/python", "0.5.9"))
