"""The journal of a run: its folder, its events, its record."""

import json
import stat
from pathlib import Path

import pytest

from relight.journal.codec import to_json
from relight.journal.fold import fold, public
from relight.journal.journal import Journal, events, mark, stored
from relight.journal.runs import find, is_over, last, read_record, runs
from relight.words.attempt import Attempt, Nogood, Record
from relight.words.errors import BusyError, UsageError
from relight.words.events import Event
from relight.words.host import HostSpec, SecretSource
from relight.words.playbook import Playbook
from relight.words.settings import Change, Repair, Settings, WrittenFloat

AT = "2026-11-29T17:12:03.000Z"
SECRET = "planted-secret-value"
SPEC = HostSpec("rtx8", "gpu1", env={"A": "1"}, secrets={"HF_TOKEN": SecretSource("env", "HF_TOKEN")})
BOOK = Playbook("Demo of 8 cards", path="demo.toml", text='name = "Demo of 8 cards"\n')
SETTINGS = Settings({"mem-fraction-static": WrittenFloat("0.90"), "tp-size": 8}, {"A": "1"})


def begin(state: Path, at: str = AT, **more: object) -> Journal:
    return Journal.create(state, playbook=BOOK, specs=[SPEC], started=at, secrets=[SECRET], **more)  # type: ignore[arg-type]


def event(name: str, n: int | None = None, **data: object) -> Event:
    return Event(AT, "r", n, name, data)  # type: ignore[arg-type]


def test_a_run_id_is_the_minute_the_playbook_and_four_letters(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        assert journal.folder.parent == tmp_path / "runs"
        assert journal.record.run == journal.folder.name
        assert journal.folder.name.startswith("20261129-1712-demo-of-8-cards-")
        assert len(journal.folder.name.rpartition("-")[2]) == 4


def test_files_of_a_run_are_their_owners_only(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.write(event("run_started"))

        modes = {stat.S_IMODE(path.stat().st_mode) for path in journal.folder.iterdir()}

        assert modes == {0o600}
        assert stat.S_IMODE(journal.folder.stat().st_mode) == 0o700


def test_an_event_is_on_disk_and_in_the_record_when_write_returns(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.write(event("launched", 1, set_attempt={"settings": SETTINGS, "rung": "real"}))
        journal.write(event("crashed", 1, set_attempt={"outcome": "crashed"}, exit={"signal": 9}))

        line = json.loads((journal.folder / "events.jsonl").read_text().splitlines()[-1])
        kept = read_record(journal.folder)

        assert (line["event"], line["attempt"], line["exit"]) == ("crashed", 1, {"signal": 9})
        assert kept == journal.record
        assert journal.record.attempts == (Attempt(1, "real", SETTINGS, outcome="crashed"),)


def test_the_record_is_the_fold_of_the_events(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        base = journal.record
        journal.write(event("changed", set_record={"nogoods": (Nogood("a", "attempt 1", "oom.host"),)}))
        journal.write(event("run_ended", set_record={"state": "exhausted"}))

        assert fold(events(journal.folder), base) == journal.record
        assert journal.record.nogoods == (Nogood("a", "attempt 1", "oom.host"),)


def test_attempts_stay_in_order_whatever_is_told_first(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        for n in (2, 1, 3):
            journal.write(event("launched", n, set_attempt={"rung": "real"}))

        assert [a.n for a in journal.record.attempts] == [1, 2, 3]


def test_a_last_line_torn_by_a_crash_is_dropped_and_writing_goes_on(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.write(event("run_started"))
    with (journal.folder / "events.jsonl").open("a") as file:
        file.write('{"at": "2026-11-29T17:12:04Z", "run": "r", "att')

    assert [e.event for e in events(journal.folder)] == ["run_started"]
    with Journal(journal.folder) as again:
        again.write(event("run_ended", set_record={"state": "failed"}))
    assert [e.event for e in events(journal.folder)] == ["run_started", "run_ended"]


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        path = journal.folder / "events.jsonl"
    path.write_text("not json\n" + json.dumps({"at": AT, "run": "r", "attempt": None, "event": "probed"}) + "\n")

    with pytest.raises(UsageError, match="broken") as caught:
        list(events(journal.folder))

    assert caught.value.place == f"{path}:1"


def test_the_record_is_rebuilt_from_events_when_its_file_is_lost(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.write(event("launched", 1, set_attempt={"rung": "real"}))
        before = journal.record
    (journal.folder / "record.json").unlink()

    with Journal.open(tmp_path, "20261129") as again:
        assert again.record == before


def test_one_relight_at_a_time_works_on_a_run(tmp_path: Path) -> None:
    with begin(tmp_path) as journal, pytest.raises(BusyError, match="another relight"):
        Journal(journal.folder)


def test_no_secret_value_reaches_a_file_of_the_run(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.write(event("crashed", 1, reason=f"bad token {SECRET}", set_attempt={"log": f"x {SECRET}"}))
        journal.write(event("crashed", 1, reason="server_args=ServerArgs(api_key='sk-other-planted', tp=8)"))

        texts = "".join(path.read_text() for path in journal.folder.iterdir())

    assert SECRET not in texts
    assert "sk-other-planted" not in texts


def test_a_run_keeps_what_it_was_asked_for(tmp_path: Path) -> None:
    overrides = Change({"mem-fraction-static": WrittenFloat("0.80")}, ("tp-size",), {"B": "2"})
    with begin(tmp_path, overrides=overrides, mode="deploy", more={"keep": True}) as journal:
        kept = stored(journal.folder)

    assert (kept.playbook, kept.path, kept.mode, kept.more) == (BOOK.text, "demo.toml", "deploy", {"keep": True})
    assert kept.specs == (SPEC,)
    assert kept.overrides == overrides


def test_finds_a_run_by_a_unique_part_of_its_id(tmp_path: Path) -> None:
    with begin(tmp_path) as one, begin(tmp_path, "2026-12-01T08:00:00.000Z") as two:
        assert find(tmp_path, "20261129") == one.folder
        assert find(tmp_path, two.folder.name[-4:]) == two.folder
        with pytest.raises(UsageError, match="more than one run"):
            find(tmp_path, "2026")
        with pytest.raises(UsageError, match="no run 'x9'"):
            find(tmp_path, "x9")


def test_lists_runs_newest_first(tmp_path: Path) -> None:
    with begin(tmp_path) as one, begin(tmp_path, "2026-11-29T17:12:04.000Z") as two:
        assert [record.run for record in runs(tmp_path)] == [two.folder.name, one.folder.name]


def test_the_last_run_that_is_not_over_is_meant_by_default(tmp_path: Path) -> None:
    with begin(tmp_path) as one, begin(tmp_path, "2026-12-01T08:00:00.000Z") as two:
        two.write(event("run_ended", set_record={"state": "exhausted"}))

        assert last(tmp_path, live=True) == one.folder
        assert last(tmp_path) == two.folder


def test_a_run_that_nobody_works_on_is_told_as_interrupted(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        assert runs(tmp_path)[0].state == "running"

    assert runs(tmp_path)[0].state == "interrupted"
    assert journal.folder.exists()


def test_a_replaced_run_says_so_and_is_over(tmp_path: Path) -> None:
    with begin(tmp_path) as old:
        old.write(event("run_ended", set_record={"state": "healthy"}))
    with begin(tmp_path, "2026-12-01T08:00:00.000Z") as new:
        for run in (old.folder.name, "20200101-0000-elsewhere-abcd", "", "..", "../../runs", "a/b"):
            with new.replacing(run, by=new.folder.name, at=AT):
                pass

    record = read_record(old.folder)
    assert record
    assert (record.state, is_over(record)) == ("replaced", True)


@pytest.mark.parametrize("state", ["a-file", "/proc/nowhere"])
def test_a_state_folder_that_cannot_be_is_wrong_usage(tmp_path: Path, state: str) -> None:
    (tmp_path / "a-file").write_text("")

    with pytest.raises(UsageError, match="nothing can be kept here"):
        begin(tmp_path / state)


def test_nothing_of_a_run_is_stopped_on_which_another_relight_works(tmp_path: Path) -> None:
    with (
        begin(tmp_path) as old,
        begin(tmp_path, "2026-12-01T08:00:00.000Z") as new,
        pytest.raises(BusyError, match="another relight"),
        new.replacing(old.folder.name, by=new.folder.name, at=AT),
    ):
        pytest.fail("the server was stopped")

    assert old.record.state == "running"


def test_a_healthy_run_is_over_once_it_was_stopped(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.write(event("run_ended", set_record={"state": "healthy"}))
    before = read_record(journal.folder)
    mark(journal.folder, at=AT, changes={"environment": {"stopped": AT}})
    after = read_record(journal.folder)

    assert before
    assert after
    assert (is_over(before), is_over(after)) == (False, True)


def test_events_shown_to_others_hold_no_parts_of_the_record() -> None:
    shown = public(event("launched", 2, rung="real", set_attempt={"rung": "real"}, set_record={"state": "running"}))

    assert shown == {"at": AT, "run": "r", "attempt": 2, "event": "launched", "rung": "real"}


def test_a_folder_moved_elsewhere_is_named_where_it_is(tmp_path: Path) -> None:
    with begin(tmp_path / "a") as journal:
        journal.write(event("run_started"))
    (tmp_path / "a").rename(tmp_path / "b")

    moved = runs(tmp_path / "b")[0]
    assert moved.folder == str(tmp_path / "b" / "runs" / journal.folder.name)


def test_a_repair_in_json_has_the_fields_of_the_contract() -> None:
    data = to_json(Repair(set={"a": True}, why="w", origin="source"))

    assert {"set", "unset", "set_env", "unset_env", "why", "origin", "cost", "confirmed"} <= set(data)


def test_a_record_in_json_has_the_fields_of_the_contract() -> None:
    data = to_json(Record("r", "f", "p", "h", ("h",)))

    assert {
        "schema", "run", "folder", "playbook", "host", "hosts", "engine", "state", "started", "ended", "attempts",
        "nogoods", "options", "final",
    } <= set(data)  # fmt: skip
    assert (data["schema"], data["final"], data["engine"]) == (1, None, {"name": "sglang", "version": None})
