"""Flags as the words of a command line, and back."""

import pytest

from relight.words.argv import from_argv, to_argv
from relight.words.parser import HostParser, ParserFlag
from relight.words.settings import FlagValue, WrittenFloat

PARSER = HostParser((ParserFlag(("overlap",), "overlap", action="store_true"),
                     ParserFlag(("no-overlap",), "overlap", action="store_false")))  # fmt: skip
WORDS: dict[str, tuple[FlagValue, tuple[str, ...]]] = {
    "true is the flag alone": (True, ("--x",)),
    "false is left out where there is no flag against it": (False, ()),
    "a text is two words": ("a b", ("--x", "a b")),
    "a number is two words": (8, ("--x", "8")),
    "a float stays as it is written": (WrittenFloat("0.90"), ("--x", "0.90")),
    "a value that begins with a dash is joined": ("-1", ("--x=-1",)),
    "a negative number is joined": (-1, ("--x=-1",)),
    "a list is several words": (("a", 2), ("--x", "a", "2")),
    "a table is one word of compact JSON": ({"a": 1, "b": [True]}, ("--x", '{"a":1,"b":[true]}')),
}


@pytest.mark.parametrize("what", WORDS)
def test_a_value_becomes_the_words_of_the_contract(what: str) -> None:
    value, words = WORDS[what]

    assert to_argv({"x": value}) == words


def test_false_is_the_flag_against_it_where_the_parser_has_one() -> None:
    assert to_argv({"overlap": False}, PARSER) == ("--no-overlap",)
    assert to_argv({"overlap": False}) == ()


def test_nothing_is_added_and_the_order_stays() -> None:
    assert to_argv({"b": 1, "a": True}) == ("--b", "1", "--a")
    assert to_argv({}) == ()


def test_a_command_line_is_read_back() -> None:
    assert from_argv(("--b", "1", "--a", "--c=-1")) == {"b": "1", "a": True, "c": "-1"}
