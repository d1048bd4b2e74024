"""What was learned: what is to blame apart from what was there, what is proved apart from what is believed."""

from dataclasses import replace

import pytest

from relight.reports.blocks import words
from relight.reports.interval import no_value
from relight.reports.learned import nogoods_table
from relight.words.attempt import Attempt, Nogood, Record, Rung, Term
from relight.words.settings import Settings
from tests.reports.more_stories import STORIES
from tests.reports.stories import ALL_OR_NONE, CAPTURE_OOM
from tests.reports.test_passed import failing, run_of

FAILED = replace(failing(1, diagnosis=CAPTURE_OOM), settings=Settings({"a": 1, "b": 2}))
HEALTHY = replace(failing(2, outcome="healthy", diagnosis=None), settings=Settings({"a": 3, "b": 2}))
BOTH = Nogood("", "attempt 1", "oom.gpu.kv_pool", 0.9, terms=(Term("a", "=", [1]), Term("b", "=", [2])))


def learned(record: Record, *nogoods: Nogood) -> list[list[str]]:
    table = nogoods_table(replace(record, nogoods=nogoods))
    return [[words(cell) for cell in row] for row in table.rows] if table else []


def test_what_the_next_success_left_as_it_was_is_not_blamed() -> None:
    (row,) = learned(run_of(FAILED, HEALTHY), BOTH)

    assert row[0] == "--a = 1\nseen only with --b = 2; whether that matters is not known"
    assert row[3].endswith("attempt 2 changed it and got past")


def test_without_a_success_nothing_is_taken_out_of_a_condition() -> None:
    (row,) = learned(run_of(FAILED), BOTH)

    assert row[0] == "--a = 1 and --b = 2"
    assert row[3].startswith("belief, 90 %: ")


def test_what_was_proposed_and_not_tried_stands_apart() -> None:
    ways = (Term("x", "!=", [2]), Term("y", "set"))

    (row,) = learned(run_of(FAILED), replace(BOTH, terms=(*BOTH.terms, *ways)))

    assert row[0].endswith("\nnot tried, so it may work with --x 2 or without --y")


@pytest.mark.parametrize(
    ("rung", "said"),
    [
        ("parse", "proved: the host's own parser refuses it"),
        ("validate", "proved: read from the engine's source, and the host's own validation refuses it"),
    ],
)
def test_what_is_proved_says_by_whom(rung: Rung, said: str) -> None:
    refused = replace(failing(1, diagnosis=ALL_OR_NONE), rung=rung, outcome="rejected")

    (row,) = learned(run_of(refused), replace(BOTH, hard=True, confidence=1.0))

    assert row[3] == said


def test_a_refusal_is_proved_also_where_its_condition_is_belief() -> None:
    refused = replace(failing(1, diagnosis=ALL_OR_NONE), rung="validate", outcome="rejected")

    (row,) = learned(run_of(refused), BOTH)

    assert row[3].startswith("belief, 90 %: read from the engine's source")
    assert "proved: the host's own validation refused" in row[3]


def test_what_attempts_had_in_common_is_left_out_where_each_is_explained() -> None:
    common = Nogood("", "attempts 1, 2", "oom.gpu.kv_pool", 0.8, terms=(Term("c", "=", [1]),))
    own = [replace(BOTH, because=f"attempt {n}", terms=(Term("a", "=", [n]),)) for n in (1, 2)]
    record = run_of(FAILED, replace(FAILED, n=2, settings=Settings({"a": 2, "b": 2})))

    assert [row[2] for row in learned(record, common, *own)] == ["attempt 1", "attempt 2"]
    assert [row[3] for row in learned(record, common)] == ["belief, 80 %: only what these attempts had in common"]


def test_belief_is_never_called_certain() -> None:
    (row,) = learned(run_of(FAILED), replace(BOTH, confidence=0.9975))

    assert row[3].startswith("belief, over 99 %")


def bounded(n: int, fraction: float, **facts: float) -> Attempt:
    assert CAPTURE_OOM.cause
    found = replace(CAPTURE_OOM, cause=replace(CAPTURE_OOM.cause, facts={"mem_fraction": fraction, **facts}))
    return replace(failing(n, diagnosis=found), settings=Settings({"mem-fraction-static": fraction, "bs": 8}))


def test_an_empty_interval_is_told_with_its_bounds_and_what_was_done_instead() -> None:
    failed = bounded(1, 0.9, mem_fraction_low=0.8, mem_fraction_high=0.7)
    after = replace(failing(2), settings=Settings({"mem-fraction-static": 0.9, "bs": 4}))

    assert no_value(failed, (), after) == [
        "No value of --mem-fraction-static works with the rest as it is: it must be above 0.8 and not above 0.7.",
        "Changed instead: --bs 8 -> 4.",
    ]


def test_bounds_of_two_attempts_that_differ_in_the_number_alone_count_together() -> None:
    high, low = bounded(1, 0.9, mem_fraction_high=0.7), bounded(2, 0.65, mem_fraction_low=0.8)
    other = replace(high, settings=Settings({"mem-fraction-static": 0.9, "bs": 4}))

    assert no_value(low, (high,), None) == [
        "No value of --mem-fraction-static works with the rest as it is: it must be above 0.8 and not above 0.7"
        " (attempt 1)."
    ]
    assert no_value(low, (other,), None) == []


def test_a_share_above_the_whole_is_no_value() -> None:
    assert no_value(bounded(1, 0.9, mem_fraction_low=1.02), (), None)[0].endswith(
        "it must be above 1.02, which is more than the whole."
    )
    assert no_value(bounded(1, 0.9, mem_fraction_low=0.95), (), None) == []


def test_every_story_keeps_its_sums() -> None:
    assert all(no_value(a, (), None) == [] for a in STORIES["healthy"]().attempts)
