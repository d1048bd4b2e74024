"""The bound of a remedy that moves a number: it ends the move, and is no reason for one the other way."""

import pytest

from relight.diagnosis.given import Given
from relight.diagnosis.remedies import repairs_from
from relight.words.parser import HostParser, ParserFlag
from relight.words.settings import FlagValue
from relight.words.signature import Remedy

PARSER = HostParser((ParserFlag(("watchdog-timeout",), "watchdog_timeout", "float"),), "0.5.9")
LONGER = Remedy(set={"watchdog-timeout": 1200}, scale={"watchdog-timeout": 4}, bounds={"watchdog-timeout": (1, 1200)})


@pytest.mark.parametrize(
    ("given", "wanted"), [(None, [1200]), (100, [400]), (300, [1200]), (600, [1200]), (1200, []), (3600, [])]
)
def test_a_number_is_moved_up_to_the_bound_and_never_back_to_it(given: FlagValue | None, wanted: list[int]) -> None:
    flags: dict[str, FlagValue] = {"model-path": "m"} | ({} if given is None else {"watchdog-timeout": given})

    found = repairs_from([LONGER], {}, Given(flags, parser=PARSER), None)

    assert [r.set["watchdog-timeout"] for r in found] == wanted
