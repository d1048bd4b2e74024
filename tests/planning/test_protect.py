from dataclasses import replace

import pytest

from relight.planning.names import names_of
from relight.planning.protect import Guard, guard_of
from relight.words.diagnosis import Diagnosis
from relight.words.knowledge import FlagFact
from relight.words.parser import ParserFlag
from relight.words.settings import Change, Repair
from relight.words.step import Candidate
from tests.planning.situations import (
    KNOWLEDGE,
    PARSER,
    WORLD,
    attempt,
    cause,
    diagnosis,
    launch,
    lever,
    playbook,
    played,
    variant,
)


def guard(overrides: Change | None = None, **more: object) -> Guard:
    book = playbook(lever("spec", variant({"speculative-algo": "NEXTN"}), "off"), **more)  # type: ignore[arg-type]
    return guard_of(book, overrides or Change(), names_of(book, PARSER), KNOWLEDGE)


@pytest.mark.parametrize("name", ["model-path", "model", "port", "ssl-keyfile", "tp", "tensor-parallel-size"])
def test_what_is_always_protected_or_listed_is_refused_under_any_of_its_names(name: str) -> None:
    assert guard().refusal(Repair({name: 1})).startswith("protected")
    assert guard().refusal(Repair(unset=(name,))).startswith("protected")


def test_allow_frees_what_is_always_protected_but_not_what_the_playbook_protects() -> None:
    free = guard(allow_flags=frozenset({"port", "tp-size"}))

    assert free.refusal(Repair({"port": 1})) == ""
    assert free.refusal(Repair({"tp-size": 4})).startswith("protected")


def test_overrides_protect_what_they_name() -> None:
    held = guard(Change({"mem-frac": 0.8}, unset=("cuda-graph-max-bs",), set_env={"A": "1"}))

    assert held.refusal(Repair({"mem-fraction-static": 0.7}))
    assert held.refusal(Repair({"cuda-graph-max-bs": 8}))
    assert held.refusal(Repair(unset_env=("A",)))


def test_others_keeps_away_what_nobody_gave_but_lets_given_ones_change() -> None:
    closed = guard(protect_others=True)

    assert "was not given" in closed.refusal(Repair({"mem-fraction-static": 0.7}))
    assert "was not given" in closed.refusal(Repair(set_env={"NEW": "1"}))
    assert closed.refusal(Repair({"speculative-algorithm": "EAGLE"})) == ""


def test_a_flag_the_host_does_not_have_is_not_added() -> None:
    assert guard().refusal(Repair({"made-up": 1})) == "this engine has no --made-up"


def test_a_number_may_not_leave_its_bounds() -> None:
    assert guard().refusal(Repair({"mem-frac": 0.99})) == "--mem-frac would leave its bounds"
    assert guard().refusal(Repair({"mem-frac": 0.5})) == ""


def test_a_protected_variable_stays() -> None:
    assert guard(protect_env=frozenset({"A"})).refusal(Repair(set_env={"A": "0"})) == "protected: A"


def test_a_repair_that_is_refused_is_passed_over_for_one_that_is_not() -> None:
    found = diagnosis(
        cause("env.gpu_count", blames=("tensor-parallel-size",)),
        Repair({"tp-size": 4}, origin="message", cost=0.1),
        Repair({"mem-fraction-static": 0.8}, origin="message", cost=0.9),
    )
    book = playbook()

    candidate = launch(book, attempt(launch(book), "crashed", found))

    assert candidate.settings.flags["tp-size"] == 8
    assert candidate.settings.flags["mem-fraction-static"] == 0.8


def test_changes_that_can_alter_answers_come_last_and_are_marked() -> None:
    found = diagnosis(
        cause("oom.gpu.kv_pool", blames=("speculative-algorithm",)), Repair({"kv-cache-dtype": "fp8_e4m3"}, cost=0.0)
    )
    book = playbook(lever("spec", variant({"speculative-algorithm": "NEXTN"}), "off", keep=9))

    second = launch(book, attempt(launch(book), "crashed", found))
    third = launch(
        book, attempt(launch(book), "crashed", found), attempt(second, "crashed", diagnosis(cause("unknown")))
    )

    assert second.choice == {"spec": None}
    assert not second.alters_answers
    assert third.settings.flags["kv-cache-dtype"] == "fp8_e4m3"
    assert third.alters_answers
    assert third.changes[0].alters_answers


@pytest.mark.parametrize(
    ("cards", "value", "refused"), [(8, 1008, True), (8, 16, True), (8, 8, False), (None, 16, False)]
)
def test_no_repair_asks_for_more_cards_than_there_are(cards: int | None, value: int, refused: bool) -> None:
    facts = {"tp-size": FlagFact("tp-size", cards=True), "speculative-num-steps": FlagFact("speculative-num-steps")}
    book = playbook(protect_flags=frozenset())
    held = guard_of(book, Change(), names_of(book, PARSER), replace(KNOWLEDGE, facts=facts), cards)

    assert bool(held.refusal(Repair({"tp-size": value}))) is refused
    assert held.refusal(Repair({"speculative-num-steps": value})) == ""


def test_a_start_that_lacks_cards_asks_for_fewer_until_there_are_enough() -> None:
    def engine(candidate: Candidate) -> Diagnosis | None:
        value = candidate.settings.flags["tp-size"]
        halved = Repair({"tp-size": value // 2}, why="each rank needs a GPU", origin="signature", cost=3)  # type: ignore[operator]
        return diagnosis(cause("env.gpu_count", blames=("tp-size",)), halved) if value > 4 else None  # type: ignore[operator]

    facts = {"tp-size": FlagFact("tp-size", cards=True, ladder=(8, 4, 2, 1))}
    world = replace(WORLD, knowledge=replace(KNOWLEDGE, facts=facts), gpu_count=4)
    book = playbook(
        lever("spec", variant({"speculative-algo": "NEXTN"}), "off"), protect_flags=frozenset(), flags={"tp-size": 64}
    )

    attempts, _ = played(book, engine, world)

    assert [a.settings.flags["tp-size"] for a in attempts] == [64, 4]


@pytest.mark.parametrize(("name", "refused"), [("cpu-offload-gb", True), ("chunked-prefill-size", False)])
def test_no_rank_is_given_more_host_memory_than_its_share(name: str, refused: bool) -> None:
    facts = {"cpu-offload-gb": FlagFact("cpu-offload-gb", host_memory=True)}
    world = replace(WORLD, gpu_count=8, host_gib=512.0)
    book, host = (
        playbook(),
        replace(PARSER, flags=(*PARSER.flags, ParserFlag(("cpu-offload-gb",), "cpu_offload_gb", "int"))),
    )
    held = guard_of(book, Change(), names_of(book, host), replace(KNOWLEDGE, facts=facts), 8, world.share)

    assert bool(held.refusal(Repair({name: 64}))) is refused
    assert held.refusal(Repair({name: 48})) == ""
