"""Playbooks (CONTRACT.md section 3)."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relight.config.durations import parse_duration, show_duration
from relight.config.playbook import load_playbook, parse_playbook
from relight.words.argv import to_argv
from relight.words.errors import UsageError
from relight.words.playbook import Budget, Health, Playbook

HERE = Path("play.toml")
CONTRACT = """
schema = 1
name = "qwen3.5-397b-nvfp4"
engine = "sglang"

[flags]
model-path = "nvidia/Qwen3.5-397B-A17B-NVFP4"
tp-size = 8
port = 30000
[env]
NCCL_P2P_LEVEL = "SYS"

[protect]
flags = ["tp-size"]
env = []
others = false
[allow]
flags = []

[[lever]]
name = "speculation"
keep = 3
variants = [
  { flags = { speculative-algorithm = "NEXTN", speculative-num-draft-tokens = 2 }, env = { SGLANG_X = "1" } },
  { flags = { speculative-algorithm = "NEXTN" }, needs = ["speculative-algorithm"], versions = ">=0.5.5" },
  "off",
]

[health]
deadline = "45m"
download = "6h"
soak = "60s"
judge = "strict"
[[health.probe]]
prompt = "The capital of France is"
expect = "Paris"

[budget]
attempts = 20
deadline = "8h"
dummy = false
win_back = 0
"""


def play(text: str) -> Playbook:
    return parse_playbook(f'name = "x"\n{text}', HERE)


def test_reads_every_key_of_the_contract() -> None:
    book = parse_playbook(CONTRACT, HERE)

    assert (book.name, book.engine, book.flags["tp-size"]) == ("qwen3.5-397b-nvfp4", "sglang", 8)
    assert book.env == {"NCCL_P2P_LEVEL": "SYS"}
    assert book.protect_flags == {"tp-size"}
    lever = book.levers[0]
    assert (lever.name, lever.keep, lever.variants[2].off) == ("speculation", 3.0, True)
    assert lever.variants[0].first_flag == "speculative-algorithm"
    assert lever.variants[0].env == {"SGLANG_X": "1"}
    assert (lever.variants[1].needs, lever.variants[1].versions) == (("speculative-algorithm",), ">=0.5.5")
    assert (book.health.deadline, book.health.download, book.health.soak) == (2700, 21600, 60)
    assert (book.health.probes[0].expect, book.budget) == ("Paris", Budget())


def test_what_is_left_out_has_its_default() -> None:
    assert (play("").health, play("").budget, play("").levers) == (Health(), Budget(), ())


def test_a_lever_is_worth_one_unless_it_says_more() -> None:
    assert play('[[lever]]\nname = "a"\nvariants = [{ flags = { page-size = 1 } }]').levers[0].keep == 1.0


def test_keeps_the_text_of_the_file() -> None:
    assert parse_playbook(CONTRACT, HERE).text == CONTRACT


@pytest.mark.parametrize("written", ["0.90", "1e-3", "0.5", "1.0", "12.50"])
def test_a_float_stays_as_it_is_written(written: str) -> None:
    flags = play(f"[flags]\nmem-fraction-static = {written}").flags

    assert to_argv(flags) == ("--mem-fraction-static", written)
    assert flags["mem-fraction-static"] == float(written)


def test_lists_and_tables_become_words_of_a_command_line() -> None:
    flags = play("[flags]\ncuda-graph-bs = [1, 2, 4]\nmodel-loader-extra-config = { a = true }").flags

    assert to_argv(flags) == ("--cuda-graph-bs", "1", "2", "4", "--model-loader-extra-config", '{"a":true}')


def test_an_integer_of_the_environment_becomes_its_digits() -> None:
    assert play("[env]\nOMP_NUM_THREADS = 8").env == {"OMP_NUM_THREADS": "8"}


def test_order_of_flags_is_kept() -> None:
    assert list(play("[flags]\nb = 1\na = 2\nc = 3").flags) == ["b", "a", "c"]


def test_an_always_protected_flag_may_stand_in_a_lever_when_it_is_allowed() -> None:
    text = '[allow]\nflags = ["port"]\n[[lever]]\nname = "p"\nvariants = [{ flags = { port = 1 } }, "off"]'

    assert play(text).allow_flags == {"port"}


def test_a_protected_name_outside_levers_is_fine() -> None:
    assert play('[protect]\nflags = ["tp-size"]\n[flags]\ntp-size = 8').flags == {"tp-size": 8}


def test_one_lever_may_name_a_flag_in_several_variants() -> None:
    book = play('[[lever]]\nname = "p"\nvariants = [{ flags = { page-size = 1 } }, { flags = { page-size = 64 } }]')

    assert [v.flags["page-size"] for v in book.levers[0].variants] == [1, 64]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file") as caught:
        load_playbook(tmp_path / "none.toml")

    assert caught.value.place == str(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("45m", 2700), ("8h", 28800), ("1h30m", 5400), ("0s", 0), ("1.5s", 1.5)]
)
def test_reads_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "8", "8 h", "m45", "30m1h", "-5s", "h"])
def test_refuses_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="90s, 45m, 8h or 1h30m"):
        parse_duration(text)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(min_value=0, max_value=10**6))
def test_a_duration_survives_being_written(seconds: int) -> None:
    assert parse_duration(show_duration(seconds)) == seconds
