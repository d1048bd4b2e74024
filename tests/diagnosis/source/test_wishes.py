"""What every operator wants: some flags stay as they are, some are changed last."""

from collections.abc import Callable

from relight.diagnosis.source.read import Reading
from relight.diagnosis.source.solve import repairs
from relight.diagnosis.source.values import Values
from relight.diagnosis.source.wishes import general_wishes
from relight.words.knowledge import FlagFact
from relight.words.parser import HostParser

TEXT = """
class Args:
    def check(self):
        assert self.kv_dtype != "fp8" or self.backend == "triton" or self.page_size == 1  # here
"""
GIVEN = Values({"kv-dtype": "fp8", "backend": "flash", "page-size": 64}, {})


def test_flags_protected_by_a_pattern_are_not_among_the_repairs(
    read: Callable[..., Reading], flags: HostParser
) -> None:
    facts = {"page-*": FlagFact("page-*", always_protected=True)}

    found = repairs(read(TEXT), GIVEN, flags, general_wishes(facts, flags))

    assert {n for r in found for n in r.names} == {"kv-dtype", "backend"}


def test_what_alters_answers_is_proposed_last(read: Callable[..., Reading], flags: HostParser) -> None:
    facts = {"kv-dtype": FlagFact("kv-dtype", alters_answers=True)}

    found = repairs(read(TEXT), GIVEN, flags, general_wishes(facts, flags))

    assert [r.alters_answers for r in found] == sorted(r.alters_answers for r in found)
    assert found[-1].names == {"kv-dtype"}


def test_what_is_known_to_cost_much_is_proposed_late(read: Callable[..., Reading], flags: HostParser) -> None:
    facts = {"backend": FlagFact("backend", cost=8.0)}

    usual = repairs(read(TEXT), GIVEN, flags, general_wishes({}, flags))
    found = repairs(read(TEXT), GIVEN, flags, general_wishes(facts, flags))

    assert {r.cost for r in found if "backend" in r.names} == {r.cost + 6 for r in usual if "backend" in r.names}
    assert found[-1].names == {"backend"}
