"""A backend without kernels for the host's cards is not chosen while another way is open."""

from dataclasses import replace
from re import search

import pytest

from relight.config.knowledge import load_knowledge
from relight.words.diagnosis import Diagnosis
from relight.words.platform import Card
from relight.words.settings import Repair
from relight.words.step import Candidate, Launch
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

CARD = Card("SM120", (r"RTX PRO \d{4}",), {"attention-backend": ("fa3", "trtllm_mha")})
PRO = replace(WORLD, knowledge=replace(KNOWLEDGE, cards=(CARD,)), gpu_names=("NVIDIA RTX PRO 6000 Blackwell",))
ATTENTION = lever(
    "attention",
    variant({"attention-backend": "flashinfer"}),
    variant({"attention-backend": "trtllm_mha"}),
    variant({"attention-backend": "triton"}),
)
NO_KERNEL = diagnosis(cause("kernel.no_image", blames=("attention-backend",)))


def test_the_variant_that_the_cards_have_kernels_for_comes_before_a_better_one() -> None:
    book = playbook(ATTENTION)
    failed = attempt(launch(book, world=PRO), "crashed", NO_KERNEL)

    assert launch(book, failed, world=PRO).choice == {"attention": 3}
    assert launch(book, failed).choice == {"attention": 2}


def test_what_the_playbook_asks_for_is_launched_whatever_is_known_of_the_cards() -> None:
    book = playbook(lever("attention", variant({"attention-backend": "fa3"}), variant({"attention-backend": "triton"})))

    assert launch(book, world=PRO).choice == {"attention": 1}


def test_a_repair_that_asks_for_what_the_cards_lack_comes_after_the_others() -> None:
    there = Repair({"attention-backend": "triton"}, why="t", origin="signature", cost=2.0)
    lacking = Repair({"attention-backend": "trtllm_mha"}, why="m", origin="signature", cost=1.0)
    book = playbook(flags={"attention-backend": "flashinfer"})
    found = replace(NO_KERNEL, repairs=(lacking, there))

    second = launch(book, attempt(launch(book, world=PRO), "crashed", found), world=PRO)

    assert second.settings.flags["attention-backend"] == "triton"


def test_what_the_cards_are_said_to_lack_is_tried_before_the_run_is_over() -> None:
    def engine(candidate: Candidate) -> Diagnosis | None:
        return None if candidate.choice["attention"] == 2 else NO_KERNEL

    attempts, _ = played(playbook(ATTENTION), engine, PRO)

    assert [a.choice["attention"] for a in attempts] == [1, 3, 2]


def test_what_is_known_of_cards_is_no_lesson_of_a_run() -> None:
    book = playbook(ATTENTION)
    found = plan(book, attempt(launch(book, world=PRO), "crashed", NO_KERNEL), world=PRO)

    assert isinstance(found.step, Launch)
    assert not any("trtllm_mha" in nogood.when for nogood in found.nogoods)


@pytest.mark.parametrize("names", [(), ("NVIDIA H100 80GB HBM3",), ("NVIDIA RTX PRO 6000", "NVIDIA H100 80GB HBM3")])
def test_cards_of_another_or_of_several_kinds_say_nothing(names: tuple[str, ...]) -> None:
    book, world = playbook(ATTENTION), replace(PRO, gpu_names=names)

    assert launch(book, attempt(launch(book, world=world), "crashed", NO_KERNEL), world=world).choice == {
        "attention": 2
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "SM120"),
        ("NVIDIA GeForce RTX 5090", "SM120"),
        ("NVIDIA B200", "SM100"),
        ("NVIDIA GB300", "SM100"),
        ("NVIDIA H100 80GB HBM3", "SM90"),
        ("NVIDIA GH200 480GB", "SM90"),
        ("NVIDIA A100-SXM4-80GB", "SM80 to SM89"),
        ("NVIDIA L40S", "SM80 to SM89"),
        ("NVIDIA GeForce RTX 4090", "SM80 to SM89"),
        ("NVIDIA RTX 6000 Ada Generation", "SM80 to SM89"),
    ],
)
def test_each_card_is_of_one_kind(name: str, kind: str) -> None:
    cards = load_knowledge().cards

    assert [card.name for card in cards if any(search(word, name) for word in card.words)] == [kind]


def test_what_cards_lack_are_values_of_the_engine() -> None:
    knowledge = load_knowledge()
    known = {(n, v) for p in knowledge.versions.values() for f in p for n in f.names for v in f.choices}

    named = {(flag, value) for card in knowledge.cards for flag, values in card.lacks.items() for value in values}

    assert named <= known
