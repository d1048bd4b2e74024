import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relight.attempts.effective import (
    Guide,
    differences,
    from_line,
    from_server_info,
    gather,
    not_in_effect,
    read_guide,
    sentences,
)
from relight.config import shipped
from relight.words.parser import HostParser, ParserFlag
from relight.words.settings import Settings, WrittenFloat

CALL = (
    "[2026-01-02 03:04:05] server_args=ServerArgs(model_path='/data/m', tp_size=8, page_size=64, api_key='k-123', "
    "attention_backend=None, mem_fraction_static=0.827, cuda_graph_bs=[1, 2, 4], mode=<Mode.NULL: 'null'>)"
)
DICT = "server_args={'model_path': '/data/m', 'tp_size': 8, 'admin_api_key': 'k-123', 'extra': {'a': [1]}}"


@pytest.fixture(scope="module")
def guide() -> Guide:
    return read_guide((shipped.engine() / "effective.toml").read_text())


def test_the_arguments_are_read_from_a_call_and_from_a_dict() -> None:
    call, table = from_line(CALL), from_line(DICT)

    assert (call["tp_size"], call["cuda_graph_bs"], call["attention_backend"], call["mode"]) == (
        8,
        [1, 2, 4],
        None,
        "null",
    )
    assert (table["tp_size"], table["extra"]) == (8, {"a": [1]})


def test_nothing_in_a_line_is_ever_run() -> None:
    assert from_line("server_args=ServerArgs(a=__import__('os').getcwd(), b=2)") == {
        "a": "__import__('os').getcwd()",
        "b": 2,
    }


def test_a_garbled_line_gives_what_can_be_read() -> None:
    assert from_line("server_args=ServerArgs(tp_size=8, model='x', broken=[1, 2, ))") == {"tp_size": 8, "model": "x"}


@given(st.text(max_size=200))
def test_no_line_makes_it_fail(text: str) -> None:
    assert isinstance(from_line(f"server_args=ServerArgs({text})"), dict)
    assert isinstance(from_server_info(text), dict)


def test_a_hostile_line_costs_no_crash() -> None:
    assert from_line(f"server_args=ServerArgs(a={'+'.join(['1'] * 20000)}, b=2)").get("b", 2) == 2
    assert from_line(f"server_args=ServerArgs(a={'-' * 90000}1, b=2)").get("b", 2) == 2
    assert from_line(f"server_args=ServerArgs(a={'[' * 5000})") == {}


def test_the_scheduler_knows_better_than_the_main_process_and_the_log_better_than_both(guide: Guide) -> None:
    info = json.dumps(
        {"page_size": 1, "tp_size": 8, "internal_states": [{"page_size": 64, "max_running_requests": 48}]}
    )
    facts: dict[str, dict[str | None, dict[str, int]]] = {
        "sched_ready": {"TP0": {"mrr": 40, "tokens": 464768}, "TP1": {"mrr": 40}}
    }

    found = gather(guide, line=CALL, info=info, facts=facts)

    assert (found["page_size"], found["max_running_requests"], found["max_total_num_tokens"]) == (64, 40, 464768)


@pytest.mark.parametrize(
    "source",
    [
        {"line": CALL},
        {"line": DICT},
        {"info": '{"api_key": "k-123"}'},
        {"info": '{"launch_command": "--api-key k-123"}'},
        {"info": '{"nested": {"admin_api_key": "k-123", "list": [{"hf_token": "k-123"}]}}'},
    ],
)
def test_no_secret_comes_through(guide: Guide, source: dict[str, str]) -> None:
    found = gather(guide, **source)  # type: ignore[arg-type]

    assert "k-123" not in repr(found)
    assert found


def test_what_the_engine_changed_is_named_with_the_reason(guide: Guide) -> None:
    settings = Settings(
        {"attention-backend": "trtllm_mha", "mem": WrittenFloat("0.90"), "page-size": 64, "quick": True}
    )
    parser = HostParser(
        (
            ParserFlag(("attention-backend",), "attention_backend"),
            ParserFlag(("mem-fraction-static",), "mem_fraction_static", "float"),
            ParserFlag(("page-size",), "page_size", "int"),
        )
    )
    effective = {"attention_backend": "triton", "mem_fraction_static": 0.9, "page_size": 64}

    found = differences(settings, effective, guide, parser)

    assert [(d.flag, d.used) for d in found] == [("attention-backend", "triton")]
    assert "triton is in effect (chosen for this card" in sentences(found, {})[0]


def test_a_switch_and_its_field_agree(guide: Guide) -> None:
    settings = Settings({"disable-radix-cache": True, "enable-mscclpp": True, "cuda-graph-bs": (1, 2)})
    effective = {"disable_radix_cache": True, "enable_mscclpp": False, "cuda_graph_bs": [1, 2]}

    assert [d.flag for d in differences(settings, effective, guide)] == ["enable-mscclpp"]


@pytest.mark.parametrize(
    ("effective", "figures", "off"),
    [
        ({"speculative_algorithm": "EAGLE"}, {"accept_length": 2.4}, set()),
        ({"speculative_algorithm": "EAGLE"}, {"accept_length": 1.0}, {"speculative-algorithm"}),
        ({"speculative_algorithm": None}, {}, {"speculative-algorithm"}),
        ({"disable_overlap_schedule": True}, {}, {"SGLANG_ENABLE_SPEC_V2"}),
        ({}, {}, set()),
    ],
)
def test_a_lever_that_is_set_and_not_on_is_said_so(
    guide: Guide, effective: dict[str, object], figures: dict[str, float], off: set[str]
) -> None:
    settings = Settings({"speculative-algorithm": "NEXTN"}, {"SGLANG_ENABLE_SPEC_V2": "1"})

    assert set(not_in_effect(settings, effective, guide, figures=figures)) == off


def test_what_was_not_asked_for_is_no_lever(guide: Guide) -> None:
    settings = Settings({"enable-mscclpp": False}, {"SGLANG_ENABLE_SPEC_V2": "0"})

    assert not_in_effect(settings, {"enable_mscclpp": False, "disable_overlap_schedule": True}, guide) == {}
