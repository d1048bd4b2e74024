"""What is said where a healthy launch shows what was to blame, and of answers that were noted."""

from dataclasses import replace

import pytest

from relight.reports import answers
from relight.reports.blocks import words
from relight.reports.culprit import culprit, culprit_of
from relight.reports.learned import nogoods_table
from relight.reports.story import tell
from relight.reports.verdict import verdict
from relight.words.attempt import Attempt, Nogood, Outcome, Record, Term
from relight.words.diagnosis import Cause, Diagnosis
from relight.words.settings import FlagValue, Settings

SICK = Diagnosis(
    "log",
    "failed",
    cause=Cause("numerics", "numerics.garbage", None, "f0", 3, "sick", None, "serving", 0.7, "a kernel is wrong"),
    action="change",
)


def attempt(n: int, outcome: Outcome = "sick", **flags: FlagValue) -> Attempt:
    return Attempt(n, "real", Settings(flags), outcome=outcome, diagnosis=SICK if outcome == "sick" else None)


def run(*attempts: Attempt) -> Record:
    return Record("r", "f", "p", "h", ("h",), attempts=attempts, state="healthy", asked=attempts[0].settings)


MENDED = run(
    attempt(1, cache="fp8", fast=True),
    attempt(2, cache="fp8"),
    attempt(3, "healthy", cache="auto", fast=True),
)


def test_the_verdict_names_the_one_setting_that_a_healthy_launch_shows_to_blame() -> None:
    assert words(verdict(MENDED)).endswith(
        "To blame for the wrong answers is --cache fp8: "
        "attempt 3 differs from attempt 1 in nothing else, and is healthy."
    )
    assert all(culprit_of(a, MENDED) for a in MENDED.attempts[:2])


@pytest.mark.parametrize(
    "attempts",
    [
        (attempt(1, cache="fp8", fast=True), attempt(2, "healthy", cache="auto", a=1, b=2)),
        (
            replace(attempt(1, cache="fp8"), diagnosis=replace(SICK, action="again")),
            attempt(2, "healthy", cache="auto"),
        ),
        (attempt(1, cache="fp8"), attempt(2, cache="auto")),
    ],
)
def test_nothing_is_to_blame_where_more_differs_or_the_failure_passes_or_nothing_is_healthy(
    attempts: tuple[Attempt, ...],
) -> None:
    assert culprit(run(*attempts)) is None


def test_of_a_few_settings_that_changed_together_it_is_one_of_them() -> None:
    found = culprit(run(attempt(1, cache="fp8"), attempt(2, "healthy", cache="auto", safe=True)))

    assert found
    assert found.said.startswith("What it took is among `--cache fp8 -> auto` and `--safe`: attempt 2 differs")


def test_what_was_shown_takes_the_place_of_what_was_believed() -> None:
    believed = [
        Nogood("", f"attempt {n}", "numerics.garbage", 0.8, terms=(Term("cache", "=", ["fp8"]), Term(name, "=", [1])))
        for n, name in ((1, "x"), (2, "y"))
    ]

    table = nogoods_table(replace(MENDED, nogoods=tuple(believed)))

    assert table
    assert [words(cell) for cell in table.rows[0]][:3] == ["--cache = fp8", "numerics.garbage", "attempts 1 and 2"]
    assert len(table.rows) == 1


def test_where_a_number_begins_to_fail_stays_a_belief() -> None:
    bound = Nogood("", "attempt 1", "numerics.garbage", 0.8, terms=(Term("share", ">=", 0.9),))
    record = run(attempt(1, share=0.95), attempt(2, "healthy", share=0.8))

    table = nogoods_table(replace(record, nogoods=(bound,)))

    assert table
    assert words(table.rows[0][3]).startswith("belief, 80 %: the memory sums")
    assert culprit_of(record.attempts[0], record)


def test_a_change_is_told_against_what_was_asked_for_where_that_is_shorter() -> None:
    course = next(part for part in tell(MENDED).sections if part.id == "course")

    assert words(course.blocks[0].rows[2][1]) == "as asked, but\n--cache fp8 -> auto"  # type: ignore[union-attr, index]


def test_what_was_said_of_many_questions_is_told_once() -> None:
    judged = [f'plain "{q}": all 3 plain questions were answered wrongly' for q in ("a", "b", "c")]
    judged += [f"plain \"{q}\" -> ' so so so so so so'" for q in ("a", "b", "c")]

    assert answers.told(judged) == (
        'all 3 plain questions were answered wrongly; among them "a" and "b"',
        "the 3 answers that were kept are one and the same: ' so', 6 times over",
    )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("'Paris.'", "'Paris.'"),
        ("'!!!!!!!!!!!!!!!!!!!!'", "'!', 20 times over"),
        ("'" + "abc " * 40 + "...'", "'abc ', 40 times over"),
        ("'" + "".join(map(chr, range(60, 160))) + "'", "'" + "".join(map(chr, range(60, 120))) + " ...'"),
    ],
)
def test_an_answer_that_repeats_itself_is_shown_once(answer: str, said: str) -> None:
    assert answers.briefly(answer) == said
