"""Every command, with its options, in success and in failure, as somebody sees it who has only read the contract."""

import gzip
import json
import socket
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.ssh.conftest import make_key
from tests.ssh.contract_client import KEY, MODEL, World, playbook

pytestmark = [pytest.mark.ssh, pytest.mark.timeout(600)]  # a busy machine takes its time
FAILED_LOG = f"""[2026-11-29 10:00:00] server_args=ServerArgs(model_path='{MODEL}', tp_size=8)
Traceback (most recent call last):
  File "/opt/sglang/srt/model_executor/model_runner.py", line 10, in load_model
    self.model = get_model()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.50 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.01 GiB is free.
"""  # noqa: E501  a log line as it is
LOCAL = """
[hosts.here]
address = "local"
python = "PYTHON"
workdir = "WORK"
"""


@pytest.fixture(scope="module")
def life(world: World) -> dict[str, Any]:
    """One run, from its check to its stop; what was said on the way."""
    world.write("play.toml", playbook())
    said: dict[str, Any] = {"before": world.ask("runs"), "check": world.ask("check", "play.toml", "--host", "box")}
    said["dry"] = world.ask("retry", "play.toml", "--host", "box", "--dry-run", "--set", "page-size=1", "--env", "A=1")
    said["nothing"] = world.ask("runs")
    said["deploy"] = world.ask("deploy", "play.toml", "--host", "box", "--events", "events.jsonl", "--forget")
    run = said["deploy"].document["run"]
    said["status"] = world.ask("status")
    said["logs"] = world.ask("logs", run)
    said["busy"] = world.ask("retry", "play.toml", "--host", "box")
    said["checked"] = world.ask("check", "play.toml", "--host", "box")
    said["replaced"] = world.ask("retry", "play.toml", "--host", "box", "--replace", "--max-attempts", 3, "-q")
    said["first"] = world.ask("report", run)
    said["stop"] = world.ask("stop")
    said["runs"] = world.ask("runs")
    said["again"] = world.ask("stop", said["replaced"].document["run"])
    said["over"] = world.ask("status", run)
    return said


def test_check_finds_nothing_wrong_and_launches_nothing(life: dict[str, Any]) -> None:
    assert (life["check"].status, life["check"].document["ok"]) == (0, True)
    assert life["nothing"].document == life["before"].document


def test_a_dry_run_is_a_plan(life: dict[str, Any]) -> None:
    launch = life["dry"].document["plan"][-1]

    assert life["dry"].status == 0
    assert launch["settings"]["env"]["A"] == "1"
    assert launch["argv"][-2:] == ["--page-size", "1"]


def test_deploy_ends_healthy_with_what_is_in_effect(life: dict[str, Any]) -> None:
    record = life["deploy"].document

    assert (life["deploy"].status, record["state"], record["host"], record["hosts"]) == (0, "healthy", "box", ["box"])
    assert record["final"]["argv"][:2] == ["--model-path", MODEL]
    assert record["attempts"][0]["outcome"] == "healthy"
    assert Path(record["folder"], record["attempts"][0]["log"]).is_file()


def test_every_event_is_a_json_line(life: dict[str, Any], world: World) -> None:
    events = [json.loads(line) for line in (world.folder / "events.jsonl").read_text().splitlines()]

    for event in events:
        jsonschema.validate(event, world.client.schema("event"))
    names = [event["event"] for event in events]
    assert (names[0], names[-1]) == ("run_started", "run_ended")
    assert {"probed", "launched", "phase", "judged", "healthy"} <= set(names)
    assert {event["run"] for event in events} == {life["deploy"].document["run"]}


def test_the_server_runs_on_without_relight(life: dict[str, Any]) -> None:
    assert life["status"].document[0]["server"]["state"] == "running"
    assert "attempts" not in life["status"].document[0]
    assert any("Uvicorn running" in line or "fired up" in line for line in life["logs"].document["lines"])


def test_a_second_run_is_busy_and_names_the_first(life: dict[str, Any]) -> None:
    run = life["deploy"].document["run"]

    assert (life["busy"].status, life["busy"].document["state"]) == (6, "busy")
    assert run in life["busy"].err
    assert any(run in finding["text"] for finding in life["checked"].document["findings"])
    assert life["checked"].status == 1


def test_replace_stops_the_first_and_its_record_says_so(life: dict[str, Any]) -> None:
    assert (life["replaced"].status, life["first"].document["state"]) == (0, "replaced")
    assert life["first"].status == 0


def test_stop_is_safe_to_repeat(life: dict[str, Any]) -> None:
    assert (life["stop"].status, life["again"].status) == (0, 0)
    assert life["stop"].document["run"] == life["replaced"].document["run"]
    assert life["over"].document[0]["server"] is None


def test_runs_lists_all_newest_first(life: dict[str, Any]) -> None:
    runs = [record["run"] for record in life["runs"].document]

    assert runs[0] == life["replaced"].document["run"]
    assert life["deploy"].document["run"] in runs


@pytest.mark.parametrize("format", ["text", "md", "html"])
def test_a_report_is_written(life: dict[str, Any], world: World, format: str) -> None:  # noqa: A002
    out = world.folder / f"report.{format}"

    done = world.client.plain("report", life["deploy"].document["run"], "--format", format, "-o", out)

    assert (done.returncode, done.stdout) == (0, b"")
    assert life["deploy"].document["run"] in out.read_text()


def test_a_bundle_is_written_and_of_a_healthy_run_no_issue(life: dict[str, Any], world: World) -> None:
    run = life["deploy"].document["run"]

    assert world.ask("report", run, "--bundle", "run.tar").document["run"] == run
    assert (world.folder / "run.tar").stat().st_size > 1000
    refused = world.client.plain("report", run, "--issue")
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"nothing failed" in refused.stderr


def test_prune_shows_and_deletes_what_is_over(life: dict[str, Any], world: World) -> None:
    assert life
    shown = world.ask("prune", "--keep", 0, "--older", "720h")

    assert (shown.status, shown.document) == (0, [])


# What needs no host.


def test_diagnose_reads_every_form_of_log(world: World) -> None:
    world.write("bad.log", FAILED_LOG)
    world.write("bad.log.gz", gzip.compress(FAILED_LOG.encode()))
    world.write("empty.log", "")

    assert world.ask("diagnose", "bad.log").document[0]["cause"]["kind"] == "oom.gpu.weights"
    both = world.ask("diagnose", "bad.log.gz", "-", stdin=FAILED_LOG.replace("\n", "\r\n").encode())
    assert [d["cause"]["line"] for d in both.document] == [5, 5]
    empty = world.ask("diagnose", "empty.log")
    assert (empty.status, empty.document[0]["verdict"]) == (0, "unknown")
    assert empty.err.count("\n") == 1


def test_an_unreadable_log_is_status_2_and_the_others_are_printed(world: World) -> None:
    world.write("bad.log", FAILED_LOG)
    (world.folder / "folder.log").mkdir()

    done = world.ask("diagnose", "none.log", "bad.log", "folder.log")

    assert (done.status, [d["log"] for d in done.document]) == (2, ["bad.log"])
    for name in ("none.log", "folder.log"):
        assert name in done.err
    assert world.ask("diagnose", "none.log").error["place"].startswith("none.log")


def test_a_log_of_the_host_is_diagnosed(life: dict[str, Any], world: World) -> None:
    work, run = world.lab["workdir"], life["deploy"].document["run"]

    done = world.ask("diagnose", f"box:{work}/attempts/{run}.1/server.log")

    assert (done.status, done.document[0]["verdict"]) == (0, "healthy")
    assert world.ask("diagnose", "box:/no/such.log").status == 2
    assert world.ask("diagnose", "bix:/no/such.log").status == 2


def test_a_log_that_is_still_written_is_starting(world: World) -> None:
    world.write(
        "start.log", FAILED_LOG.splitlines()[0] + "\n[2026-11-29 10:00:05] Load weight begin. avail mem=94.60 GB\n"
    )

    running = world.ask("diagnose", "start.log", "--running")
    over = world.ask("diagnose", "start.log")

    assert (running.status, running.document[0]["verdict"]) == (0, "starting")
    assert over.document[0]["verdict"] in {"failed", "unknown"}


SOURCE = """
class ServerArgs:
    def check(self):
        if self.speculative_algorithm is None:
            return
        if self.speculative_num_steps is None:
            assert self.speculative_eagle_topk is None and self.speculative_num_draft_tokens is None
"""
BARE = """Traceback (most recent call last):
  File "/opt/x/sglang/srt/server_args.py", line 7, in check
    assert self.speculative_eagle_topk is None and self.speculative_num_draft_tokens is None
AssertionError
"""


def test_source_and_command_make_a_repair_of_a_bare_assertion(world: World) -> None:
    (world.folder / "wheel" / "sglang" / "srt").mkdir(parents=True)
    world.write("wheel/sglang/srt/server_args.py", SOURCE)
    world.write("bare.log", BARE)
    command = f"python -m sglang.launch_server --model-path {MODEL} --speculative-algorithm NEXTN"
    command += " --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"

    done = world.ask("diagnose", "bare.log", "--source", "wheel", "--command", command)

    (found,) = done.document
    assert (done.status, found["cause"]["kind"]) == (1, "assertion.args")
    assert found["constraint"]["line"] == 7
    edits = [set(repair["set"]) | set(repair["unset"]) for repair in found["repairs"]]
    assert {"speculative-num-steps"} in edits
    assert {"speculative-eagle-topk", "speculative-num-draft-tokens"} in edits


def test_explain_schema_and_completion(world: World) -> None:
    assert world.ask("explain", "oom.gpu.kv_pool").document["kinds"][0]["kind"] == "oom.gpu.kv_pool"
    assert world.ask("explain", "oom-weights").document["signatures"][0]["id"] == "oom-weights"
    assert world.ask("explain", "oom.gpu.kv_pol").status == 2
    assert "record" in world.ask("schema").document
    assert world.ask("schema", "recrd").status == 2


def test_a_new_signature_is_checked_and_used(world: World) -> None:
    world.write("mine.toml", playbook())
    world.write("odd.log", FAILED_LOG.replace("torch.OutOfMemoryError: CUDA out", "FrobnicateError: the frob ran out"))
    made = world.ask("playbook", "new", "frob-ran-out", "--from", "odd.log:5")
    again = world.ask("playbook", "new", "frob-ran-out", "--from", "odd.log:5")
    (written,) = world.folder.rglob("frob-ran-out.toml")

    checked = world.ask("playbook", "check", written, "mine.toml")
    found = world.ask("diagnose", "odd.log", "--signatures", written.parent)

    assert (made.status, again.status) == (0, 2)
    assert (checked.status, checked.document["ok"]) == (0, True), checked
    assert found.document[0]["cause"]["signature"] == "frob-ran-out"


def test_playbook_check_names_file_line_and_key(world: World) -> None:
    world.write("typo.toml", playbook().replace("[health]", "[helth]"))

    done = world.ask("playbook", "check", "typo.toml")

    assert done.status == 2
    assert "typo.toml:13" in done.text()
    assert "did you mean 'health'" in done.text()


WRONG = {
    "a typo in a key": (["retry", "key.toml", "--host", "box"], "key.toml:13", "'health'"),
    "a typo in a flag": (["retry", "flag.toml", "--host", "box"], "tp-sise", "tp-size"),
    "a typo in a protected flag": (["retry", "protect.toml", "--host", "box"], "tp-sise", "tp-size"),
    "a typo in an allowed flag": (["retry", "allow.toml", "--host", "box"], "prot", "port"),
    "a typo in --unset": (["retry", "plain.toml", "--host", "box", "--unset", "tp-sise"], "tp-sise", "tp-size"),
    "a typo in --set": (["deploy", "plain.toml", "--host", "box", "--set", "tp-sise=4"], "tp-sise", "tp-size"),
    "a wrong value": (["retry", "value.toml", "--host", "box"], "value.toml:15", "strict"),
    "no duration": (["retry", "time.toml", "--host", "box"], "time.toml:14", "45m"),
    "a plain key": (["retry", "secret.toml", "--host", "box"], "secret.toml:6", "[hosts.NAME.secret-flags]"),
    "no such file": (["retry", "none.toml", "--host", "box"], "none.toml", "no such file"),
    "no such host": (["retry", "plain.toml", "--host", "bos"], "bos", "'box'"),
    "no hosts file": (["check", "plain.toml", "--host", "box", "--hosts", "none.toml"], "none.toml", "no such file"),
    "no such second host": (["retry", "plain.toml", "--host", "box", "--host", "bos"], "bos", "'box'"),
    "a host twice": (["retry", "plain.toml", "--host", "box", "--host", "box"], "--host", "once"),
    "events beside the record": (["retry", "plain.toml", "--host", "box", "--events", "-"], "--events -", "stdout"),
    "no such run": (["retry", "--resume", "nothing"], "nothing", "relight runs"),
    "resume with a playbook": (["retry", "plain.toml", "--resume", "x"], "--resume", "PLAYBOOK"),
    "no number": (["retry", "plain.toml", "--host", "box", "--max-attempts", "many"], "--max-attempts", "many"),
    "an unknown option": (["retry", "plain.toml", "--hosst", "box"], "--hosst", "--host"),
    "an unknown command": (["retri"], "retri", "retry"),
    "a missing secret": (["retry", "plain.toml", "--host", "unset"], "NOT_PLANTED", "missing or empty"),
    "an address that is none": (["init", "a b"], "a b", "[user@]address[:port]"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_status_2_with_place_and_next_action(world: World, what: str) -> None:
    words, place, then = WRONG[what]
    world.host("unset", '[hosts.unset.secrets]\nHF_TOKEN = "env:NOT_PLANTED"\n')
    world.write("plain.toml", playbook())
    world.write("key.toml", playbook().replace("[health]", "[helth]"))
    world.write("flag.toml", playbook().replace("tp-size = 8", "tp-sise = 8"))
    world.write("protect.toml", playbook().replace('"tp-size"]', '"tp-sise"]'))
    world.write("allow.toml", playbook(more='[allow]\nflags = ["prot"]\n'))
    world.write("value.toml", playbook().replace('"off"', '"of"'))
    world.write("time.toml", playbook().replace('"0s"', '"1 minute"'))
    world.write("secret.toml", playbook().replace("[flags]", f'[flags]\napi-key = "{KEY}"'))

    done = world.ask(*words)

    assert done.status == 2, done
    assert place in done.text()
    assert then in done.text()
    assert KEY not in done.text()


def test_a_host_that_cannot_be_reached_is_status_3(world: World) -> None:
    world.write("plain.toml", playbook())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        world.host("gone", port=free.getsockname()[1])

    for command in ("deploy", "retry", "check"):
        done = world.ask(command, "plain.toml", "--host", "gone")
        assert done.status == 3
        assert "gone" in done.error["place"]


def test_an_unknown_host_key_is_status_3_with_its_fingerprint_and_the_command_that_accepts_it(world: World) -> None:
    world.write("plain.toml", playbook())
    world.write("no_hosts", "")
    world.host("strange", known_hosts=str(world.folder / "no_hosts"))

    done = world.ask("check", "plain.toml", "--host", "strange")

    assert done.status == 3
    assert "SHA256:" in done.text()
    assert "ssh-keyscan" in done.error["next"]


def test_a_refused_login_is_status_3(world: World) -> None:
    world.write("plain.toml", playbook())
    make_key(world.folder / "other_key")
    world.host("closed", identity_file=str(world.folder / "other_key"))

    done = world.ask("deploy", "plain.toml", "--host", "closed")

    assert done.status == 3
    assert "other_key" in done.text()


def test_an_interpreter_that_is_not_there_is_named(world: World) -> None:
    world.write("plain.toml", playbook())
    world.host("pythonless", python="/no/such/python")

    checked = world.ask("check", "plain.toml", "--host", "pythonless")
    done = world.ask("retry", "plain.toml", "--host", "pythonless")

    assert checked.status == 1
    assert done.status == 2
    for said in (checked, done):
        assert "/no/such/python" in said.text()


def test_an_interpreter_without_the_engine_is_named_and_one_that_has_it_is_shown(world: World) -> None:
    world.write("plain.toml", playbook())
    world.raw("here", LOCAL.replace("PYTHON", "python3").replace("WORK", str(world.folder / "work")))

    checked = world.ask("check", "plain.toml", "--host", "here")
    done = world.ask("retry", "plain.toml", "--host", "here", "--max-attempts", 2)

    texts = [finding["text"] for finding in checked.document["findings"]]
    assert checked.status == 1
    assert any("has no engine" in text for text in texts)
    assert any("no NVIDIA GPUs" in text for text in texts)
    assert done.status in {1, 2, 5}
    assert "sglang" in done.text()


def test_init_of_the_lab_and_of_this_machine_gives_files_that_check_reads(world: World) -> None:
    for target, name in (("box", "box"), ("local", "local")):
        made = world.ask("init", target, "-o", f"first-{name}", *(["--name", name] if target == "local" else []))
        assert made.status == 0
        files = f"first-{name}/{made.document['name']}.toml", f"first-{name}/hosts.toml"
        assert world.ask("playbook", "check", files[0]).status == 0
        (called,) = tomllib.loads(made.document["hosts"])["hosts"]
        checked = world.ask("check", files[0], "--hosts", files[1], "--host", called, "--no-validate")
        if target == "box":
            assert checked.document["ok"], checked.document
