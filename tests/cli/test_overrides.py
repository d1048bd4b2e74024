"""--set, --unset and --env."""

from collections.abc import Mapping
from typing import Any

import pytest

from relight.cli.overrides import change_of, value_of
from relight.words.argv import to_argv
from relight.words.errors import UsageError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4),
        ("true", True),
        ("false", False),
        ("nvidia/Qwen3.5", "nvidia/Qwen3.5"),
        ("007", "007"),
        ("[1, 2, 4]", (1, 2, 4)),
        ("{ a = 1 }", {"a": 1}),
        ('{"a": true, "b": "c"}', {"a": True, "b": "c"}),
        ('"4"', "4"),
        ("", ""),
        ("a=b", "a=b"),
        ("2026-01-01", "2026-01-01"),
    ],
)
def test_a_value_is_what_toml_makes_of_it_else_text(text: str, value: object) -> None:
    assert value_of(text) == value


def test_a_float_stays_as_written() -> None:
    change = change_of(["mem-fraction-static=0.90"], [], [])

    assert to_argv(change.set) == ("--mem-fraction-static", "0.90")


def test_all_three_make_one_change() -> None:
    change = change_of(["tp-size=4", "--page-size=1"], ["quantization"], ["NCCL_DEBUG=INFO", "EMPTY="])

    assert change.set == {"tp-size": 4, "page-size": 1}
    assert change.unset == ("quantization",)
    assert change.set_env == {"NCCL_DEBUG": "INFO", "EMPTY": ""}


def test_the_last_of_two_wins() -> None:
    assert change_of(["tp-size=4", "tp-size=8"], [], []).set == {"tp-size": 8}


@pytest.mark.parametrize(
    "given", [{"sets": ["=1"]}, {"sets": ["a b=1"]}, {"unsets": ["a b"]}, {"env": ["1A=2"]}, {"env": ["A"]}]
)
def test_what_is_no_name_is_refused(given: Mapping[str, Any]) -> None:
    with pytest.raises(UsageError):
        change_of(**{"sets": [], "unsets": [], "env": [], **given})
