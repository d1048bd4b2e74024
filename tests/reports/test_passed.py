"""Why a repair was passed over, what was given up, what is said of nodes and beliefs."""

from dataclasses import replace
from typing import Any

import pytest

from relight.reports import html, markdown, text
from relight.reports.blocks import Code, Table, words
from relight.reports.learned import in_words, nogoods_blocks, nogoods_table
from relight.reports.passed import passed_over
from relight.reports.picture import picture
from relight.reports.story import tell
from relight.reports.textblocks import table
from relight.reports.timeline import timeline
from relight.words.attempt import Attempt, Exit, NodeEnd, Nogood, Option, Phase, Record, Term
from relight.words.settings import Repair, Settings
from tests.reports.more_stories import STORIES
from tests.reports.stories import ALL_OR_NONE, CAPTURE_OOM

SMALLER = Repair(set={"mem-fraction-static": 0.82}, why="less", cost=0.5)
BELOW = Nogood(
    "x", "attempt 1", "oom.gpu.kv_pool", 0.95, terms=(Term("mem-fraction-static", "<=", 0.84), Term("graphs", "=", [1]))
)


def failing(n: int, **more: Any) -> Attempt:
    return replace(STORIES["exhausted"]().attempts[0], n=n, settings=Settings({"mem-fraction-static": 0.9}), **more)


def run_of(*attempts: Attempt, **more: Any) -> Record:
    return replace(STORIES["exhausted"](), attempts=attempts, nogoods=(), options=(), **more)


def test_settings_that_failed_before_are_named_as_the_reason() -> None:
    tried = failing(1)
    held = run_of(tried, failing(2), failing(3))

    assert passed_over(Repair(set={"mem-fraction-static": 0.9}), held.attempts[1], held, ()) == (
        "passed over: attempt 1 failed with it"
    )


def test_a_bound_learned_before_is_named_as_the_reason() -> None:
    held = replace(run_of(failing(1), failing(2)), nogoods=(BELOW,))

    said = passed_over(SMALLER, held.attempts[0], held, ())

    assert said == "passed over: attempt 1 rules out --mem-fraction-static <= 0.84"


@pytest.mark.parametrize(
    "nogood",
    [
        replace(BELOW, because="attempt 2"),
        replace(BELOW, terms=(Term("mem-fraction-static", ">=", 0.84),)),
        replace(BELOW, terms=(Term("mem-fraction-static", "!=", [0.9]),)),
        replace(BELOW, terms=(*BELOW.terms, Term("mem-fraction-static", "set"), Term("SOME", "set", env=True))),
    ],
)
def test_what_was_learned_later_or_does_not_fit_is_no_reason(nogood: Nogood) -> None:
    held = replace(run_of(failing(1), failing(2)), nogoods=(nogood,))

    assert "rule" not in passed_over(SMALLER, held.attempts[0], held, ())


def test_a_belief_of_an_earlier_run_was_known_from_the_start() -> None:
    held = replace(run_of(failing(1), failing(2)), nogoods=(replace(BELOW, because="run 20261128, attempt 7"),))

    assert "run 20261128, attempt 7 rules out" in passed_over(SMALLER, held.attempts[0], held, ())


def test_a_protected_flag_is_named_as_the_reason() -> None:
    held = replace(run_of(failing(1), failing(2)), options=(Option("--mem-fraction-static", "protected"),))

    assert passed_over(SMALLER, held.attempts[0], held, ()) == "passed over: --mem-fraction-static is protected"


def test_what_came_first_is_told_where_nothing_speaks_against_a_repair() -> None:
    first, other = failing(1, choice={"spec": 1}), replace(failing(2), settings=Settings({"x": 1}))
    dear, cheap = replace(SMALLER, cost=2.0), Repair(set={"x": 1}, cost=1.0)

    def said(following: Attempt, *taken: Repair) -> str:
        held = run_of(first, following)
        return passed_over(dear if taken else SMALLER, first, held, taken)

    assert said(other, cheap) == "passed over: it costs more"
    assert said(replace(other, choice={"spec": 2})) == "passed over: a lever's next variant came first"
    assert said(replace(other, choice={"spec": 1})) == "passed over: another change came first"
    assert said(failing(2)) == "passed over: the same settings were given another try"


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("budget", "the launches or the time ran out first"),
        ("person", "a person has to act"),
        ("failed", "retry"),
    ],
)
def test_a_run_that_ended_says_why_a_repair_was_not_tried(state: Any, said: str) -> None:
    held = run_of(failing(1), state=state)

    assert said in passed_over(SMALLER, held.attempts[0], held, ())


def test_one_edit_proposed_twice_is_told_once() -> None:
    record = STORIES["healthy"]()
    second = record.attempts[1]
    assert second.diagnosis
    same = Repair(set={"speculative-num-steps": 1}, set_env={"SGLANG_ENABLE_SPEC_V2": "1"}, why="again")
    twice = replace(second.diagnosis, repairs=(*second.diagnosis.repairs, same))
    held = replace(record, attempts=(record.attempts[0], replace(second, diagnosis=twice), *record.attempts[2:]))

    assert text.render(held).count("    with --speculative-num-steps 1  ") == 1


def test_what_was_given_up_on_the_way_stands_with_the_flag_at_the_top() -> None:
    page = text.render(STORIES["healthy"]())

    assert "--mem-fraction-static 0.90 -> 0.86 (gives up about 4 % of the token pool)" in page


def test_each_node_of_an_attempt_is_told_and_which_failed_first() -> None:
    record = STORIES["deploy-failed"]()
    nodes = (
        NodeEnd(0, "rtx-a", "attempts/001/server.log", None, stopped=True),
        NodeEnd(1, "rtx-b", "attempts/001/node1.log", Exit(None, 9), first=True, kind="comm.nccl", text="no card"),
    )
    held = replace(record, attempts=(*record.attempts[:-1], replace(record.attempts[-1], nodes=nodes)))

    for page in (text.render(held), markdown.render(held), html.render(held)):
        assert "rtx-b" in page
        assert "signal 9, the first seen to fail" in page
        assert "stopped by relight" in page
        assert "no card" in page


def test_a_term_is_said_as_it_would_be_typed() -> None:
    said = [Term("a", "=", [None, 512]), Term("b", "=", [True]), Term("c", "=", [1]), Term("d", "unset"),
            Term("e", "<=", 0.8926), Term("F", "=", ["1"], env=True), Term("g", "=", [None])]  # fmt: skip

    assert [in_words(term) for term in said] == [
        "--a not given or 512", "--b", "--c = 1", "--d not given", "--e <= 0.8926", "F = 1", "--g not given",
    ]  # fmt: skip


def test_settings_as_a_whole_are_told_only_where_nothing_sharper_is_known() -> None:
    record = STORIES["healthy"]()
    given = record.attempts[0].settings
    terms = tuple(Term(name, "=", [held]) for name, held in {**given.flags, **given.env}.items())
    whole = Nogood("all", "attempt 1", "oom.gpu.kv_pool", 0.6, terms=terms)
    other = replace(whole, because="attempt 2")

    both = replace(record, nogoods=(BELOW, whole, other))

    table = nogoods_table(both)
    assert table
    assert [row[2] for row in table.rows] == [("attempt 1",), ("attempt 2",)]
    assert len(nogoods_blocks(both)) == 2


def test_memory_over_time_is_drawn_in_digits_of_one_scale() -> None:
    made = timeline(STORIES["healthy"]().attempts, 97887)
    meaning, drawn = picture(made) if made else ((), ())

    assert [line[0] for line in drawn] == ["1", "2", "3", " ", "4", " "]
    assert drawn[-1].endswith("9999")
    assert all(len(line) <= 64 for line in drawn)
    assert "tenths of 95.6 GiB" in meaning[-1]


def test_no_memory_seen_is_no_curve() -> None:
    bare = [replace(a, gpu_memory=()) for a in STORIES["healthy"]().attempts]
    made = timeline(bare, 97887)

    assert made
    assert not [line for line in picture(made)[1] if line.startswith(" ")]
    assert len(picture(made)[0]) == 1


def test_a_long_run_keeps_its_table_of_attempts_short() -> None:
    record = STORIES["exhausted"]()
    first = record.attempts[0]
    many = replace(record, attempts=tuple(replace(first, n=n, settings=Settings({"x": n})) for n in range(1, 41)))

    course = next(part for part in tell(many).sections if part.id == "course")

    assert len(course.blocks[0].rows) == 10  # type: ignore[union-attr]
    lines = text.render(many).splitlines()
    assert lines.index("ATTEMPTS IN DETAIL") <= 130


def test_the_timeline_breaks_where_the_cause_says_not_where_another_rank_had_got_to() -> None:
    cause = CAPTURE_OOM.cause
    assert cause
    found = replace(CAPTURE_OOM, cause=replace(cause, phase="pools"))
    other = replace(found, cause=replace(cause, phase="autotune"))
    base = run_of(failing(1)).attempts[0]
    phases = tuple(Phase(name, base.started, base.ended) for name in ("load_weights", "pools", "capture"))
    ahead = replace(base, phases=phases, diagnosis=found)
    unheard = replace(ahead, diagnosis=other)

    broken = [[bar.phase for bar in lane.bars if bar.broken] for lane in timeline((ahead, unheard), 0).lanes]  # type: ignore[union-attr]
    told = [text.render(run_of(attempt)) for attempt in (ahead, unheard)]

    assert broken == [["pools"], ["autotune"]]
    assert "in phase pools" in told[0]
    assert "in phase autotune" in told[1]


def test_a_change_of_many_lines_is_cut_in_the_course() -> None:
    many = failing(2)
    many = replace(many, settings=Settings({f"flag-{i}": i for i in range(9)}))

    course = next(part for part in tell(run_of(failing(1), many)).sections if part.id == "course")

    assert isinstance(course.blocks[0], Table)
    assert "and 6 more, in detail below" in words(course.blocks[0].rows[1][1])


def test_a_table_that_no_width_fits_is_set_in_lines() -> None:
    rows = ((("1",), (Code("--a-flag-that-is-long 1"),), ("as asked",)), (("2",), ("-",), ("off",)))
    made = Table("x", ("#", "changed", "kept"), rows)

    assert table(made, 60)[0].split() == ["#", "changed", "kept"]
    assert table(made, 24) == [
        "#1", "  changed  --a-flag-that-is-long", "           1", "  kept     as asked", "#2", "  kept     off",
    ]  # fmt: skip


def test_a_server_that_broke_while_it_was_asked_gave_no_wrong_answers() -> None:
    assert CAPTURE_OOM.cause
    ill = replace(CAPTURE_OOM, cause=replace(CAPTURE_OOM.cause, family="numerics", kind="numerics.nan"))
    words_ = [text.render(run_of(failing(1, outcome="sick", diagnosis=found))) for found in (CAPTURE_OOM, ill)]

    assert "Attempt 1: failed in use" in words_[0]
    assert "Attempt 1: wrong answers" in words_[1]


def test_a_bare_assertion_says_what_it_wants() -> None:
    assert ALL_OR_NONE.cause
    general = replace(ALL_OR_NONE, cause=replace(ALL_OR_NONE.cause, summary="An assertion failed.", confidence=0.7))

    told = " ".join(text.render(run_of(failing(1, diagnosis=general))).split())

    assert "An assertion failed: it wants speculative_eagle_topk and speculative_num_draft_tokens are both" in told
