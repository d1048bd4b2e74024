"""What a message asks for, apart from what it only mentions."""

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.diagnosis.given import Given
from relight.diagnosis.message import mentions, message_repairs
from relight.logs.lines import split
from relight.words.diagnosis import Diagnosis

NVLS = (
    "Failed to bind multicast memory. This is usually an error of the switches.\n"
    "Do not force-enable NVLS (NCCL_NVLS_ENABLE=1) if you wish to avoid this error in the future."
)


@pytest.mark.parametrize(
    "message",
    [
        NVLS,
        "RuntimeError: all-reduce failed with NCCL_NVLS_ENABLE=1",
        "you are running the server with NCCL_NVLS_ENABLE=1",
        "an error occurred with --page-size 64",
        "ValueError: using --page-size 64 here",
        "setting --page-size 64 failed",
        "never use --page-size 64",
        "avoid --page-size 64 on this device",
    ],
)
def test_what_a_message_only_mentions_is_no_advice(message: str) -> None:
    assert [m.name for m in mentions(message) if m.advised] == []


@pytest.mark.parametrize(
    "message",
    [
        "set NCCL_NVLS_ENABLE=0 to go on",
        "disable it (NCCL_NVLS_ENABLE=0)",
        "do not forget to set NCCL_NVLS_ENABLE=0",
        "this can be fixed by setting NCCL_NVLS_ENABLE=0",
        "Setting NCCL_NVLS_ENABLE=0 may help",
        "please launch the server with NCCL_NVLS_ENABLE=0",
        "the call failed. Try NCCL_NVLS_ENABLE=0",
        "do not use it; instead use NCCL_NVLS_ENABLE=0",
    ],
)
def test_what_a_message_asks_for_is_advice(message: str) -> None:
    assert [(m.name, m.value) for m in mentions(message) if m.advised] == [("NCCL_NVLS_ENABLE", "0")]


def test_a_variable_that_a_message_speaks_against_is_left_away_where_it_is_set() -> None:
    made = message_repairs(NVLS, Given({"tp": 8}, {"NCCL_NVLS_ENABLE": "1"}))

    assert [(r.unset_env, r.set_env) for r in made] == [(("NCCL_NVLS_ENABLE",), {})]
    assert message_repairs(NVLS, Given({"tp": 8}, {})) == []


def test_an_example_that_lies_the_other_way_is_not_followed() -> None:
    said = "please increase --watchdog-timeout to 600"

    assert message_repairs(said, Given({"watchdog-timeout": 900})) == []
    assert [dict(r.set) for r in message_repairs(said, Given({"watchdog-timeout": 300}))] == [
        {"watchdog-timeout": "600"}
    ]


def test_a_flag_that_is_required_when_another_is_given_is_asked_for_and_the_other_is_not() -> None:
    found = {m.name: m.advised for m in mentions("--log-dir is required when --log-to-file is enabled")}

    assert found == {"log-dir": True, "log-to-file": False}


KNOWLEDGE = load_knowledge(())
CHECK = '  File "/opt/venv/lib/python3.11/site-packages/sglang/srt/server_args.py", line 12, in check'


def of(*lines: str) -> Diagnosis:
    text = "\n".join(("Traceback (most recent call last):", CHECK, *lines))
    return diagnose(split([text.encode() + b"\n"]), KNOWLEDGE, name="log")


def test_of_a_version_that_is_not_known_the_message_knows_the_names() -> None:
    found = of(
        "ValueError: no_buffer does not go with the radix cache. Please use --mamba-scheduler-strategy extra_buffer"
    )

    assert found.repairs[0].set == {"mamba-scheduler-strategy": "extra_buffer"}


def test_what_a_message_says_not_to_go_with_is_not_switched_on() -> None:
    found = of("ValueError: extra_buffer is not compatible with --disable-radix-cache")

    assert not any("disable-radix-cache" in r.set for r in found.repairs)


def test_the_line_in_which_a_long_message_asks_for_a_change_is_told() -> None:
    talk = [f"Sentence {i} of many." for i in range(9)]

    found = of("ValueError: The table is full.", *talk, "To go on, please set --max-running-requests 32.")

    assert [(e.line, e.text) for e in found.details] == [(13, "To go on, please set --max-running-requests 32.")]


def test_the_error_whose_message_is_only_passed_on_is_told() -> None:
    frame = CHECK.replace("server_args.py", "layers/acme.py")
    link = "During handling of the above exception, another exception occurred:"
    outer = "Exception: Capture cuda graph failed: the moon is full"
    lines = ("Traceback (most recent call last):", frame, "ValueError: the moon is full", "", link, "",
             "Traceback (most recent call last):", frame, outer)  # fmt: skip

    found = diagnose(split(["\n".join(lines).encode() + b"\n"]), KNOWLEDGE, name="log")

    assert found.cause is not None
    assert found.cause.line == 9
    assert [e.line for e in found.details] == [3]
