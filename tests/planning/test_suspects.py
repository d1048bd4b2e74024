"""Where a failure happened says which of the levers and differences is looked at first."""

from dataclasses import replace

from relight.words.diagnosis import Cause, Diagnosis
from relight.words.settings import Settings
from relight.words.signature import Remedy, Signature
from relight.words.step import Candidate
from tests.planning.situations import (
    KNOWLEDGE,
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

COMM = lever("comm", variant({"enable-mscclpp": True}), "off")
SYMM = lever("symm", variant({"enable-torch-symm-mem": True}), "off")
EXPERTS = lever("experts", variant({"moe-runner-backend": "flashinfer_trtllm"}), variant({"moe-runner-backend": "x"}))
ATTENTION = lever("attention", variant({"attention-backend": "fa3"}), variant({"attention-backend": "triton"}))


def unnamed(*suspects: str) -> Cause:
    return cause("unknown", fingerprint="print", suspects=suspects, confidence=0.3)


def test_the_lever_that_steers_the_place_of_an_unknown_failure_goes_first() -> None:
    found = diagnosis(unnamed("moe-runner-backend"))
    book = playbook(COMM, SYMM, EXPERTS)

    again = launch(book, attempt(launch(book), "crashed", found))

    assert again.choice == {"comm": 1, "symm": 1, "experts": 2}


def test_of_what_a_kind_of_failure_blames_the_place_decides() -> None:
    blames = ("attention-backend", "moe-runner-backend")

    def engine(candidate: Candidate) -> Diagnosis | None:
        if candidate.settings.flags["moe-runner-backend"] == "x":
            return None
        return diagnosis(cause("kernel.no_image", blames=blames, suspects=("moe-runner-backend",)))

    attempts, _ = played(playbook(ATTENTION, EXPERTS), engine)

    assert [dict(a.choice) for a in attempts] == [{"attention": 1, "experts": 1}, {"attention": 1, "experts": 2}]


def test_the_way_back_to_what_is_known_to_work_begins_at_the_place_of_the_failure() -> None:
    good = Settings({"model-path": "m", "tp-size": 8, "port": 30000, "chunked-prefill-size": 2048}, {"ACME": "0"})
    asked = {
        "chunked-prefill-size": 8192,
        "cuda-graph-max-bs": 64,
        "moe-runner-backend": "x",
        "disable-radix-cache": True,
    }
    book = playbook(flags=asked)
    world = replace(WORLD, known_good=good)
    found = diagnosis(unnamed("moe-runner-backend"))

    again = launch(book, attempt(Settings({**book.flags}), "crashed", found), world=world)

    changed = {n for r in again.changes for n in (*r.names, *r.variables)}
    assert "moe-runner-backend" in changed
    assert len(changed) == 3


def test_a_variable_that_differs_from_what_is_known_to_work_is_suspected_too() -> None:
    good = Settings({"model-path": "m", "tp-size": 8, "port": 30000}, {"ACME": "0"})
    book = playbook(env={"ACME": "1"})

    again = launch(
        book,
        attempt(Settings(book.flags, book.env), "crashed", diagnosis(unnamed())),
        world=replace(WORLD, known_good=good),
    )

    assert again.settings.env == {"ACME": "0"}


def test_what_a_remedy_of_the_failure_asks_for_is_not_taken_back_for_it() -> None:
    remedy = Remedy(set={"attention-backend": "triton"})
    garbage = Signature("garbage", "t", "numerics.garbage", generic=True, remedies=(remedy,))
    world = replace(WORLD, knowledge=replace(KNOWLEDGE, signatures=(garbage,)))
    book = playbook(flags={"attention-backend": "triton", "moe-runner-backend": "x"})
    blames = ("attention-backend", "moe-runner-backend")
    found = diagnosis(cause("numerics.garbage", blames=blames, signature="garbage"))

    second = launch(book, attempt(launch(book, world=world), "sick", found), world=world)

    assert second.settings.flags["attention-backend"] == "triton"
    assert "moe-runner-backend" not in second.settings.flags
