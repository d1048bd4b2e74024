"""What `relight check` finds, from values."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from relight.attempts.fetching import hub_cache, is_path
from relight.cli.findings import Finding, host_findings, ordered
from relight.cli.flag_findings import cases, parse_findings, requested, unfit_findings
from relight.cli.kept import kept_here
from relight.cli.model import ModelSeen, shards
from relight.cli.seen import Seen
from relight.cli.validated import mended, refusals
from relight.config.knowledge import load_knowledge
from relight.config.playbook import parse_playbook
from relight.hosts.values import Disk, HostFacts, Interpreter, Leftover, Status, Usage
from relight.words.diagnosis import Frame
from relight.words.host import Gpu, GpuProcess, HostProcess, HostSpec, Listener, SecretSource
from relight.words.parser import HostParser
from relight.words.playbook import Playbook
from relight.words.settings import Change, Settings
from relight.words.step import Answer

GIB = 1 << 30
KNOWLEDGE = load_knowledge()
NEW, OLD = KNOWLEDGE.versions["0.5.23"], KNOWLEDGE.versions["0.5.9"]
SPEC = HostSpec("rtx8", "gpu1")
SETTINGS = Settings({"model-path": "owner/m", "tp-size": 8, "port": 30000})
FACTS = HostFacts(
    user="root", uid=0, home="/root", workdir="/root/.relight", hostname="gpu1", kernel="6.8", boot_id="b", now=0.0,
    clock_offset=0.0, round_trip=0.0, python="/opt/python", python_version="3.11.7", cpus=64, memory_total=512000,
    memory_free=400000, shm_total=65536, shm_free=65536, ulimits={"nofile": 65536, "nproc": None, "memlock": None},
    login_path="/usr/bin", login_shell="/bin/bash", proxies={}, kills_user_processes=False, container="",
)  # fmt: skip
CARD = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
GPUS = tuple(Gpu(i, CARD, 97887, 4, driver="580.95") for i in range(8))
FINE = Seen(FACTS, GPUS, "0.5.23", NEW, disk=Disk("/root/.relight", 500 * GIB, 900 * GIB))


def found(seen: Seen, settings: Settings = SETTINGS, spec: HostSpec = SPEC) -> list[Finding]:
    return [f for f in host_findings(spec, settings, seen) if f.severity != "note"]


def one(seen: Seen, settings: Settings = SETTINGS, spec: HostSpec = SPEC) -> Finding:
    (finding,) = found(seen, settings, spec)
    return finding


def facts(**changes: Any) -> Seen:
    return replace(FINE, facts=replace(FACTS, **changes))


def test_a_host_in_order_gives_notes_only() -> None:
    assert found(FINE) == []


def test_worst_comes_first() -> None:
    rows = [
        Finding("note", "a", "x"),
        Finding("error", "b", "x"),
        Finding("warning", "c", "x"),
        Finding("error", "d", "x"),
    ]

    assert [f.place for f in ordered(rows)] == ["b", "d", "c", "a"]


def test_an_interpreter_without_the_engine_is_an_error_that_names_those_with_it() -> None:
    others = (Interpreter("/opt/sglang/bin/python", "0.5.9"),)
    seen = replace(FINE, parser=None, version=None, parser_fault="No module named 'sglang'", interpreters=others)

    finding = one(seen)

    assert finding.severity == "error"
    assert "No module named 'sglang'" in finding.text
    assert "/opt/sglang/bin/python (0.5.9)" in finding.next


@pytest.mark.parametrize(
    ("version", "wrong"), [("0.5.5", True), ("0.5.5.post3", False), ("0.5.9", False), (None, False)]
)
def test_secret_flags_need_a_version_that_reads_a_file(version: str | None, wrong: bool) -> None:
    spec = replace(SPEC, secret_flags={"api-key": SecretSource("env", "KEY")})

    assert bool(found(replace(FINE, version=version), spec=spec)) == wrong


def test_no_cards_are_a_warning_and_on_a_cpu_only_a_note() -> None:
    seen = replace(FINE, gpus=())

    assert one(seen).text == "no NVIDIA GPUs are seen"
    assert found(seen, Settings({"device": "cpu"})) == []


def test_more_cards_than_there_are_is_an_error() -> None:
    finding = one(FINE, Settings({"tp-size": 8, "pp-size": 2}))

    assert (finding.severity, finding.text) == ("error", "16 GPUs are asked for, 8 are there")


def test_a_card_of_hosts_toml_that_is_not_there_is_an_error() -> None:
    assert one(FINE, spec=replace(SPEC, gpus=(0, 9))).text.startswith("no GPU 9; there are: 0, 1")


def test_memory_held_by_others_is_named_with_its_process() -> None:
    held = replace(GPUS[3], memory_used=20000, processes=(GpuProcess(77, 19996, "train.py"),))
    finding = one(replace(FINE, gpus=(*GPUS[:3], held, *GPUS[4:])))

    assert finding.severity == "warning"
    assert "GPU 3: 20000 of 97887 MiB are held by train.py (pid 77, 19996 MiB)" in finding.text


def test_memory_held_by_ours_is_nothing_to_tell() -> None:
    held = replace(GPUS[0], memory_used=90000, processes=(GpuProcess(77, 89996),))
    ours = HostProcess(77, 1, 5, "S", "sglang::scheduler", ours="r.1")

    assert found(replace(FINE, gpus=(held, *GPUS[1:]), processes=(ours,))) == []


def test_memory_held_by_nobody_we_can_see_is_told() -> None:
    held = replace(GPUS[0], memory_used=90000)

    assert "a process we cannot see" in one(replace(FINE, gpus=(held, *GPUS[1:]))).text


def test_a_foreign_listener_on_the_port_is_an_error() -> None:
    finding = one(replace(FINE, listeners=(Listener(30000, "0.0.0.0", 42, "nginx"), Listener(22, "0.0.0.0", 1))))  # noqa: S104

    assert (finding.severity, finding.place, finding.text) == ("error", "rtx8: port 30000", "taken by nginx (pid 42)")


def test_the_server_of_an_earlier_run_on_the_port_is_named() -> None:
    server = Status("r1.2", "running", pid=42, run="r1", port=30000, gpus=(0, 1))
    finding = one(replace(FINE, servers=(server,), listeners=(Listener(30000, "127.0.0.1", 42),)))

    assert finding.text == "the server of run r1 runs there"
    assert "--replace" in finding.next


def test_a_server_on_other_cards_and_another_port_is_no_matter() -> None:
    server = Status("r1.2", "running", run="r1", port=31000, gpus=(4, 5))
    seen = replace(FINE, servers=(server,), gpus=GPUS[:4])

    assert found(seen, Settings({"tp-size": 4}), replace(SPEC, gpus=(0, 1, 2, 3))) == []
    assert one(seen, Settings({"tp-size": 4})).text == "the server of run r1 runs on these GPUs"


@pytest.mark.parametrize(
    ("disk", "severity"),
    [
        (Disk("/w", 5 * GIB, 900 * GIB), "warning"),
        (Disk("/w", GIB // 8, 900 * GIB), "error"),
        (Disk("/w", 500 * GIB, 900 * GIB, read_only=True), "error"),
    ],
)
def test_a_full_or_read_only_disk_is_told(disk: Disk, severity: str) -> None:
    assert one(replace(FINE, disk=disk)).severity == severity


def test_little_shared_memory_matters_only_for_several_ranks() -> None:
    seen = facts(shm_total=64)

    assert "64 MiB" in one(seen).text
    assert found(seen, Settings({"tp-size": 1})) == []


def test_small_limits_are_told() -> None:
    assert {f.place for f in found(facts(ulimits={"nofile": 1024, "nproc": 100}))} == {
        "rtx8: ulimit -n",
        "rtx8: ulimit -u",
    }


def test_a_proxy_matters_unless_loopback_is_spared() -> None:
    seen = facts(proxies={"http_proxy": "http://p:3128"})

    assert "http_proxy" in one(seen).text
    assert found(seen, replace(SETTINGS, env={"NO_PROXY": "localhost,127.0.0.1"})) == []
    assert found(facts(proxies={"http_proxy": "http://p:3128", "no_proxy": "localhost"})) == []


def test_a_login_that_kills_its_processes_is_told() -> None:
    assert "enable-linger root" in one(facts(kills_user_processes=True)).next


def test_leftovers_are_told() -> None:
    left = Leftover("process", "sglang::scheduler (pid 9)", "r0.1", 9)

    assert "attempt r0.1" in one(replace(FINE, leftovers=(left,))).text


def test_what_could_not_be_asked_is_told() -> None:
    assert one(replace(FINE, unasked=("nvidia-smi does not answer",))).text == "nvidia-smi does not answer"


def test_notes_tell_what_is_kept_there_and_that_containers_are_not_yet() -> None:
    seen = replace(FINE, images=("lmsysorg/sglang:latest",), usage=Usage("/root/.relight", 3 * GIB, (("a", 1, 0.0),)))
    notes = " | ".join(f"{f.text} {f.next}" for f in host_findings(SPEC, SETTINGS, seen))

    assert "lmsysorg/sglang:latest containers: not yet" in notes
    assert "3.0 GiB of 1 attempt are kept there" in notes


def test_what_runs_take_here_is_a_note(tmp_path: Path) -> None:
    assert kept_here(tmp_path) == ()
    folder = tmp_path / "runs" / "20261129-1200-x-abcd"
    folder.mkdir(parents=True)
    (folder / "base.json").write_text("{}")
    (folder / "server.log").write_bytes(b"x" * (3 << 20))

    (note,) = kept_here(tmp_path)

    assert (note.severity, note.place) == ("note", str(tmp_path))
    assert "3.0 MiB of 1 run are kept here" in note.text


MODEL = ModelSeen("owner/m", "hub", "/hf/m", bytes=200 * GIB)


@pytest.mark.parametrize(
    ("model", "severity", "text"),
    [
        (ModelSeen("/m", "path"), "error", "no such folder on the host"),
        (ModelSeen("o/m", "hub", disk=Disk("/hf", 50 * GIB, 100 * GIB)), "warning", "50 GiB are free"),
        (ModelSeen("o/m", "hub", offline=True), "error", "HF_HUB_OFFLINE forbids"),
        (replace(MODEL, source="path", missing=("model-00002.safetensors",)), "error", "lacks model-00002.safetensors"),
        (replace(MODEL, missing=("config.json",)), "warning", "lacks config.json"),
        (replace(MODEL, bytes=900 * GIB), "error", "they cannot fit"),
        (replace(MODEL, bytes=680 * GIB), "warning", "little is left for the cache"),
    ],
)
def test_a_model_that_is_absent_broken_or_too_big_is_told(model: ModelSeen, severity: str, text: str) -> None:
    finding = one(replace(FINE, model=model))

    assert finding.severity == severity
    assert text in finding.text


def test_a_model_that_fits_is_a_note() -> None:
    assert found(replace(FINE, model=MODEL)) == []


@pytest.mark.parametrize(
    ("name", "path"),
    [("owner/model", False), ("/data/m", True), ("./m", True), ("~/m", True), ("a/b/c", True), ("m", False)],
)
def test_tells_a_path_from_an_id_of_the_hub(name: str, path: bool) -> None:
    assert is_path(name) == path


def test_reads_the_shards_an_index_names() -> None:
    assert shards(b'{"weight_map": {"a": "2.safetensors", "b": "1.safetensors", "c": "1.safetensors"}}') == (
        "1.safetensors", "2.safetensors",
    )  # fmt: skip
    assert shards(b"not json") == ()


def test_the_hub_cache_follows_the_environment() -> None:
    assert hub_cache({}, "/root") == "/root/.cache/huggingface/hub"
    assert hub_cache({"HF_HOME": "/data/hf"}, "/root") == "/data/hf/hub"
    assert hub_cache({"HF_HOME": "/data/hf", "HF_HUB_CACHE": "/c"}, "/root") == "/c"


def play(flags: str, levers: str = "") -> Playbook:
    return parse_playbook(f'name = "x"\n[flags]\nmodel-path = "m"\n{flags}\n{levers}', Path("play.toml"))


def flags_found(book: Playbook, parser: HostParser) -> list[Finding]:
    rows = cases(book, overrides=Change(), host_env={}, parser=parser, version=parser.version)
    return list(parse_findings(rows, parser, KNOWLEDGE))


def test_a_playbook_that_the_parser_takes_has_no_findings() -> None:
    assert flags_found(play("tp-size = 8\nmem-fraction-static = 0.9"), NEW) == []


def test_a_typo_is_an_error_with_the_near_name() -> None:
    (finding,) = flags_found(play("tp-sise = 8"), NEW)

    assert finding.severity == "error"
    assert "--tp-size" in finding.next


def test_a_renamed_flag_is_told_with_its_new_name() -> None:
    (finding,) = flags_found(play('mamba-scheduler-strategy = "extra_buffer"'), NEW)

    assert "--mamba-radix-cache-strategy extra_buffer" in finding.next


def test_a_flag_of_a_newer_version_is_told_with_its_old_name() -> None:
    (finding,) = flags_found(play('mamba-radix-cache-strategy = "extra_buffer"'), OLD)

    assert "--mamba-scheduler-strategy extra_buffer" in finding.next


def test_a_wrong_value_is_told() -> None:
    (finding,) = flags_found(play('kv-cache-dtype = "fp4_e2m1"'), NEW)

    assert "kv-cache-dtype" in finding.text


def test_an_abbreviation_is_noted_with_the_full_name() -> None:
    (finding,) = flags_found(play("mem-fraction = 0.9"), NEW)

    assert (finding.severity, finding.text) == ("note", "--mem-fraction is short for --mem-fraction-static")


def test_an_ambiguous_flag_is_told() -> None:
    (finding,) = flags_found(play("pp = 2"), NEW)

    assert finding.severity == "error"
    assert "--pp" in finding.text


def NOWHERE(file: str) -> None:  # noqa: N802, ARG001  a source that has no file
    return None


LEVER = """
[[lever]]
name = "graphs"
variants = [
  { flags = { cuda-graph-max-bs = 64 } },
  { flags = { cuda-graph-max-bs-decode = 64 }, needs = ["cuda-graph-max-bs-decode"] },
  "off",
]
"""


def test_a_fault_in_a_lever_is_a_warning_that_names_the_variant() -> None:
    (finding,) = flags_found(play("", LEVER), NEW)

    assert (finding.severity, finding.place) == ("warning", 'play.toml: lever "graphs", variant 1')


def test_a_variant_that_the_engine_cannot_have_is_excluded() -> None:
    assert flags_found(play("", LEVER), OLD) == []
    assert [f.text for f in unfit_findings(play("", LEVER), OLD, "0.5.9")] == [
        "excluded: needs --cuda-graph-max-bs-decode"
    ]


def test_what_validation_refuses_is_an_error_for_the_base_and_a_warning_for_a_variant() -> None:
    rows = cases(play("", LEVER), overrides=Change(), host_env={}, parser=OLD, version="0.5.9")
    refused = Answer(False, "AssertionError", "", "/x/server_args.py", 2690)
    other = Answer(False, "AssertionError", "", "/x/server_args.py", 2700)

    rows_found = list(refusals(rows, answering([refused, other]), KNOWLEDGE, NOWHERE))

    assert [f.severity for f in rows_found] == ["error", "warning"]
    assert "AssertionError (server_args.py:2690)" in rows_found[0].text
    assert list(refusals(rows, answering([Answer(True), Answer(True)]), KNOWLEDGE, NOWHERE)) == []


def test_a_refusal_is_told_once_and_one_without_an_answer_is_no_refusal() -> None:
    rows = cases(play("", LEVER), overrides=Change(), host_env={}, parser=OLD, version="0.5.9")
    refused = Answer(False, "AssertionError", "", "/x/server_args.py", 2690)

    silent = Answer(False, "NoAnswer", "time-out")

    assert len(list(refusals(rows, answering([refused, refused]), KNOWLEDGE, NOWHERE))) == 1
    assert [f.severity for f in refusals(rows, answering([silent, silent]), KNOWLEDGE, NOWHERE)] == ["note"]


def answering(*rounds: list[Answer]) -> Callable[[Sequence[Settings]], list[Answer]]:
    """Return what gives one prepared list of answers after the other, then none."""
    left = list(rounds)
    return lambda _: left.pop(0) if left else []


SOURCE = """
class ServerArgs:
    def check(self):
        if self.cuda_graph_max_bs is not None:
            assert self.page_size == 1, "graphs need page size 1"
"""


def test_a_refusal_says_what_the_source_asks_for_and_what_would_mend_it() -> None:
    rows = cases(play("cuda-graph-max-bs = 8\npage-size = 64"), overrides=Change(), host_env={}, parser=OLD,
                 version="0.5.9")  # fmt: skip
    file = "/x/sglang/srt/server_args.py"
    frames = (Frame(file, 5, "check", 'assert self.page_size == 1, "graphs need page size 1"'),)
    refused = Answer(False, "AssertionError", "graphs need page size 1", file, 5, frames=frames)

    asked: list[Settings] = []

    def ask(settings: Sequence[Settings]) -> list[Answer]:
        asked.extend(settings)
        return [Answer(s.flags.get("page-size") == 1) if s.flags.get("page-size") != 64 else refused for s in settings]

    (finding,) = refusals(rows, ask, replace(KNOWLEDGE, versions={"0.5.9": OLD}), {file: SOURCE}.get)

    shown = "\n".join(finding.detail)
    assert 'assert self.page_size == 1, "graphs need page size 1"' in shown
    assert "the check wants: --page-size is 1" in shown
    assert "--page-size 1: passes" in finding.detail
    assert finding.next == "`relight retry` will try --page-size 1"
    assert len(asked) > 1


def test_what_the_parser_refuses_is_repaired_before_validation_is_asked() -> None:
    settings = Settings({"model-path": "m", "attention-backend": "tritn"})

    assert mended(settings, OLD, KNOWLEDGE).flags["attention-backend"] == "triton"


def test_variants_of_two_levers_are_looked_at_together() -> None:
    book = play("", LEVER + LEVER.replace('"graphs"', '"pages"').replace("cuda-graph-max-bs", "page-size"))
    places = [c.place for c in cases(book, overrides=Change(), host_env={}, parser=None, version=None, pairs=True)]

    assert 'play.toml: lever "graphs", variant 1 with lever "pages", variant 1' in places
    assert len(places) == len(set(places)) == 1 + 4 + 4


def test_a_lever_that_may_not_be_off_keeps_its_best_variant_meanwhile() -> None:
    book = play("", LEVER.replace('  "off",\n', ""))
    rows = cases(book, overrides=Change(), host_env={}, parser=OLD, version="0.5.9")

    assert rows[0].settings.flags["cuda-graph-max-bs"] == 64


def test_overrides_and_the_hosts_env_are_part_of_what_is_checked() -> None:
    settings = requested(play("", LEVER), overrides=Change({"tp-size": 2}), host_env={"HF_HOME": "/hf"})

    assert settings.flags == {"model-path": "m", "cuda-graph-max-bs": 64, "tp-size": 2}
    assert settings.env == {"HF_HOME": "/hf"}


def test_what_stands_behind_a_refusal_is_told_once_it_is_mended() -> None:
    rows = cases(play("cuda-graph-max-bs = 8\npage-size = 64"), overrides=Change(), host_env={}, parser=OLD,
                 version="0.5.9")  # fmt: skip
    file = "/x/sglang/srt/server_args.py"
    first = Answer(False, "AssertionError", "graphs", file, 5, frames=(Frame(file, 5, "check", ""),))
    second = Answer(False, "ValueError", "something else", "/x/sglang/srt/b.py", 9)

    def ask(settings: Sequence[Settings]) -> list[Answer]:
        return [first if s.flags.get("page-size") == 64 else second for s in settings]

    told = list(refusals(rows, ask, replace(KNOWLEDGE, versions={"0.5.9": OLD}), {file: SOURCE}.get))

    assert ["ValueError: something else (b.py:9)" in f.text for f in told] == [False, True]
    assert told[1].text.startswith("behind that, ")
    assert "--page-size 1: then refused further on: ValueError: something else (b.py:9)" in told[0].detail
