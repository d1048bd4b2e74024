"""What is given up: as little as the failure asks for, and nothing on the way to something worse."""

from dataclasses import replace

import pytest

from relight.planning.settings import lever_states
from relight.words.area import Areas
from relight.words.diagnosis import Diagnosis
from relight.words.knowledge import FlagFact, Rename
from relight.words.parser import HostParser, ParserFlag
from relight.words.settings import Repair, Settings
from relight.words.signature import Remedy, Signature
from relight.words.step import Candidate, Exhausted
from tests.planning.situations import (
    FACTS,
    KNOWLEDGE,
    PARSER,
    WORLD,
    cause,
    diagnosis,
    lever,
    playbook,
    played,
    variant,
)

NEWER = HostParser(
    (
        *(f for f in PARSER if f.name != "mamba-scheduler-strategy"),
        ParserFlag(("mamba-radix-cache-strategy",), "mamba_radix_cache_strategy", default="auto"),
    ),
    "0.5.23",
)
RENAMED = Rename("mamba-scheduler-strategy", {"mamba-radix-cache-strategy": "{value}"}, since="0.5.20")
COMM = lever("comm", variant({"enable-mscclpp": True}), "off")
PREFIX = lever("prefix", variant({"mamba-scheduler-strategy": "extra_buffer"}), "off")


def test_a_lever_whose_first_flag_has_another_name_here_is_renamed_and_kept() -> None:
    world = replace(WORLD, parser=NEWER, knowledge=replace(KNOWLEDGE, renames=(RENAMED,)))
    book = playbook(PREFIX)

    attempts, _ = played(book, lambda _: None, world)
    last = attempts[-1]
    (state,) = lever_states(book, last.choice, last.settings, NEWER, (RENAMED,))

    assert [a.rung for a in attempts if a.launched] == ["real"]
    assert last.settings.flags["mamba-radix-cache-strategy"] == "extra_buffer"
    assert (state.kept, state.changed) == (1, ("mamba-scheduler-strategy",))


def test_a_flag_that_is_given_another_value_under_its_new_name_does_not_keep_the_lever() -> None:
    settings = Settings({"mamba-radix-cache-strategy": "no_buffer"})

    (state,) = lever_states(playbook(PREFIX), {"prefix": 1}, settings, NEWER, (RENAMED,))

    assert state.kept is None


def test_flags_of_another_version_are_renamed_where_the_parser_cannot_be_asked() -> None:
    book = playbook(PREFIX, flags={"cuda-graph-max-bs": 64})
    world = replace(WORLD, parser=None, knowledge=replace(KNOWLEDGE, renames=(RENAMED,)))
    names = {"cuda-graph-max-bs": "cuda-graph-max-bs-decode", "mamba-scheduler-strategy": "mamba-radix-cache-strategy"}

    def engine(candidate: Candidate) -> Diagnosis | None:
        bad = {n: v for n, v in candidate.settings.flags.items() if n in names}
        renamed = [Repair({names[n]: v}, (n,), why="renamed", origin="message", cost=0.0) for n, v in bad.items()]
        dropped = [Repair(unset=(n,), why="gone", origin="message", cost=1.0) for n in bad]
        return diagnosis(cause("args.unrecognized"), *renamed, *dropped) if bad else None

    attempts, _ = played(book, engine, world)

    assert [a.outcome for a in attempts] == ["crashed", "healthy"]
    assert attempts[-1].choice == {"prefix": 1}
    assert set(names.values()) <= attempts[-1].settings.flags.keys()


def test_what_ran_out_of_memory_is_not_tried_with_less_room_still() -> None:
    weights = Signature("weights", "t", "oom.gpu.weights", remedies=(Remedy(scale={"tp-size": 2}),))
    facts = {**FACTS, "tp-size": FlagFact("tp-size", ladder=(8, 4, 2, 1), cost=8.0)}
    world = replace(WORLD, knowledge=replace(KNOWLEDGE, facts=facts, signatures=(weights,)))
    book = playbook(COMM, flags={"tp-size": 2}, protect_flags=frozenset())
    seen: list[object] = []

    def engine(candidate: Candidate) -> Diagnosis | None:
        seen.append(candidate.settings.flags.get("tp-size"))
        more = Repair(set={"tp-size": 4}, why="more cards", origin="signature", cost=3)
        found = cause("oom.gpu.weights", blames=("tp-size",), signature="weights")
        return diagnosis(found, more)

    played(book, engine, world, most=400)

    assert 1 not in seen[:3]
    assert 4 in seen


def test_levers_that_weights_do_not_depend_on_are_no_options_where_these_do_not_fit() -> None:
    blames = ("tp-size", "quantization", "cpu-offload-gb")
    offload = ParserFlag(("cpu-offload-gb",), "cpu_offload_gb", "int")
    host = replace(WORLD, parser=replace(PARSER, flags=(*PARSER.flags, offload)))
    levers = [lever(n, variant({n: True}), "off") for n in ("enable-mscclpp", "enable-torch-symm-mem")]

    def engine(candidate: Candidate) -> Diagnosis | None:
        spilled = int(str(candidate.settings.flags.get("cpu-offload-gb", 0)))
        found = cause("oom.gpu.weights", blames=blames, confidence=0.95, phase="load_weights")
        more = Repair(set={"cpu-offload-gb": spilled + 48}, why="more", origin="signature", cost=8)
        return diagnosis(found, *((more,) if spilled < 480 else ()))

    attempts, last = played(playbook(*levers), engine, host)

    assert isinstance(last.step, Exhausted)
    moved = [a for a in attempts if a.choice != attempts[0].choice]
    assert len(moved) <= 1


LATE = replace(KNOWLEDGE, areas=Areas(late=("numerics.*", "hang.*")))
STEPS = ("speculative-algorithm", "speculative-num-steps", "speculative-num-draft-tokens")
DRAFTS = lever(
    "speculation",
    variant(dict(zip(STEPS, ("NEXTN", 3, 4), strict=True))),
    variant(dict(zip(STEPS, ("NEXTN", 1, 2), strict=True))),
    "off",
    keep=5,
)
WITHOUT = Repair(unset=STEPS, why="the draft may be what is wrong", origin="signature", cost=4)


@pytest.mark.parametrize("kind", ["numerics.garbage", "hang.health"])
def test_the_next_variant_of_a_blamed_lever_comes_before_the_lever_goes(kind: str) -> None:
    def engine(candidate: Candidate) -> Diagnosis | None:
        wrong = candidate.settings.flags.get("speculative-num-steps") == 3
        return diagnosis(cause(kind, blames=("speculative-algorithm",)), WITHOUT) if wrong else None

    attempts, _ = played(playbook(DRAFTS), engine, replace(WORLD, knowledge=LATE))

    assert [a.choice["speculation"] for a in attempts] == [1, 2]


def test_a_lever_goes_where_each_of_its_variants_failed_alike() -> None:
    def engine(candidate: Candidate) -> Diagnosis | None:
        wrong = "speculative-algorithm" in candidate.settings.flags
        return diagnosis(cause("hang.health", blames=("speculative-algorithm",)), WITHOUT) if wrong else None

    attempts, _ = played(playbook(DRAFTS), engine, replace(WORLD, knowledge=LATE))

    assert len(attempts) == 3
    assert "speculative-algorithm" not in attempts[-1].settings.flags
