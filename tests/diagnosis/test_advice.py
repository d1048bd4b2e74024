"""What a message asks for, apart from what it only mentions."""

import pytest

from relight.diagnosis.given import Given
from relight.diagnosis.message import mentions, message_repairs

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
