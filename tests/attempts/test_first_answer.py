"""A server that is ready and answers nobody is hung, too; a first request may compile for a while."""

import pytest

from relight.attempts.start import longest_first_answer


@pytest.mark.parametrize(("limit", "seconds"), [(22.0, 60.0), (120.0, 120.0), (2700.0, 360.0)])
def test_a_first_answer_has_the_time_of_a_start_within_bounds(limit: float, seconds: float) -> None:
    assert longest_first_answer(limit) == seconds
