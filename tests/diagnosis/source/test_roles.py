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


LAYERS = """
class Attention:
    def __init__(self, config, heads: int):
        size = get_parallel().attn_tp_size
        self.total = heads
        assert self.total % size == 0  # here

class Layer:
    def __init__(self, config):
        self.attention = Attention(config=config, heads=config.num_attention_heads)
"""


def test_what_a_layer_was_made_with_comes_from_the_models_configuration(
    read: Callable[..., Reading], flags: HostParser
) -> None:
    reading = read(LAYERS, type="AssertionError", callers=[("/engine/pkg/server_args.py", 10)])
    values = Values({"tp-size": 6}, {}, facts={"config.num_attention_heads": 64})

    known = with_fields(reading, flags, values)

    assert constraint(known, values, flags).values == {"num_attention_heads": 64, "tp-size": 6}
    assert dict(repairs(known, values, flags)[0].set) == {"tp-size": 4}


SHARED = """
class Linear:
    def __init__(self, size_per_partition, quant_config, tp_size):
        block = quant_config.weight_block_size[0]
        if size_per_partition % block != 0:
            raise ValueError(f"A share of {size_per_partition} is not divisible by {block}.")  # here
"""


def test_a_share_that_is_too_small_is_shared_by_fewer(read: Callable[..., Reading], flags: HostParser) -> None:
    reading = read(SHARED, type="ValueError", message="A share of 192 is not divisible by 128.")
    values = Values({"tp-size": 8}, {})

    found = repairs(with_fields(reading, flags, values), values, flags)

    assert found[0].set == {"tp-size": 4}
