from dataclasses import replace
from typing import Any

import pytest

from relight.planning.parse_rung import check
from relight.words.errors import UsageError
from relight.words.knowledge import Knowledge
from relight.words.settings import Change, Repair, Settings
from relight.words.step import Answer, Ask, Launch, Reject
from tests.planning.situations import (
    KNOWLEDGE,
    PARSER,
    WORLD,
    attempt,
    budget,
    cause,
    diagnosis,
    launch,
    lever,
    plan,
    playbook,
    played,
    variant,
)


def faults(**flags: object) -> list[tuple[str, str]]:
    written: dict[str, Any] = {n.replace("_", "-"): v for n, v in flags.items()}
    settings = Settings({"model-path": "m", **written})
    return [(f.name, f.fault) for f in check(settings, PARSER, KNOWLEDGE)]


def test_the_parser_rung_names_what_the_parser_would_refuse() -> None:
    assert faults(tp=8, mem_frac="0.9", overlap=False) == []
    assert faults(atention_backend="triton") == [("atention-backend", "typo")]
    assert faults(cuda_graph_max_batch=8) == [("cuda-graph-max-batch", "gone")]
    assert faults(speculative="x") == [("speculative", "ambiguous")]
    assert faults(attention_backend="tritn") == [("attention-backend", "value")]
    assert faults(tp="eight") == [("tp", "value")]
    assert faults(enable_mscclpp="yes") == [("enable-mscclpp", "value")]
    assert faults(port=True) == [("port", "value")]


def test_a_required_flag_that_is_missing_is_named() -> None:
    assert [f.fault for f in check(Settings({}), PARSER, KNOWLEDGE)] == ["missing"]


def test_a_renamed_flag_is_recorded_as_rejected_and_mended_before_any_launch() -> None:
    book = playbook(flags={"cuda-graph-max-batch": 64, "attention-backend": "tritn"})

    attempts, _ = played(book, lambda _: None)

    assert [(a.rung, a.outcome) for a in attempts] == [("parse", "rejected"), ("real", "healthy")]
    assert attempts[1].settings.flags["cuda-graph-max-bs"] == 64
    assert attempts[1].settings.flags["attention-backend"] == "triton"


def test_a_flag_that_is_just_gone_is_dropped() -> None:
    attempts, _ = played(playbook(flags={"long-gone": True}), lambda _: None)

    assert "long-gone" not in attempts[-1].settings.flags


def test_a_typo_is_wrong_usage_before_anything_is_launched() -> None:
    with pytest.raises(UsageError, match=r"--atention-backend: no version .*nearest: --attention-backend"):
        plan(playbook(flags={"atention-backend": "triton"}))


def test_a_typo_in_a_variant_is_found_before_anything_is_launched() -> None:
    with pytest.raises(UsageError, match="--speculativ-algo"):
        plan(playbook(lever("spec", variant({"tp-size": 1}), variant({"speculativ-algo": "x"}), "off")))


def test_a_flag_only_another_version_has_is_no_typo() -> None:
    other = Knowledge(versions={"0.9": PARSER.__class__((PARSER.flags[0],), "0.9")})
    found = check(Settings({"model-path": "m"}), PARSER.__class__((PARSER.flags[1],)), other)

    assert [f.fault for f in found] == ["gone"]


def test_validation_is_asked_before_a_launch_and_what_passed_is_confirmed() -> None:
    book = playbook()
    found = diagnosis(cause("args.conflict", blames=("mem-fraction-static",)), Repair({"mem-fraction-static": 0.8}))
    failed = attempt(launch(book), "crashed", found)
    world = replace(WORLD, can_ask=True, answers=((launch(book).settings, Answer(passed=True)),))

    asked = plan(book, failed, world=world).step
    assert isinstance(asked, Ask)
    answers = (*world.answers, *((c.settings, Answer(passed=True)) for c in asked.candidates))
    candidate = launch(book, failed, world=replace(world, answers=answers))

    assert candidate.changes[0].confirmed


def test_what_validation_refuses_is_recorded_and_never_launched() -> None:
    book = playbook(lever("spec", variant({"speculative-algorithm": "NEXTN"}), "off"))
    first = launch(book)
    world = replace(WORLD, answers=((first.settings, Answer(False, "ValueError", "no such draft")),), can_ask=False)

    refused = plan(book, world=world).step
    assert isinstance(refused, Reject)
    rejected = attempt(refused.candidate, "rejected", diagnosis(cause("args.conflict")), rung="validate")
    after = launch(book, rejected, world=world)

    assert refused.because == "ValueError: no such draft"
    assert after.choice == {"spec": None}


def test_dummy_weights_come_first_when_loading_is_long_and_the_failure_is_not_about_weights() -> None:
    book = playbook(lever("spec", variant({"speculative-algorithm": "NEXTN"}), "off"), budget=budget(dummy=True))
    slow = replace(WORLD, load_seconds=900.0)
    failed = attempt(launch(book), "crashed", diagnosis(cause("kernel.no_image", blames=("speculative-algorithm",))))
    of_weights = attempt(launch(book), "crashed", diagnosis(cause("model.weights", blames=("speculative-algorithm",))))

    dummy = plan(book, failed, world=slow).step
    assert isinstance(dummy, Launch)
    passed = attempt(dummy.candidate, "healthy", rung="dummy")
    real = plan(book, failed, passed, world=slow).step

    assert dummy.rung == "dummy"
    assert isinstance(real, Launch)
    assert (real.rung, real.candidate.settings) == ("real", dummy.candidate.settings)
    for other in (plan(book, failed).step, plan(book, of_weights, world=slow).step, plan(book, world=slow).step):
        assert isinstance(other, Launch)
        assert other.rung == "real"


def test_a_dummy_failure_of_the_weights_says_nothing_about_the_real_ones() -> None:
    book = playbook(lever("spec", variant({"speculative-algorithm": "NEXTN"}), "off"))
    candidate = launch(book)

    again = launch(book, attempt(candidate, "crashed", diagnosis(cause("model.weights")), rung="dummy"))

    assert again.settings == candidate.settings


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"protect_flags": frozenset({"tp-sise"})}, r"\[protect\] --tp-sise"),
        ({"allow_flags": frozenset({"prot"})}, r"\[allow\] --prot"),
    ],
)
def test_a_typo_in_what_is_protected_or_allowed_is_wrong_usage(named: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        launch(playbook(flags={"model-path": "m"}, **named))


def test_a_typo_in_unset_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="--unset tp-sise: --tp-sise"):
        launch(playbook(flags={"model-path": "m"}), world=replace(WORLD, overrides=Change(unset=("tp-sise",))))


@pytest.mark.parametrize(("name", "value"), [("tp-size", "abc"), ("attention-backend", "tritn"), ("overlap", "yes")])
def test_a_value_on_the_command_line_that_no_parser_takes_is_wrong_usage(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=value if name != "overlap" else "takes no value") as caught:
        plan(playbook(), world=replace(WORLD, overrides=Change(set={name: value})))

    assert caught.value.place == f"--set {name}"


def test_settings_that_could_not_be_validated_are_launched_and_not_called_refused() -> None:
    unknown = Answer(False, "NoAnswer", "validation: no answer after 20 s")
    settings_ = launch(playbook()).settings

    step = plan(playbook(), world=replace(WORLD, answers=((settings_, unknown),), can_ask=True)).step

    assert isinstance(step, Launch)
    assert step.candidate.settings == settings_
