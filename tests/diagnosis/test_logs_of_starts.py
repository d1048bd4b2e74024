"""Whole starts: several attempts, the draft's load, silence, lines that end a server, other programs' logs."""

import dataclasses

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.diagnosis.watch import Watch
from relight.logs.lines import Line, split
from relight.words.diagnosis import Diagnosis

KNOWLEDGE = load_knowledge()
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 94.97 GiB"
BEGIN = "server_args=ServerArgs(model_path='/data/models/acme', tp_size=2, mem_fraction_static=0.9)"
READY = "[2026-03-01 10:09:00] The server is fired up and ready to roll!"


def read(*lines: str, running: bool = False) -> Diagnosis:
    return diagnose(split(["\n".join(lines).encode() + b"\n"]), KNOWLEDGE, name="log", running=running)


def kind(*lines: str) -> str:
    found = read(*lines).cause
    return found.kind if found else "none"


def load_fails(rank: str) -> list[str]:
    return [
        f"[2026-03-01 10:02:00 {rank}] Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/opt/lib/python3.11/site-packages/sglang/srt/model_executor/model_runner.py", line 9, in load_model',
        "    self.model = get_model()",
        OOM,
    ]


FIRST_LOAD = (
    "[2026-03-01 10:00:00 TP0] Load weight begin. avail mem=94.00 GB",
    "[2026-03-01 10:01:00 TP0] Load weight end. type=AcmeForCausalLM, dtype=torch.bfloat16, avail mem=20.00 GB",
)
SECOND_LOAD = "[2026-03-01 10:01:30 TP0] Load weight begin. avail mem=9.00 GB"


def test_memory_that_runs_out_in_the_second_load_is_the_draft_s() -> None:
    assert kind(FIRST_LOAD[0], *load_fails("TP0")) == "oom.gpu.weights"
    assert kind(*FIRST_LOAD, SECOND_LOAD, *load_fails("TP0")) == "oom.gpu.draft"


def test_the_fraction_is_a_share_of_what_was_free_before_the_first_load() -> None:
    oom = f"{OOM} of which 1.00 GiB is free."
    lines = [*load_fails("TP0")[:-1], oom]

    found = read(f"[2026-03-01 10:00:00] {BEGIN}", *FIRST_LOAD, SECOND_LOAD, *lines)

    assert found.cause
    assert found.cause.facts["mem_fraction_high"] == round(0.9 - (2.0 - 1.0 + 0.7) / 94.0, 4)
    assert "Of 94 GiB the fraction may fill" in " ".join(found.memory)


def test_another_rank_s_load_is_not_a_second_one() -> None:
    assert kind(*FIRST_LOAD, SECOND_LOAD.replace("TP0", "TP1"), *load_fails("TP1")) == "oom.gpu.weights"


@pytest.mark.parametrize(("version", "offered"), [("0.5.9", True), ("0.5.12", True), ("0.5.23", False)])
def test_the_variable_against_the_double_load_is_for_versions_that_read_it(version: str, offered: bool) -> None:
    start = f'[2026-03-01 10:00:00] server_args={{"model_path": "/data/m", "version": "{version}"}}'
    known = {version: next(iter(KNOWLEDGE.versions.values()))}
    lines = "\n".join([start, *FIRST_LOAD, SECOND_LOAD, *load_fails("TP0")]).encode()

    found = diagnose(split([lines]), dataclasses.replace(KNOWLEDGE, versions=known), name="log")

    assert any("SGLANG_ENABLE_SPEC_V2" in r.set_env for r in found.repairs) is offered


def test_a_variable_that_is_set_already_is_not_proposed() -> None:
    lines = "\n".join([*FIRST_LOAD, SECOND_LOAD, *load_fails("TP0")]).encode()

    found = diagnose(split([lines]), KNOWLEDGE, name="log", env={"SGLANG_ENABLE_SPEC_V2": "true"})

    assert not any(r.set_env for r in found.repairs)


def test_the_last_complete_attempt_counts() -> None:
    first = [BEGIN, FIRST_LOAD[0], *load_fails("TP0")]
    second = [BEGIN, "ValueError: Detected errors during sampling! NaN in the logits."]

    assert kind(*first, *second) == "numerics.nan"
    assert kind(*second, *first) == "oom.gpu.weights"
    assert kind(*first, BEGIN, FIRST_LOAD[0]) == "oom.gpu.weights"
    assert read(*first, BEGIN, *FIRST_LOAD, READY).verdict == "healthy"
    assert read(*first, BEGIN, FIRST_LOAD[0], running=True).verdict == "starting"


def test_a_log_that_is_merely_cut_is_not_called_a_hang() -> None:
    bar = "Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:00<00:01,  2.04it/s]"

    found = read(FIRST_LOAD[0], bar)

    assert found.verdict == "failed"
    assert found.cause is not None
    assert (found.cause.kind, found.cause.confidence <= 0.5) == ("unknown", True)


def test_a_pause_that_the_start_got_over_is_not_a_hang() -> None:
    assert kind(FIRST_LOAD[0], "[2026-03-01 10:20:00 TP0] Load weight end. avail mem=20.00 GB") == "unknown"


def test_silence_before_the_last_word_is_a_hang() -> None:
    begin = "[2026-03-01 10:00:00 TP0] Init torch distributed begin."

    assert kind(begin, "[2026-03-01 10:30:00] somebody asks whether this is still alive") == "hang.startup"


def test_a_rank_that_was_left_behind_is_a_hang() -> None:
    others = [f"[2026-03-01 10:05:0{n} TP{n}] Load weight begin. avail mem=94.00 GB" for n in range(1, 4)]

    assert kind("[2026-03-01 10:00:00 TP0] Init torch distributed begin.", *others) == "hang.startup"


def test_a_port_that_is_taken_ends_a_server_although_its_process_stays() -> None:
    watch = Watch(KNOWLEDGE)
    bind = "[2026-03-01 10:00:00] ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 30000)"

    seen = watch.feed(Line(1, 0, f"{bind}: address already in use"))

    assert seen is not None
    assert (seen.fatal, watch.crashed) == (True, True)


def test_an_exception_alone_may_be_survived() -> None:
    watch = Watch(KNOWLEDGE)

    watch.feed(Line(1, 0, "ValueError: the third item has no name"))

    assert not watch.crashed


def test_one_printed_assertion_is_read_without_the_file() -> None:
    found = diagnose(
        split(
            [
                b"Traceback (most recent call last):\n"
                b'  File "/opt/venv/lib/python3.11/site-packages/sglang/srt/server_args.py", line 812, in check\n'
                b"    assert self.tp_size % self.dp_size == 0\n"
                b"AssertionError\n"
            ]
        ),
        KNOWLEDGE,
        name="log",
        argv=("--model-path", "/data/m", "--tp-size", "8", "--dp-size", "3"),
    )

    assert found.constraint is not None
    assert set(found.constraint.flags) == {"tp-size", "dp-size"}
    assert any({"tp-size", "dp-size"} & {*r.set, *r.unset} for r in found.repairs)


def test_a_diagnosis_holds_the_lines_around_its_cause() -> None:
    found = read("one", "two", "three", "ValueError: Detected errors during sampling! NaN in the logits.", "five")

    assert [line.line for line in found.evidence] == [1, 2, 3, 4, 5]


FOREIGN = {
    "web server": "2026/03/01 10:00:00 [emerg] 71#71: bind() to 0.0.0.0:80 failed (98: Address already in use)",
    "database": "2026-03-01 10:00:00.000 UTC [71] FATAL:  could not create lock file: No space left on device",
    "worker": "[2026-03-01 10:00:00 +0000] [7] [ERROR] Worker (pid:9) was sent SIGKILL! Perhaps out of memory?",
    "kernel": "[  300.1] myapp[4321]: segfault at 0 ip 00007f00 sp 00007ffe error 4 in libc.so.6",
    "shop": "ModuleNotFoundError: No module named 'stripe'",
    "build": "x.c:1:10: fatal error: Python.h: No such file or directory",
}


@pytest.mark.parametrize("program", FOREIGN)
def test_a_log_of_another_program_is_left_alone(program: str) -> None:
    assert kind(*["starting", *[FOREIGN[program]] * 6]) in {"unknown", "none"}


@pytest.mark.parametrize(("version", "offered"), [("0.5.16", False), ("0.5.23", True)])
def test_a_value_that_a_version_does_not_know_is_not_proposed(version: str, offered: bool) -> None:
    known = dataclasses.replace(KNOWLEDGE, versions={version: KNOWLEDGE.versions[version]})
    text = (
        b"tvm.error.InternalError: Error in function 'TllmGenFmhaRunner' at fmhaRunner.cuh:37: Unsupported architecture"
    )

    found = diagnose(split([text]), known, name="log", argv=("--dsa-decode-backend", "trtllm"))

    assert ("flashinfer_sparse_mla" in [v for r in found.repairs for v in r.set.values()]) is offered


def test_a_short_log_that_begins_with_the_start_and_ends_inside_it_is_not_healthy() -> None:
    log = (f"[2026-03-01 10:00:00] {BEGIN}", FIRST_LOAD[0])

    assert read(*log).verdict == "failed"
    assert read(*log, running=True).verdict == "starting"


def test_what_the_main_process_raised_before_the_ranks_came_up_did_not_end_the_start() -> None:
    plugin = (
        "Traceback (most recent call last):",
        '  File "/opt/plugins/meter.py", line 3, in <module>',
        "    import acme_meter",
        "ModuleNotFoundError: No module named 'acme_meter'",
    )
    begun = (f"[2026-03-01 10:00:00] {BEGIN}", *plugin)
    ranks = ("[2026-03-01 10:00:01 TP0] Init torch distributed begin.", *FIRST_LOAD[:1], *load_fails("TP0"))

    assert kind(*begun) == "env.import"
    assert kind(*begun, *ranks) == "oom.gpu.weights"


def test_an_excerpt_of_everyday_serving_is_of_a_healthy_server() -> None:
    batches = [
        f"[2026-03-01 11:00:0{n} TP0] Decode batch, #running-req: 1, #token: {40 * n}, token usage: 0.00, #queue-req: 0"
        for n in range(3)
    ]

    assert read(*batches).verdict == "healthy"
    assert kind(*batches, OOM) == "oom.gpu.activation"


def test_the_names_of_flags_in_an_echoed_command_are_no_failure() -> None:
    echo = "+ python3 -m sglang.launch_server --model-path /data/m --watchdog-timeout 1200 --random-seed 1"

    assert kind(echo, "+ sleep 5", "+ code=503") == "none"


def test_a_warning_of_a_longer_context_is_no_failure() -> None:
    text = "Target model's context_length (9000) is greater than the derived context_length (4096)."

    assert kind(f"web-1  | [2026-03-01 10:00:00] Warning: {text} It may lead to wrong answers.") == "none"
    assert kind(f"ValueError: {text} It may lead to wrong answers.") == "model.context_length"


@pytest.mark.parametrize("quoted", ["`{}`", "> {}", "- {}", "PP1: {}", '"{}', "**{}**"])
def test_a_quoted_exception_is_read(quoted: str) -> None:
    assert kind(quoted.format("AssertionError: acme_attn backend requires page_size 64")) == "assertion.backend"


def test_a_graph_that_is_replayed_while_serving_was_captured_before() -> None:
    found = read(
        "[2026-03-01 11:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/opt/sglang/srt/managers/scheduler.py", line 9, in event_loop_overlap',
        '  File "/opt/sglang/srt/model_executor/cuda_graph_runner.py", line 90, in replay',
        "RuntimeError: something is odd here",
    )

    assert found.cause
    assert found.cause.phase == "serving"
