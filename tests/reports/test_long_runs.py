"""Runs of many launches, and what of a run is on the first page."""

from dataclasses import replace

from relight.reports import html, markdown, text
from relight.reports.blocks import Code, Para, Table, words
from relight.reports.choices import options_blocks
from relight.reports.picture import picture
from relight.reports.textblocks import para
from relight.reports.timeline import matrix, timeline
from relight.words.attempt import Attempt, Incident, Option, Phase, Record
from relight.words.settings import Repair, Settings
from tests.reports.more_stories import STORIES
from tests.reports.stories import CAPTURE_OOM
from tests.reports.test_passed import failing, run_of


def many(number: int) -> Record:
    record = STORIES["exhausted"]()
    first = record.attempts[0]
    return replace(
        record, attempts=tuple(replace(first, n=n, settings=Settings({"x": n})) for n in range(1, number + 1))
    )


def test_a_run_of_forty_launches_has_a_first_page_of_a_hundred_lines() -> None:
    told = text.render(many(40)).splitlines()

    assert told.index("ATTEMPTS IN DETAIL") <= 100
    assert "Launches 5 to 35 stand between, each in detail below." in told
    assert "31 launches between" in html.render(many(40))
    assert "Launches 5 to 35 stand between" in markdown.render(many(40))


def test_a_terminal_sees_the_first_page_and_how_to_see_the_rest() -> None:
    record = STORIES["exhausted"]()

    first, whole = text.render_first(record), text.render(record)

    assert first.splitlines()[:40] == whole.splitlines()[:40]
    assert "ATTEMPTS IN DETAIL" not in first
    assert f"    relight report --full {record.run}" in first.splitlines()


def test_a_command_to_paste_is_never_broken() -> None:
    command = "relight stop 20261129-080000-a-run-with-a-long-name --state /a/folder/somewhere/deep/down"

    assert f"{command}." in para(Para(("Stop it with ", Code(command), ".")), 60)


def test_a_full_command_is_told_where_it_cannot_be_put_together() -> None:
    record = STORIES["healthy"]()

    assert text.render(record).count("  Its command") == 2
    assert html.render(record).count(">Its command<") == 4


def test_a_failure_that_came_again_shows_only_the_lines_that_matter() -> None:
    told = text.render(run_of(failing(1, diagnosis=CAPTURE_OOM), failing(2, diagnosis=CAPTURE_OOM)))

    first, second = told[told.index("Attempt 1:") :].split("Attempt 2:")
    assert CAPTURE_OOM.cause
    around = [e.text for e in CAPTURE_OOM.evidence if e.line != CAPTURE_OOM.cause.line]
    assert around
    assert all(line in first for line in around)
    assert not any(line in second for line in around)
    assert CAPTURE_OOM.cause.text[:40] in second


def test_repairs_passed_over_stand_together_with_their_reason() -> None:
    repairs = [Repair(set={"x": n}, why=f"reason {n}", cost=float(n)) for n in (1, 2, 3)]
    failed = failing(1, diagnosis=replace(CAPTURE_OOM, repairs=tuple(repairs)))
    after = replace(failing(2), settings=failed.settings.changed(repairs[0]), changes=(repairs[0],))

    told = text.render(run_of(failed, after))

    assert "  [passed over: it costs more]  --x 2; --x 3" in told
    assert "Reason 2" not in told
    assert "Reason 2" in html.render(run_of(failed, after))


def drawn(*phases: tuple[str, int, int], cause: str) -> Attempt:
    """Return a launch of 60 s that crashed in phase `cause`, with phases from a second to a second."""

    def at(second: int) -> str:
        return f"2026-11-29T08:00:{second:02}Z"

    assert CAPTURE_OOM.cause
    found = replace(CAPTURE_OOM, cause=replace(CAPTURE_OOM.cause, phase=cause))
    seen = tuple(Phase(name, at(begun), at(ended)) for name, begun, ended in phases)
    return replace(failing(1, diagnosis=found), started=at(0), ended="2026-11-29T08:01:00Z", phases=seen, gpu_memory=())


def test_a_launch_breaks_at_the_end_of_what_was_seen() -> None:
    made = timeline([drawn(("pools", 0, 10), ("capture", 10, 30), cause="pools")], 0)

    assert made
    assert [words(cell) for cell in matrix(made).rows[0]] == ["1", "crashed", "pools again", "1m", "10s", "20s", "30s"]
    assert picture(made)[1] == ("1  " + "p" * 10 + "c" * 20 + "!" + "." * 30,)


def test_a_phase_that_another_overlaps_goes_on_after_it() -> None:
    made = timeline([drawn(("load_weights", 0, 40), ("pools", 10, 20), cause="load_weights")], 0)

    assert made
    assert picture(made)[1] == ("1  " + "l" * 10 + "p" * 10 + "l" * 20 + "!" + "." * 20,)


def test_options_that_fared_alike_stand_in_one_row() -> None:
    options = (
        Option("--model-path", "protected", "never changed"),
        Option("--port", "protected", "never changed"),
        Option("unset --a, unset --b", "untried", "proposed for attempt 1: one reason"),
        Option("--c 1", "untried", "proposed for attempt 1: another"),
    )
    _, table = options_blocks(replace(STORIES["healthy"](), options=options))

    assert isinstance(table, Table)
    rows = [[words(cell) for cell in row] for row in table.rows]
    assert rows == [
        ["unset --a, --b\n--c 1", "untried", "Proposed for attempt 1."],
        ["--model-path, --port", "protected", "Never changed."],
    ]


def test_a_server_that_was_brought_back_says_so_in_the_verdict() -> None:
    record = STORIES["healthy"]()
    died = replace(record, incidents=(Incident(4, "2026-11-29T19:00:00Z", "it died"),) * 2)

    assert "it failed 2 times and was brought back." in text.render(died)


def test_a_run_of_nothing_says_so() -> None:
    bare = replace(STORIES["hang"](), attempts=(), nogoods=(), options=(), reason="", hosts=("a", "b", "c"))

    told = text.render(bare)

    assert "Interrupted before anything was launched." in told
    assert "on a, b and c" in told.splitlines()[0]
