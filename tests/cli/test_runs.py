"""`runs`, `status`, `logs`, `report`, `prune` on runs that are kept here (CONTRACT.md section 1)."""

import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

from relight.cli.prune import prunable
from relight.cli.schema import schema_of
from relight.journal.journal import Journal
from relight.words.attempt import Record
from relight.words.events import Event
from relight.words.host import HostSpec, SecretSource
from relight.words.playbook import Playbook
from relight.words.settings import Settings
from tests.cli.conftest import Relight

AT = "2026-11-29T17:12:03.000Z"
BOOK = Playbook("demo", path="demo.toml", text='name = "demo"\n[flags]\nmodel-path = "m"\n')
SECRET = "sk-plantedplantedplanted"
RTX8 = HostSpec("rtx8", "gpu1")


def keep(state: Path, *, at: str = AT, outcome: str = "exhausted", spec: HostSpec = RTX8) -> str:
    """Keep a run with one launch that crashed, and return its id."""
    with Journal.create(state, playbook=BOOK, specs=[spec], started=at) as journal:
        run = journal.folder.name
        log = journal.folder / "attempts" / "001" / "server.log"
        log.parent.mkdir(parents=True)
        log.write_text(f"first line\n\x1b[31mred\x1b[0m api_key='{SECRET}'\nlast line")
        reached = {"environment": {"hostname": "box-7", "python": "/home/bob/venv/bin/python"}}
        journal.write(Event(at, run, None, "probed", {"set_record": reached}))
        launched = {
            "rung": "real", "settings": Settings({"model-path": "m"}), "argv": ("--model-path", "m"), "started": at,
            "log": "attempts/001/server.log", "logs": ("attempts/001/server.log",), "outcome": "crashed", "ended": at,
        }  # fmt: skip
        journal.write(Event(at, run, 1, "launched", {"set_attempt": launched}))
        ended = {"state": outcome, "reason": "every option was tried", "ended": at}
        journal.write(Event(at, run, None, "run_ended", {"set_record": ended}))
    return run


@pytest.fixture
def run(tmp_path: Path, relight: Relight) -> str:  # noqa: ARG001  the state folder is the command's
    return keep(tmp_path / "state")


def test_runs_are_records_without_attempts_newest_first(relight: Relight, run: str, tmp_path: Path) -> None:
    newer = keep(tmp_path / "state", at="2026-11-30T08:00:00.000Z")

    done = relight("runs", "--format", "json")

    jsonschema.validate(done.json, schema_of("runs"))
    assert [r["run"] for r in done.json] == [newer, run]
    assert all("attempts" not in r for r in done.json)
    assert relight("runs").out.split()[0] == newer


def test_no_runs_are_an_empty_list(relight: Relight) -> None:
    assert (relight("runs", "--format", "json").json, relight("runs").status) == ([], 0)


def test_status_of_a_run_that_is_over_asks_no_host(relight: Relight, run: str) -> None:
    done = relight("status", run, "--format", "json")

    jsonschema.validate(done.json, schema_of("runs"))
    assert (done.status, done.json[0]["state"], done.json[0]["server"]) == (0, "exhausted", None)


def test_a_report_in_json_is_the_record(relight: Relight, run: str) -> None:
    done = relight("report", "--format", "json")

    jsonschema.validate(done.json, schema_of("record"))
    assert (done.json["run"], done.json["attempts"][0]["outcome"]) == (run, "crashed")


@pytest.mark.parametrize("form", ["text", "md", "html"])
def test_a_report_is_written_in_every_form(relight: Relight, run: str, tmp_path: Path, form: str) -> None:
    printed, written = relight("report", run[:13], "--format", form), relight("report", "--format", form, "-o", "r.out")

    assert (printed.status, written.status) == (0, 0)
    assert run in printed.out
    assert (tmp_path / "r.out").read_text() == printed.out


@pytest.mark.usefixtures("run")
def test_an_issue_is_printed_and_sent_nowhere(relight: Relight) -> None:
    assert "[Bug]" in relight("report", "--issue").out.splitlines()[0]


def test_where_nothing_failed_there_is_no_bug_to_report(relight: Relight, tmp_path: Path) -> None:
    with Journal.create(tmp_path / "state", playbook=BOOK, specs=[HostSpec("rtx8", "gpu1")], started=AT) as journal:
        journal.write(Event(AT, journal.folder.name, None, "run_ended", {"set_record": {"state": "busy"}}))

    done = relight("report", "--issue")

    assert done.status == 2
    assert "there is no bug to report" in done.err


@pytest.mark.usefixtures("run")
def test_a_bundle_holds_record_log_and_playbook_without_secrets(relight: Relight, tmp_path: Path) -> None:
    relight("report", "--bundle", "b.tar")

    with tarfile.open(tmp_path / "b.tar") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        texts = b"".join(archive.extractfile(m).read() for m in archive.getmembers())  # type: ignore[union-attr]

    assert {"record.json", "playbook.toml", "events.jsonl", "logs/attempts-001-server.log.zst"} <= names
    assert SECRET.encode() not in texts
    assert {"report.txt", "report.html", "issue.md"} <= names


@pytest.mark.usefixtures("run")
def test_a_bundle_names_no_machine_and_no_home(relight: Relight, tmp_path: Path) -> None:
    relight("report", "--bundle", "b.tar")

    with tarfile.open(tmp_path / "b.tar") as archive:
        told = {m.name.rpartition("/")[2]: archive.extractfile(m).read().decode("utf-8", "replace") for m in archive}  # type: ignore[union-attr]

    assert not [name for name, text in told.items() if "box-7" in text or "/home/bob" in text]
    assert '"hostname": "host1"' in told["environment.json"]


@pytest.mark.usefixtures("run")
def test_a_log_is_printed_without_control_sequences_and_secrets(relight: Relight) -> None:
    done = relight("logs")

    assert done.out == "first line\nred api_key='***'\nlast line\n"


def test_a_log_shows_no_value_of_a_secret_however_it_is_written(
    relight: Relight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the host has more than the stored copy comes as the server wrote it."""
    monkeypatch.setenv("WORD", "last line")
    keep(tmp_path / "state", spec=HostSpec("rtx8", "gpu1", secrets={"MINE": SecretSource("env", "WORD")}))

    assert relight("logs").out.splitlines()[-1] == "***"


def test_a_log_in_json_is_one_document(relight: Relight, run: str) -> None:
    done = relight("logs", "--format", "json")

    assert (done.json["run"], done.json["attempt"], done.json["lines"][0]) == (run, 1, "first line")


def test_an_attempt_that_is_not_there_is_told(relight: Relight, run: str) -> None:
    done = relight("logs", run, "--attempt", "7")

    assert done.status == 2
    assert "launched: 1" in done.err


def test_a_run_is_named_by_a_unique_part_of_its_id(relight: Relight, run: str, tmp_path: Path) -> None:
    keep(tmp_path / "state", at="2026-11-30T08:00:00.000Z")

    assert relight("report", run[:8], "--format", "json").json["run"] == run
    assert "more than one run" in relight("report", "2026").err


@pytest.mark.usefixtures("run")
def test_the_state_folder_is_an_option_too(relight: Relight, tmp_path: Path) -> None:
    assert relight("runs", "--state", tmp_path / "other", "--format", "json").json == []


def test_resume_of_a_run_whose_playbook_file_is_gone_uses_the_stored_copy(relight: Relight, run: str) -> None:
    done = relight("retry", "--resume", run, "--format", "json")

    # The stored host cannot be reached from here; that it was tried shows that the stored files were enough.
    assert done.status == 3
    assert done.json["error"]["status"] == 3


def test_prune_shows_and_deletes_only_with_yes(relight: Relight, run: str, tmp_path: Path) -> None:
    folder = tmp_path / "state" / "runs" / run

    shown = relight("prune", "--keep", "0")
    assert run in shown.out
    assert folder.exists()
    relight("prune", "--keep", "0", "--yes")
    assert not folder.exists()


def record(n: int, state: str) -> Record:
    return Record(f"r{n}", "f", "p", "h", ("h",), state=state, started=f"2026-11-{n:02}T00:00:00.000Z")  # type: ignore[arg-type]


def test_prune_keeps_the_newest_and_what_is_not_over() -> None:
    records = (record(9, "exhausted"), record(8, "healthy"), record(7, "failed"), record(3, "replaced"))
    now = datetime(2026, 11, 10, tzinfo=UTC)

    assert [r.run for r in prunable(records, keep=1, older=None, now=now)] == ["r7", "r3"]
    assert [r.run for r in prunable(records, keep=0, older=5 * 86400, now=now)] == ["r3"]


def test_a_record_printed_holds_no_path_that_is_not_below_its_folder(relight: Relight, run: str) -> None:
    data = relight("report", run, "--format", "json").json

    assert json.dumps(data).count(data["folder"]) == 1
    assert data["attempts"][0]["log"] == "attempts/001/server.log"


def test_prune_of_nothing_says_why(relight: Relight) -> None:
    assert "the 10 newest runs are kept" in relight("prune").err


def test_status_names_the_command_that_goes_on(relight: Relight, run: str) -> None:
    assert f"next: relight report {run}" in relight("status", run).out


@pytest.mark.usefixtures("run")
def test_a_report_in_json_is_printed_even_where_it_is_written_to_a_file(relight: Relight, tmp_path: Path) -> None:
    done = relight("report", "--format", "json", "-o", "r.json")

    assert done.json == json.loads((tmp_path / "r.json").read_text())


@pytest.mark.usefixtures("run")
def test_a_bug_report_is_no_json_document(relight: Relight) -> None:
    done = relight("report", "--issue", "--format", "json")

    assert (done.status, done.json["error"]["place"]) == (2, "--issue")


@pytest.mark.usefixtures("run")
def test_the_log_of_what_was_never_launched_is_wrong_usage_that_names_the_launches(relight: Relight) -> None:
    for number in (0, 7):
        assert f"attempt {number} was not launched (launched: 1)" in relight("logs", "--attempt", number).err
