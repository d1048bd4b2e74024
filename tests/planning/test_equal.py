from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relight.planning.equal import equal_resolved, key
from relight.words.parser import HostParser, ParserFlag
from relight.words.settings import Settings, WrittenFloat
from tests.planning.situations import PARSER


def same(one: dict[str, object], other: dict[str, object]) -> bool:
    return key(Settings(one), PARSER) == key(Settings(other), PARSER)  # type: ignore[arg-type]


def test_an_alias_is_the_flag_it_stands_for() -> None:
    assert same({"tp": 8}, {"tensor-parallel-size": 8})


def test_a_unique_abbreviation_is_the_flag_it_stands_for() -> None:
    assert same({"mem-frac": 0.8}, {"mem-fraction-static": 0.8})


def test_order_does_not_matter() -> None:
    assert same({"tp": 8, "mem-frac": 0.8}, {"mem-frac": 0.8, "tp": 8})


def test_values_are_compared_as_the_parser_reads_them() -> None:
    assert same({"mem-fraction-static": WrittenFloat("0.90")}, {"mem-fraction-static": "0.9"})
    assert same({"tp": "8"}, {"tp": 8})


def test_text_that_looks_like_a_number_stays_text_where_the_parser_says_text() -> None:
    assert not same({"moe-runner-backend": "08"}, {"moe-runner-backend": "8"})


def test_a_default_spelled_out_is_no_difference() -> None:
    assert same({"port": 30000, "disable-radix-cache": False}, {})


def test_a_default_of_none_or_unknown_is_a_difference() -> None:
    assert not same({"mem-fraction-static": 0.9}, {})
    assert key(Settings({"port": 30000})) != key(Settings({}))


def test_no_form_of_a_switch_differs_from_leaving_it_out() -> None:
    assert not same({"overlap": False}, {})


def test_words_for_true_are_one_value_in_the_environment_and_nothing_else_is() -> None:
    keys = {key(Settings({}, {"A": word})) for word in ("1", "true", "True", "yes")}

    assert len(keys) == 1
    assert key(Settings({}, {"A": "on"})) not in keys
    assert key(Settings({}, {})) not in keys


@given(st.permutations([("tp", 8), ("port", 1), ("mem-frac", 0.5), ("attention-backend", "triton")]))
def test_any_order_gives_one_key(items: list[tuple[str, object]]) -> None:
    assert same(dict(items), dict(sorted(items)))


def test_what_resolves_alike_is_equal_only_under_the_same_environment() -> None:
    one = (Settings({"attention-backend": "triton"}), {"attention_backend": "triton", "random_seed": 1})
    auto = (Settings({}), {"attention_backend": "triton", "random_seed": 2})
    elsewhere = (Settings({}, {"X": "1"}), auto[1])

    assert equal_resolved(one, auto, PARSER)
    assert not equal_resolved(one, elsewhere, PARSER)
    assert not equal_resolved(one, (Settings({}), {"attention_backend": "fa3"}), PARSER)


def test_a_number_that_was_given_counts_also_where_its_field_has_another_name() -> None:
    sizes = HostParser((ParserFlag(("tensor-parallel-size", "tp-size"), "tp_size", "int"),))

    def resolved(n: int) -> tuple[Settings, dict[str, Any]]:
        return Settings({"tp-size": n}), {"tp_size": n, "random_seed": n}

    assert not equal_resolved(resolved(8), resolved(4), sizes)
    assert equal_resolved((Settings({}), {"random_seed": 1}), (Settings({}), {"random_seed": 2}), sizes)


@pytest.mark.parametrize("spelled", ["tp-size", "tp", "tensor-parallel-size"])
@pytest.mark.parametrize("parser", [PARSER, None], ids=["parser", "no parser"])
def test_settings_that_differ_in_the_number_of_ranks_alone_are_not_equal(
    spelled: str, parser: HostParser | None
) -> None:
    eight, four = Settings({"model-path": "m", spelled: 8}), Settings({"model-path": "m", spelled: 4})
    resolved = {"model_path": "m", "page_size": 1}

    assert key(eight, parser) != key(four, parser)
    assert not equal_resolved((eight, {**resolved, "tp_size": 8}), (four, {**resolved, "tp_size": 4}), PARSER)
