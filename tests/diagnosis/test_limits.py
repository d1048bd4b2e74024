"""What a message says of numbers: at most, at least, a multiple of, of a number or of another flag."""

import pytest

from relight.diagnosis.given import Given
from relight.diagnosis.limits import limit_facts, limit_repairs, limits_of
from relight.words.parser import HostParser, ParserFlag

PARSER = HostParser(
    (
        ParserFlag(("chunked-prefill-size",), "chunked_prefill_size", "int"),
        ParserFlag(("page-size",), "page_size", "int"),
        ParserFlag(("max-running-requests",), "max_running_requests", "int"),
        ParserFlag(("tensor-parallel-size", "tp-size", "tp"), "tp_size", "int", default=1),
        ParserFlag(("mem-fraction-static",), "mem_fraction_static", "float"),
        ParserFlag(("attention-backend",), "attention_backend"),
    )
)
GIVEN = Given(
    {
        "chunked-prefill-size": 16384,
        "page-size": 48,
        "max-running-requests": 10,
        "tp": 6,
        "mem-fraction-static": 1.0,
    },
    parser=PARSER,
)


@pytest.mark.parametrize(
    ("message", "repairs"),
    [
        ("chunked_prefill_size must be at most 8192, got 16384", [{"chunked-prefill-size": 8192}]),
        ("--chunked-prefill-size (16384) must be <= 8192.", [{"chunked-prefill-size": 8192}]),
        ("chunked_prefill_size cannot be greater than 8192", [{"chunked-prefill-size": 8192}]),
        ("self.chunked_prefill_size must not exceed 8192", [{"chunked-prefill-size": 8192}]),
        ("chunked_prefill_size=16384 exceeds the maximum of 8192", [{"chunked-prefill-size": 8192}]),
        ("chunked_prefill_size must be less than 8192", [{"chunked-prefill-size": 8191}]),
        ("max_running_requests must be at least 48", [{"max-running-requests": 48}]),
        ("max-running-requests should be >= 48", [{"max-running-requests": 48}]),
        ("max_running_requests is less than 48", [{"max-running-requests": 48}]),
        ("max_running_requests must be greater than 48", [{"max-running-requests": 49}]),
        ("tp_size must be a multiple of 4", [{"tp": 4}]),
        ("mem_fraction_static must be below 1", [{"mem-fraction-static": 0.99}]),
        ("chunked_prefill_size must be a multiple of 5000 and at most 12288", [{"chunked-prefill-size": 10000}]),
        (
            "chunked_prefill_size must be divisible by page_size (48)",
            [{"chunked-prefill-size": 16368}, {"page-size": 32}],
        ),
        (
            "chunked_prefill_size must be at most max_running_requests",
            [{"chunked-prefill-size": 10}, {"max-running-requests": 16384}],
        ),
    ],
)
def test_the_nearest_value_that_keeps_to_what_is_said_is_proposed(
    message: str, repairs: list[dict[str, float]]
) -> None:
    assert [r.set for r in limit_repairs(limits_of(message, GIVEN), GIVEN)] == repairs


@pytest.mark.parametrize(
    "message",
    [
        "max_running_requests must be at most 48",
        "attention_backend must be at least 3",
        "the moon must be at most 4",
        "chunked_prefill_size must be at most the limit of the moon",
        "expected at most 3 arguments",
    ],
)
def test_what_is_kept_already_or_names_no_number_says_nothing(message: str) -> None:
    assert limits_of(message, GIVEN) == []


def test_a_number_becomes_a_bound_for_everything_that_is_tried_later() -> None:
    def facts(message: str) -> dict[str, float]:
        return limit_facts(limits_of(message, GIVEN), GIVEN)

    assert facts("chunked_prefill_size must be less than 8192") == {"chunked_prefill_size_high": 8191}
    assert facts("max_running_requests must be at least 48") == {"max_running_requests_low": 48}
    assert facts("chunked_prefill_size must be divisible by page_size") == {}
