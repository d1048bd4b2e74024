"""How long an attempt to reach a host may take."""

import pytest

from relight.hosts.pace import Pace

FIRST = 30.0


def known(usual: float) -> Pace:
    pace = Pace(2.0)
    pace.took(usual)
    return pace


def after(pace: Pace, misses: int) -> Pace:
    for _ in range(misses):
        pace.failed()
    return pace


def test_a_way_nobody_went_yet_has_all_the_time() -> None:
    assert (Pace(2.0).limit(FIRST), Pace(2.0).greeting(15.0)) == (FIRST, 15.0)


def test_an_attempt_on_a_quick_way_is_short_and_one_of_four_is_long() -> None:
    pace = known(0.3)

    assert [after(pace, 1).limit(20.0) for _ in range(8)] == [2.0, 2.0, 20.0, 2.0, 2.0, 2.0, 20.0, 2.0]


def test_a_long_attempt_does_not_wait_long_for_a_first_word() -> None:
    greetings = [after(known(0.3), misses).greeting(15.0) for misses in range(16)]

    assert greetings == [2.0] * 15 + [6.0]


def test_a_slow_way_keeps_its_time() -> None:
    assert known(3.0).limit(20.0) == 12.0
    assert known(3.0).doubt == 6.0
    assert known(0.3).doubt == 2.0


def test_an_attempt_that_waited_for_the_link_does_not_make_the_way_a_slow_one() -> None:
    pace = known(0.3)

    pace.took(9.0)

    assert (pace.limit(20.0), pace.doubt) == (2.0, 2.0)


def test_a_slow_login_has_its_time_though_most_starts_need_none() -> None:
    pace = Pace(2.0)
    pace.logged_in(5.0)
    pace.took(5.3)

    for _ in range(3):
        pace.took(0.2)

    assert (pace.limit(30.0), pace.doubt) == pytest.approx((20.8, 2.0))


def test_a_way_that_stays_slow_is_a_slow_one() -> None:
    pace = known(0.3)

    for _ in range(8):
        pace.took(3.0)

    assert (pace.limit(20.0), pace.doubt) == (12.0, 6.0)


def test_what_came_through_ends_the_count_of_misses() -> None:
    pace = after(known(0.3), 3)
    assert pace.limit(20.0) == 20.0

    pace.took(0.2)

    assert pace.limit(20.0) == 2.0
