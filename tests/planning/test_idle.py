"""Changes that did not help are given up again, and so is what only tells more."""

from dataclasses import replace

import pytest

from relight.words.diagnosis import Cause, Diagnosis
from relight.words.knowledge import FlagFact
from relight.words.settings import Repair
from relight.words.step import Candidate
from tests.planning.situations import (
    FACTS,
    KNOWLEDGE,
    WORLD,
    budget,
    cause,
    diagnosis,
    lever,
    playbook,
    played,
    variant,
)

GRAPHS = lever("graphs", variant({"cuda-graph-max-bs": 64}), variant({"cuda-graph-max-bs": 16}), "off", keep=2)
SPEC = lever("spec", variant({"speculative-algorithm": "NEXTN", "speculative-num-steps": 3}), "off", keep=3)
BOOK = playbook(GRAPHS, SPEC, flags={"mem-fraction-static": 0.9}, protect_flags=frozenset({"mem-fraction-static"}))
FEWER = Repair(set={"chunked-prefill-size": 2048}, why="less at once", cost=1.0)
SHORTER = Repair(set={"speculative-num-steps": 1}, why="a shorter draft", cost=1.5)


def lacking(asked: float, free: float, kind: str = "oom.gpu.draft") -> Cause:
    facts = {"asked_gib": asked, "free_gib": free}
    return cause(kind, blames=("mem-fraction-static", "speculative-num-steps"), facts=facts, phase="capture")


def fails_until_the_graphs_are_smaller(candidate: Candidate) -> Diagnosis | None:
    if candidate.settings.flags.get("cuda-graph-max-bs") == 64:
        return diagnosis(lacking(1.5, 0.4), FEWER, SHORTER)
    return None


def test_what_made_no_difference_is_not_in_the_settings_that_work() -> None:
    attempts, _ = played(BOOK, fails_until_the_graphs_are_smaller)

    assert attempts[-1].outcome == "healthy"
    assert attempts[-1].changes == ()
    assert attempts[-1].choice == {"graphs": 2, "spec": 1}


def test_two_changes_that_made_no_difference_are_not_tried_together_before_anything_else() -> None:
    attempts, _ = played(BOOK, fails_until_the_graphs_are_smaller)

    assert all(len(a.changes) <= 1 for a in attempts)


def test_a_change_that_moved_the_failure_on_stays() -> None:
    def engine(candidate: Candidate) -> Diagnosis | None:
        flags = candidate.settings.flags
        lack = 3.0 - 2.0 * ("chunked-prefill-size" in flags) - 1.5 * (flags.get("speculative-num-steps") == 1)
        return diagnosis(lacking(lack, 0.0), FEWER, SHORTER) if lack > 0 else None

    attempts, _ = played(BOOK, engine)

    assert attempts[-1].outcome == "healthy"
    assert {n for r in attempts[-1].changes for n in r.names} == {"chunked-prefill-size", "speculative-num-steps"}


def test_changes_that_are_needed_together_are_found_though_neither_helps_alone() -> None:
    def engine(candidate: Candidate) -> Diagnosis | None:
        flags = candidate.settings.flags
        both = "chunked-prefill-size" in flags and flags.get("speculative-num-steps") == 1
        return None if both else diagnosis(cause("kernel.illegal_access", fingerprint="print"), FEWER, SHORTER)

    attempts, _ = played(playbook(SPEC), engine)

    assert attempts[-1].outcome == "healthy"


def test_an_innocent_lever_is_not_blamed_for_what_the_sums_explain() -> None:
    mscclpp = lever("mscclpp", variant({"enable-mscclpp": True}), "off")
    seen: list[float] = []

    def engine(candidate: Candidate) -> Diagnosis | None:
        fraction = float(candidate.settings.flags["mem-fraction-static"])  # type: ignore[arg-type]
        seen.append(fraction)
        if fraction < 0.7:
            return None
        facts = {"mem_fraction_static_high": round(fraction - 0.03, 3), "asked_gib": fraction, "free_gib": 0.0}
        down = Repair(set={"mem-fraction-static": round(fraction - 0.035, 3)}, why="sums", origin="memory", cost=0.8)
        return diagnosis(cause("oom.gpu.graph_capture", blames=("mem-fraction-static",), facts=facts), down)

    attempts, _ = played(playbook(mscclpp, flags={"mem-fraction-static": 0.9}), engine)

    assert attempts[-1].choice == {"mscclpp": 1}


def test_what_only_makes_the_engine_tell_more_is_no_cure() -> None:
    knowledge = replace(KNOWLEDGE, facts={**FACTS, "NCCL_DEBUG": FlagFact("NCCL_DEBUG", diagnostic=True)})
    telling = Repair(set_env={"NCCL_DEBUG": "WARN"}, why="it tells more", cost=0.1)

    attempts, plan = played(
        playbook(SPEC),
        lambda _: diagnosis(cause("comm.nccl", blames=("speculative-algorithm",)), telling),
        replace(WORLD, knowledge=knowledge),
    )

    assert not any("NCCL_DEBUG" in a.settings.env for a in attempts)
    assert [o.why for o in plan.options if o.change == "NCCL_DEBUG=WARN"] == [
        "NCCL_DEBUG makes the engine tell more, it mends nothing"
    ]


def four_levers(*, spoils: tuple[str, ...]) -> list[dict[str, int | None]]:
    """Play four levers against a failure nobody can name while one of `spoils` is on; () = whatever is on."""
    levers = (
        SPEC,
        lever("radix", variant({"disable-radix-cache": True}), "off", keep=2),
        lever("mscclpp", variant({"enable-mscclpp": True}), "off"),
        lever("symm", variant({"enable-torch-symm-mem": True}), "off"),
    )

    def engine(candidate: Candidate) -> Diagnosis | None:
        fails = not spoils or any(candidate.choice[name] for name in spoils)
        return diagnosis(cause("unknown", fingerprint="print", confidence=0.4), SHORTER) if fails else None

    attempts, plan = played(playbook(*levers), engine)
    assert (attempts[-1].outcome == "healthy") == bool(spoils), plan.step
    return [dict(a.choice) for a in attempts]


def test_a_nameless_failure_that_comes_whatever_is_off_is_proved_by_few_launches() -> None:
    choices = four_levers(spoils=())

    assert len(choices) <= 12
    assert {"spec": None, "radix": None, "mscclpp": None, "symm": None} in choices


def test_two_levers_that_have_to_go_together_are_found_without_giving_up_the_dearer_ones() -> None:
    assert four_levers(spoils=("mscclpp", "symm"))[-1] == {"spec": 1, "radix": 1, "mscclpp": None, "symm": None}


def test_a_single_lever_is_given_up_before_many_are() -> None:
    assert four_levers(spoils=("spec",))[-1] == {"spec": None, "radix": 1, "mscclpp": 1, "symm": 1}


def test_variants_that_name_more_than_the_first_are_as_idle_as_it() -> None:
    more = lever(
        "spec",
        variant({"speculative-algorithm": "NEXTN"}),
        variant({"speculative-algorithm": "NEXTN", "speculative-num-draft-tokens": 4}),
        "off",
    )

    attempts, plan = played(playbook(more, GRAPHS), lambda _: diagnosis(cause("unknown", fingerprint="print")))

    assert attempts
    assert plan.options


@pytest.mark.parametrize(
    "cure",
    [
        {"experts": 2, "mscclpp": None},
        {"experts": 2, "attention": 2},
        {"experts": None, "attention": 2},
        {"experts": 2, "symm": None, "mscclpp": None},
        {"experts": None, "symm": None},
    ],
)
def test_later_variants_that_help_only_together_with_something_else_are_found(cure: dict[str, int | None]) -> None:
    levers = (
        lever("experts", variant({"moe-runner-backend": "a"}), variant({"moe-runner-backend": "b"}), "off"),
        lever("attention", variant({"attention-backend": "fa3"}), variant({"attention-backend": "triton"}), "off"),
        lever("mscclpp", variant({"enable-mscclpp": True}), "off"),
        lever("symm", variant({"enable-torch-symm-mem": True}), "off"),
    )

    def engine(candidate: Candidate) -> Diagnosis | None:
        return None if cure.items() <= candidate.choice.items() else diagnosis(cause("unknown", fingerprint="print"))

    attempts, _ = played(playbook(*levers, budget=budget(attempts=80)), engine)

    assert attempts[-1].outcome == "healthy"


@pytest.mark.parametrize("name", ["mscclpp", "symm", "radix"])
def test_a_repair_that_helps_only_with_a_lever_off_is_found(name: str) -> None:
    repair = Repair({"chunked-prefill-size": 2048}, why="smaller chunks", origin="signature", cost=1.0)
    levers = (
        SPEC,
        lever("radix", variant({"disable-radix-cache": True}), "off"),
        lever("mscclpp", variant({"enable-mscclpp": True}), "off"),
        lever("symm", variant({"enable-torch-symm-mem": True}), "off"),
    )

    def engine(candidate: Candidate) -> Diagnosis | None:
        cured = candidate.choice[name] is None and candidate.settings.flags.get("chunked-prefill-size") == 2048
        return None if cured else diagnosis(cause("unknown", fingerprint="print"), repair)

    attempts, _ = played(playbook(*levers, budget=budget(attempts=80)), engine)

    assert attempts[-1].outcome == "healthy"
