"""The story of DESIGN.md, planned step by step with given diagnoses."""

from relight.words.attempt import Attempt
from relight.words.diagnosis import Constraint
from relight.words.settings import Repair
from tests.planning.situations import attempt, cause, diagnosis, launch, lever, playbook, variant

SPECULATION = lever(
    "speculation",
    variant(
        {
            "speculative-algorithm": "NEXTN",
            "speculative-num-draft-tokens": 2,
            "speculative-eagle-topk": 1,
        },
        env={"SGLANG_ENABLE_SPEC_V2": "1"},
    ),
    "off",
    keep=3,
)
BACKEND = lever(
    "attention", variant({"attention-backend": "trtllm_mha"}), variant({"attention-backend": "flashinfer"}), "off"
)
BOOK = playbook(SPECULATION, BACKEND, flags={"mem-fraction-static": 0.9})
EXTRA_BUFFER = diagnosis(
    cause("args.conflict", blames=("speculative-algorithm", "mamba-scheduler-strategy")),
    Repair({"mamba-scheduler-strategy": "extra_buffer"}, why="the message asks for it", origin="message", cost=0.5),
    Repair({"disable-radix-cache": True}, why="the message offers it", origin="message", cost=2.0),
)
ALL_OR_NONE = diagnosis(
    cause("assertion.args"),
    Repair(unset=("speculative-eagle-topk", "speculative-num-draft-tokens"), why="none of three", origin="source"),
    Repair({"speculative-num-steps": 1}, why="all of three", origin="source", cost=1.5),
    constraint=Constraint(
        "server_args.py", 2423, "topk is None and draft tokens is None", ("num_steps is None",),
        ("speculative-num-steps", "speculative-eagle-topk", "speculative-num-draft-tokens"),
        values={"speculative_num_steps": None, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 2},
    ),
)  # fmt: skip
NO_ROOM = diagnosis(
    cause("oom.gpu.graph_capture", blames=("mem-fraction-static",), facts={"mem_fraction_high": 0.827}),
    Repair({"mem-fraction-static": 0.82}, why="P 94.6, A 39.0: at most 0.827", origin="memory", cost=0.5),
)
NO_KERNEL = diagnosis(cause("kernel.unsupported_arch", blames=("attention-backend",), phase="capture"))


def told() -> list[Attempt]:
    attempts: list[Attempt] = []
    for found in (EXTRA_BUFFER, ALL_OR_NONE, NO_ROOM, NO_KERNEL):
        attempts.append(attempt(launch(BOOK, *attempts), "crashed", found))
    return attempts


def test_the_missing_strategy_is_added_and_nothing_is_given_up() -> None:
    second = launch(BOOK, *told()[:1])

    assert second.settings.flags["mamba-scheduler-strategy"] == "extra_buffer"
    assert second.choice == {"speculation": 1, "attention": 1}


def test_a_bare_assertion_is_answered_by_its_cheapest_legal_repair_and_the_lever_stays() -> None:
    third = launch(BOOK, *told()[:2])

    assert "speculative-eagle-topk" not in third.settings.flags
    assert third.settings.flags["speculative-algorithm"] == "NEXTN"
    assert third.choice["speculation"] == 1


def test_the_other_legal_repair_comes_next_when_the_first_did_not_help() -> None:
    attempts = told()[:2]
    same_again = diagnosis(cause("engine.bug", blames=("speculative-num-steps",)), *ALL_OR_NONE.repairs)
    attempts.append(attempt(launch(BOOK, *attempts), "crashed", same_again))

    fourth = launch(BOOK, *attempts)

    assert fourth.settings.flags["speculative-num-steps"] == 1
    assert fourth.choice["speculation"] == 1


def test_memory_goes_inside_the_computed_interval_and_speculation_stays() -> None:
    fourth = launch(BOOK, *told()[:3])

    assert float(str(fourth.settings.flags["mem-fraction-static"])) <= 0.827
    assert fourth.choice["speculation"] == 1


def test_a_backend_without_a_kernel_gives_way_to_the_next_variant() -> None:
    fifth = launch(BOOK, *told())

    assert fifth.settings.flags["attention-backend"] == "flashinfer"
    assert fifth.choice == {"speculation": 1, "attention": 2}
    assert fifth.settings.flags["mamba-scheduler-strategy"] == "extra_buffer"
