"""Failures that name nothing: few launches, and few levers given up."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from relight.words.area import Area, Areas
from relight.words.attempt import Attempt
from relight.words.diagnosis import Cause, Diagnosis
from relight.words.knowledge import FlagFact, PhasePattern
from relight.words.playbook import Budget, Playbook
from relight.words.settings import Repair
from relight.words.step import Candidate, Exhausted, Launch
from tests.planning.situations import (
    KNOWLEDGE,
    WORLD,
    attempt,
    cause,
    diagnosis,
    launch,
    lever,
    plan,
    playbook,
    played,
    variant,
)

NAMES = ("comm", "symm", "spec", "radix", "graphs", "overlap", "chunks")
FLAGS: dict[str, dict[str, Any]] = {
    "comm": {"enable-mscclpp": True}, "symm": {"enable-torch-symm-mem": True},
    "spec": {"speculative-algorithm": "NEXTN"}, "radix": {"disable-radix-cache": True},
    "graphs": {"cuda-graph-max-bs": 256}, "overlap": {"overlap": False}, "chunks": {"chunked-prefill-size": 8192},
}  # fmt: skip
BOOK = playbook(*(lever(name, variant(FLAGS[name]), "off") for name in NAMES))
PHASES = tuple(PhasePattern(p, p, "begin", p) for p in ("pools", "capture", "serving"))
AREAS = Areas(
    all=(Area("links", flags=("enable-mscclpp", "enable-torch-symm-mem"), odds={"numerics.*": 0.1, "*": 6.0}),),
    blind=("numerics.*",),
)
WITH_AREAS = replace(WORLD, knowledge=replace(KNOWLEDGE, areas=AREAS, phases=PHASES))
Choice = Mapping[str, int | None]
On = Callable[[Choice], bool]


def unnamed(print_: str = "print", phase: str = "capture", kind: str = "unknown", *repairs: Repair) -> Diagnosis:
    return diagnosis(cause(kind, fingerprint=print_, phase=phase, confidence=0.3), *repairs)


def run(fails: On, book: Playbook = BOOK, found: Diagnosis | None = None) -> list[Attempt]:
    def engine(candidate: Candidate) -> Diagnosis | None:
        return (found or unnamed()) if fails(candidate.choice) else None

    attempts, _ = played(book, engine, WITH_AREAS)
    return attempts


def off(made: Attempt) -> set[str]:
    return {name for name, position in made.choice.items() if position is None}


@pytest.mark.parametrize("guilty", NAMES)
def test_one_of_seven_levers_is_found_in_eight_launches_and_the_others_are_kept(guilty: str) -> None:
    attempts = run(lambda on: on[guilty] is not None)

    assert len(attempts) <= 8
    assert off(attempts[-1]) == {guilty}


@pytest.mark.parametrize("guilty", [("comm", "chunks"), ("spec", "overlap"), ("radix", "graphs")])
def test_two_levers_each_of_which_is_enough_to_fail_are_found_without_trying_every_two(guilty: tuple[str, str]) -> None:
    attempts = run(lambda on: any(on[name] is not None for name in guilty))

    assert attempts[-1].outcome == "healthy"
    assert len(attempts) <= 13


@pytest.mark.parametrize("guilty", [("comm", "chunks"), ("spec", "overlap"), ("radix", "graphs")])
def test_of_two_levers_that_fail_only_together_one_is_kept(guilty: tuple[str, str]) -> None:
    attempts = run(lambda on: all(on[name] is not None for name in guilty))

    assert len(attempts) <= 6
    assert len(off(attempts[-1])) <= 2


def test_what_is_known_to_fail_without_a_word_is_left_away_first() -> None:
    second = run(lambda _: True)[1]

    assert off(second)
    assert off(second) <= {"comm", "symm"}


def test_a_launch_says_among_which_suspects_it_shows_the_cause_to_be() -> None:
    cheap = {"comm", "symm"}
    levers = (lever(n, variant(FLAGS[n]), "off", keep=0.04 if n in cheap else 1) for n in NAMES)
    book = replace(BOOK, levers=tuple(levers))
    failed = attempt(launch(book, world=WITH_AREAS), "crashed", unnamed())

    step = plan(book, failed, world=WITH_AREAS).step

    assert isinstance(step, Launch)
    assert step.because == "the failure names nothing; this shows whether the cause is among comm, symm"


def test_what_is_known_of_one_kind_of_failure_says_nothing_of_another() -> None:
    second = run(lambda _: True, found=unnamed("garbage", "serving", "numerics.garbage"))[1]

    assert not off(second) & {"comm", "symm"}


def test_a_second_failure_behind_the_first_does_not_bring_back_what_cured_the_first() -> None:
    def engine(candidate: Candidate) -> Diagnosis | None:
        on = candidate.choice
        if on["comm"] is not None:
            return unnamed("first", "pools")
        return unnamed("second", "capture") if on["radix"] is not None else None

    attempts, _ = played(BOOK, engine, WITH_AREAS)
    prints = [a.diagnosis.cause.fingerprint for a in attempts if a.diagnosis and a.diagnosis.cause]

    assert attempts[-1].outcome == "healthy"
    assert prints == sorted(prints)
    assert len(attempts) <= 8


def test_a_failure_that_a_cure_brings_about_is_left_by_another_cure() -> None:
    def engine(candidate: Candidate) -> Diagnosis | None:
        on = candidate.choice
        if on["comm"] is None:
            return unnamed("broken by its absence", "pools")
        return unnamed() if on["comm"] is not None and on["spec"] is not None else None

    attempts, _ = played(BOOK, engine, WITH_AREAS)

    assert attempts[-1].outcome == "healthy"
    assert attempts[-1].choice["comm"] == 1
    assert len(attempts) <= 8


def test_a_named_failure_behind_a_nameless_one_is_mended_on_top_of_its_cure() -> None:
    room = Repair({"mem-fraction-static": 0.8}, why="the sums", origin="memory", cost=0.5)

    def engine(candidate: Candidate) -> Diagnosis | None:
        if candidate.choice["comm"] is not None:
            return unnamed("first", "pools")
        full = candidate.settings.flags.get("mem-fraction-static") is None
        found = cause("oom.gpu.graph_capture", blames=("mem-fraction-static",), phase="capture")
        return diagnosis(found, room) if full else None

    attempts, _ = played(BOOK, engine, WITH_AREAS)

    assert attempts[-1].settings.flags["mem-fraction-static"] == 0.8
    assert len(attempts) == 3


def test_what_alters_answers_is_not_among_what_is_left_away_together() -> None:
    altering = Repair(unset=("kv-cache-dtype",), why="the cache", origin="signature", cost=3.0, alters_answers=True)
    book = replace(BOOK, flags={**BOOK.flags, "kv-cache-dtype": "fp8_e4m3"})

    attempts = run(lambda _: True, book, unnamed("garbage", "serving", "numerics.garbage", altering))
    first = next(i for i, a in enumerate(attempts) if a.alters_answers)

    assert off(attempts[first]) == set()
    assert set(NAMES) in map(off, attempts[:first])


def test_where_no_lever_is_to_blame_that_is_seen_in_about_a_dozen_launches() -> None:
    book = replace(BOOK, flags={**BOOK.flags, "moe-runner-backend": "x"})

    def engine(candidate: Candidate) -> Diagnosis | None:
        return unnamed() if candidate.settings.flags.get("moe-runner-backend") == "x" else None

    attempts, _ = played(book, engine, WITH_AREAS)

    assert attempts[-1].outcome == "healthy"
    assert not off(attempts[-1])
    assert len(attempts) <= 15


def test_a_failure_that_names_a_flag_is_not_searched_for_among_the_others() -> None:
    named: Cause = cause("kernel.no_image", blames=("cuda-graph-max-bs",), phase="capture")

    attempts = run(lambda on: on["graphs"] is not None, found=diagnosis(named))

    assert [off(a) for a in attempts] == [set(), {"graphs"}]


SPEC = lever("spec", variant({"speculative-algorithm": "NEXTN", "speculative-num-steps": 3}), "off")
LAID_OUT = {**KNOWLEDGE.facts, "tp-size": FlagFact("tp-size", ladder=(8, 4, 2), unsuspected=True)}
AWAY = Repair(unset=("speculative-algorithm", "speculative-num-steps"), why="away", origin="signature", cost=6.0)


def test_a_failure_that_names_nothing_is_laid_on_no_part_of_a_lever_and_not_on_how_the_work_is_laid_out() -> None:
    world = replace(WITH_AREAS, knowledge=replace(WITH_AREAS.knowledge, facts=LAID_OUT))
    book = playbook(SPEC, protect_flags=frozenset())

    attempts, found = played(book, lambda _: unnamed("print", "capture", "unknown", AWAY), world)

    assert isinstance(found.step, Exhausted)
    assert all(a.settings.flags["tp-size"] == 8 for a in attempts)
    assert all(a.settings.flags.get("speculative-num-steps", 3) == 3 for a in attempts)
    assert len(attempts) <= 4


def test_once_every_lever_was_off_in_vain_halves_of_them_are_not_tried() -> None:
    least = lever("attention", variant({"attention-backend": "fa3"}), variant({"attention-backend": "triton"}))
    book = replace(BOOK, levers=(*BOOK.levers, least))

    attempts = run(lambda _: True, replace(book, budget=Budget(attempts=20)))
    all_off = [i for i, a in enumerate(attempts) if off(a) == set(NAMES)]

    assert len(all_off) >= 2
    assert attempts[all_off[0]].choice["attention"] != attempts[all_off[1]].choice["attention"]
    assert not any(len(off(a)) > 1 for a in attempts[all_off[0] + 1 : all_off[1]])


@pytest.mark.parametrize("guilty", ["moe-runner-backend", "mamba-scheduler-strategy"])
def test_what_is_set_beside_the_levers_is_found_to_blame_without_a_word_and_every_lever_is_kept(guilty: str) -> None:
    book = replace(BOOK, flags={**BOOK.flags, "moe-runner-backend": "x", "mamba-scheduler-strategy": "extra_buffer"})

    def engine(candidate: Candidate) -> Diagnosis | None:
        return unnamed() if guilty in candidate.settings.flags else None

    attempts, _ = played(book, engine, WITH_AREAS)

    assert len(attempts) <= 12
    assert off(attempts[-1]) == set()
    assert [r.unset for r in attempts[-1].changes] == [(guilty,)]
