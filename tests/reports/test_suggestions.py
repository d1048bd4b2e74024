"""What a report suggests can be pasted as it is; what is long is told in short."""

from dataclasses import replace

from relight.reports import html, markdown, text
from relight.reports.blocks import Table, words
from relight.reports.commands import about, again, resumed
from relight.reports.learned import nogoods_table
from relight.reports.notice import notice
from relight.reports.story import tell
from relight.words.attempt import Incident, Nogood, Option, Record, Term
from relight.words.settings import Settings
from tests.reports.more_stories import STORIES

TYPED = {
    "playbook_file": "/srv/my plays/qwen.toml",
    "options": {"state": ["/srv/state"], "hosts": ["/srv/hosts.toml"], "set": ["port=30001"]},
}


def called(name: str) -> Record:
    record = STORIES[name]()
    return replace(record, environment={**record.environment, **TYPED})


def test_a_command_names_the_file_and_the_options_that_were_typed() -> None:
    record = called("exhausted")

    assert again(record, "--wait") == (
        f"relight retry '/srv/my plays/qwen.toml' --host {record.host} --wait --set port=30001 "
        "--hosts /srv/hosts.toml --state /srv/state"
    )
    assert about(record, "stop") == f"relight stop {record.run} --state /srv/state"
    assert resumed(record) == f"relight retry --resume {record.run} --state /srv/state"


def test_what_only_commands_need_is_not_told_as_the_environment() -> None:
    page = text.render(called("exhausted")).partition("ENVIRONMENT")[2]

    assert "qwen.toml" not in page
    assert "/srv/state" not in page


def test_a_simulated_host_is_called_one_and_its_server_gone() -> None:
    record = STORIES["healthy"]()
    seen = {**record.environment, "stand_in": True, "stopped": "2026-11-29T09:00:00Z"}

    page = text.render(replace(record, environment=seen))

    assert "simulated: a stand-in without real GPUs" in " ".join(page.split())
    assert "relight stop" not in page


def test_a_run_that_begins_elsewhere_than_it_was_asked_to_says_so() -> None:
    record = STORIES["healthy"]()
    first = record.attempts[0]
    asked = Settings({**first.settings.flags, "mem-fraction-static": 0.97}, first.settings.env)

    page = text.render(replace(record, asked=asked))

    assert "The settings as asked for." not in page
    assert "begins " in page


def test_many_candidates_refused_for_one_reason_take_one_line() -> None:
    record = STORIES["healthy"]()
    refused = replace(record.attempts[0], outcome="rejected", rung="validate")
    many = replace(record, attempts=tuple(replace(refused, n=n) for n in range(1, 41)))

    course = next(part for part in tell(many).sections if part.id == "course")

    [table] = course.blocks
    assert isinstance(table, Table)
    [row] = table.rows
    assert words(row[0]) == "1 to 40"
    assert words(row[1]).startswith("40 sets of settings")


def test_a_condition_as_long_as_the_settings_is_told_as_those_settings() -> None:
    record = STORIES["healthy"]()
    given = record.attempts[0].settings
    terms = (
        *(Term(name, "=", [value]) for name, value in given.flags.items()),
        *(Term(name, "=", [value], env=True) for name, value in given.env.items()),
    )
    whole = Nogood("a long condition", "attempt 1", "args.conflict", 0.6, terms=(*terms, Term("x", "!=", [2])))

    told = nogoods_table(replace(record, nogoods=(whole, whole)))

    assert told
    assert [words(row[0]) for row in told.rows] == [
        "the settings of attempt 1, as a whole\nnot tried, so it may work with --x 2"
    ]


def test_what_was_measured_and_each_death_of_a_healthy_server_is_told() -> None:
    record = STORIES["healthy"]()
    *before, last = record.attempts
    measured = {"tokens_per_second": 81.4, "tokens_per_second_8": 402.0, "time_to_first_token": 0.214, "else": 1.0}
    died = Incident(last.n, "2026-11-29T20:00:00Z", "the server died of signal 9", 39600.0)
    held = replace(record, attempts=(*before, replace(last, measured=measured)), incidents=(died,))

    page = " ".join(text.render(held).split())

    assert "one stream 81 tokens/s at best" in page
    assert "8 requests at once 402 tokens/s together" in page
    assert "2026-11-29 20:00 UTC 11 h 00 min The server died of signal 9." in page


def test_a_spent_budget_names_the_last_cause_and_what_would_come_next() -> None:
    record = STORIES["budget"]()
    levers = {"levers": {"mscclpp": ["--enable-mscclpp", "off"]}}
    held = replace(
        record,
        reason="the 2 launches allowed are used up; next: mscclpp at variant 1",
        environment={**record.environment, **levers},
    )

    page = " ".join(text.render(held).split())

    assert "The 2 launches allowed are used up. The last launch, attempt 2, crashed: The draft model" in page
    assert "Next it would try: mscclpp at variant 1 (--enable-mscclpp)." in page


def test_what_a_person_has_to_mend_is_shown_by_the_attempt_that_ended_the_run() -> None:
    record = STORIES["person"]()
    last = record.attempts[-1]
    assert last.diagnosis
    assert last.diagnosis.cause
    taken = replace(last.diagnosis.cause, kind="comm.port_in_use", text="port 30000 is taken by python (pid 7)")
    refused = replace(
        last, n=last.n + 1, rung="validate", outcome="rejected", diagnosis=replace(last.diagnosis, cause=taken)
    )

    page = " ".join(text.render(replace(record, attempts=(*record.attempts, refused))).split())

    assert (
        "It was seen in: port 30000 is taken by python (pid 7) What is known of it: relight explain comm.port_in_use"
        in page
    )


def test_the_options_name_variants_by_what_they_set() -> None:
    record = STORIES["exhausted"]()
    levers = {"levers": {"spec": ["--algorithm A --steps 5", "--algorithm A --steps 3", "off"]}}
    options = (Option("spec: variant 2", "tried", "attempt 2"), Option("spec: off", "untried"))
    held = replace(record, state="budget", options=options, environment={**record.environment, **levers})

    page = " ".join(text.render(held).split())

    assert "spec: variant 2 (--algorithm A --steps 3) tried" in page
    assert "spec: off untried The launches or the time ran out first." in page


def test_advice_about_hosts_toml_names_the_host_of_the_run() -> None:
    record = replace(STORIES["person"](), next="give a token: HF_TOKEN under [hosts.NAME.secrets]", host="gpu-box")

    for page in (text.render(record), markdown.render(record), html.render(record), notice(record)[1]):
        assert "hosts.gpu-box.secrets" in page
        assert "NAME" not in page
