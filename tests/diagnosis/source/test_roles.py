"""Conditions behind argument validation: what a local name or a getter means for the flags."""

from collections.abc import Callable

import pytest

from relight.diagnosis.source.explain import constraint
from relight.diagnosis.source.read import Reading
from relight.diagnosis.source.roles import with_fields
from relight.diagnosis.source.solve import repairs
from relight.diagnosis.source.values import Values
from relight.words.parser import HostParser

DIVIDED = """
def ensure(heads, parts):
    assert heads % parts == 0, f"{heads} is not divisible by {parts}"  # here

class Layer:
    def __init__(self, heads, tp_size):
        ensure(heads, tp_size)
"""
FORMATTED = DIVIDED.replace(
    'f"{heads} is not divisible by {parts}"', '"{} is not divisible by {}".format(heads, parts)'
)
ASKED = """
class Layer:
    def __init__(self, heads):
        size = get_tensor_model_parallel_world_size()
        assert heads % size == 0, f"{heads} is not divisible by {size}"  # here
"""


@pytest.mark.parametrize("text", [DIVIDED, ASKED, FORMATTED])
def test_the_size_is_the_largest_divisor_below_what_was_asked(
    read: Callable[..., Reading], flags: HostParser, text: str
) -> None:
    reading = with_fields(read(text, message="64 is not divisible by 6", type="AssertionError"), flags)

    found = repairs(reading, Values({"tp-size": 6}, {}), flags)

    assert dict(found[0].set) == {"tp-size": 4}
    assert constraint(reading, Values({"tp-size": 6}, {}), flags).flags == ("tp-size",)


def test_a_name_that_is_no_flag_stays_what_it_is(read: Callable[..., Reading], flags: HostParser) -> None:
    reading = with_fields(read(ASKED.replace("get_tensor_model_parallel_world_size", "count_heads")), flags)

    assert repairs(reading, Values({"tp-size": 6}, {}), flags) == ()
