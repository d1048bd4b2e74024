"""The main job on the real, unmodified engine: each failure is named, the least is changed, the server answers."""

from typing import Any

import pytest

from tests.real.conftest import Desk

pytestmark = [pytest.mark.real, pytest.mark.timeout(1200)]


def launches(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [a for a in record["attempts"] if a["rung"] == "real"]


def test_a_flag_of_an_older_version_gets_its_new_name(desk: Desk) -> None:
    playbook = desk.playbook("renamed", mamba_scheduler_strategy="auto")

    status, record, err = desk.relight("retry", playbook, "--host", "cpu")

    assert (status, record["state"]) == (0, "healthy"), err
    assert len(launches(record)) == 1
    assert record["attempts"][0]["outcome"] == "rejected"
    assert "--mamba-scheduler-strategy" not in record["final"]["argv"]
    assert "torch_native" in record["final"]["argv"]


def test_speculation_given_in_part_is_repaired_tried_and_dropped(desk: Desk) -> None:
    playbook = desk.playbook(
        "part", speculative_algorithm="NEXTN", speculative_num_draft_tokens=2, speculative_eagle_topk=1
    )

    status, record, err = desk.relight("retry", playbook, "--host", "cpu")

    assert (status, record["state"]) == (0, "healthy"), err
    first = record["attempts"][0]
    assert first["diagnosis"]["cause"]["kind"] == "assertion.args"
    repairs = first["diagnosis"]["repairs"]
    assert any(set(r["unset"]) == {"speculative-num-draft-tokens", "speculative-eagle-topk"} for r in repairs)
    assert any("speculative-num-steps" in r["set"] for r in repairs)
    assert "--speculative-algorithm" not in record["final"]["argv"]
    assert "torch_native" in record["final"]["argv"]


def test_an_attention_backend_that_cannot_work_is_the_only_thing_given_up(desk: Desk) -> None:
    playbook = desk.playbook("backend", attention_backend="flashinfer")

    status, record, err = desk.relight("retry", playbook, "--host", "cpu")

    assert (status, record["state"]) == (0, "healthy"), err
    asked, final = record["attempts"][0]["settings"]["flags"], record["attempts"][-1]["settings"]["flags"]
    changed = {k for k in {*asked, *final} if asked.get(k) != final.get(k)}
    assert changed == {"attention-backend"}


def test_a_wrong_model_path_needs_a_person(desk: Desk) -> None:
    playbook = desk.playbook("nowhere", model_path=str(desk.model) + "-missing")

    status, record, err = desk.relight("retry", playbook, "--host", "cpu")

    assert (status, record["state"]) == (5, "person"), err
    causes = {a["diagnosis"]["cause"]["kind"] for a in record["attempts"]}
    assert causes == {"model.not_found"}
    assert "model" in record["reason"].lower()


def test_a_second_deploy_is_busy_replace_takes_over_and_stop_leaves_nothing(desk: Desk) -> None:
    playbook = desk.playbook("twice")

    first, record, err = desk.relight("deploy", playbook, "--host", "cpu")
    second, busy, _ = desk.relight("deploy", playbook, "--host", "cpu")
    third, replacing, _ = desk.relight("deploy", playbook, "--host", "cpu", "--replace")
    stopped, _, _ = desk.relight("stop")

    assert first == 0, err
    assert (second, busy["state"]) == (6, "busy")
    assert record["run"] in busy["reason"]
    assert (third, replacing["state"]) == (0, "healthy")
    assert stopped == 0
    assert desk.processes() == []
