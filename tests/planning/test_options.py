"""The table of options: what it says holds of the settings that stand."""

from relight.planning.plan import options_now
from relight.words.attempt import Attempt, Option
from relight.words.playbook import Playbook
from relight.words.settings import Repair, Settings
from relight.words.step import Candidate, Exhausted, Spent
from tests.planning.situations import (
    WORLD,
    budget,
    cause,
    diagnosis,
    lever,
    plan,
    playbook,
    played,
    record,
    variant,
)

ATTENTION = lever("attention", variant({"attention-backend": "flashinfer"}), variant({"attention-backend": "triton"}))
EXPERTS = lever("experts", variant({"moe-runner-backend": "trtllm"}), variant({"moe-runner-backend": "cutlass"}), "off")
COMM = lever("comm", variant({"enable-mscclpp": True}), "off", keep=0.5)
BOOK = playbook(ATTENTION, EXPERTS, COMM, flags={"mem-fraction-static": 0.9})
NO_ATTENTION = diagnosis(
    cause("assertion.backend", blames=("attention-backend",)), Repair(set={"attention-backend": "triton"}, why="works")
)
NO_EXPERTS = diagnosis(
    cause("kernel.unsupported_arch", blames=("moe-runner-backend",)),
    Repair(set={"moe-runner-backend": "cutlass"}, why="has kernels"),
    Repair(set={"moe-runner-backend": "triton"}, why="runs everywhere"),
)


def engine(candidate: Candidate) -> object:
    """Fail at the backend of attention, then at that of the experts."""
    flags = candidate.settings.flags
    if flags["attention-backend"] == "flashinfer":
        return NO_ATTENTION
    return NO_EXPERTS if flags.get("moe-runner-backend") == "trtllm" else None


def told(book: Playbook, attempts: list[Attempt]) -> dict[str, Option]:
    options = options_now(record(*attempts), book, WORLD)
    assert len({o.change for o in options}) == len(options)
    return {o.change: o for o in options}


def test_a_healthy_run_calls_excluded_only_what_fails_with_the_healthy_settings() -> None:
    attempts, _ = played(BOOK, engine)  # type: ignore[arg-type]

    options = told(BOOK, attempts)

    # Attempt 1 failed whatever the other levers were; with the attention that is healthy nothing speaks against them.
    assert attempts[-1].outcome == "healthy"
    assert options["comm: off"].status == options["experts: off"].status == "untried"
    assert options["--moe-runner-backend triton"].status == "untried"
    assert options["attention: variant 1"] == Option("attention: variant 1", "tried", "attempt 1: assertion.backend")
    assert options["experts: variant 2"].why == f"in the healthy settings, since attempt {len(attempts)}"


def test_what_is_known_to_fail_with_the_healthy_settings_is_excluded_with_that() -> None:
    more = Repair(set={"mem-fraction-static": 0.95}, why="room for the pool")
    facts = {"mem_fraction_static_high": 0.85}

    def full(candidate: Candidate) -> object:
        above = float(candidate.settings.flags["mem-fraction-static"]) > 0.85  # type: ignore[arg-type]
        found = cause("oom.gpu.activation", blames=("mem-fraction-static",), facts=facts)
        return (
            diagnosis(found, Repair(set={"mem-fraction-static": 0.8}, why="sums", origin="memory"), more)
            if above
            else None
        )

    attempts, _ = played(BOOK, full)  # type: ignore[arg-type]

    option = told(BOOK, attempts)["--mem-fraction-static 0.95"]
    assert option.status == "excluded"
    assert "--mem-fraction-static >= 0.85" in option.why


def test_what_comes_next_is_not_excluded_where_the_budget_is_spent() -> None:
    book = playbook(ATTENTION, EXPERTS, COMM, budget=budget(attempts=2))
    attempts, last = played(book, engine)  # type: ignore[arg-type]

    options = told(book, attempts)

    assert isinstance(last.step, Spent)
    assert options["experts: variant 2"].status == "untried"
    assert options["comm: off"].status == "untried"
    assert options["comm: off"].why.startswith("by itself it does not mend attempt 2: --moe-runner-backend = trtllm")


def test_a_repair_that_moves_a_lever_is_told_with_the_lever() -> None:
    attempts, _ = played(BOOK, engine)  # type: ignore[arg-type]

    options = told(BOOK, attempts)

    assert "--attention-backend triton" not in options
    assert "--moe-runner-backend cutlass" not in options
    assert "--mem-fraction-static" in options


def test_a_repair_is_told_without_what_the_settings_hold_already() -> None:
    both = Repair(set={"cuda-graph-max-bs": 8}, set_env={"SGLANG_X": "1"}, why="message")
    one = Repair(set={"cuda-graph-max-bs": 8}, why="signature")
    found = diagnosis(cause("oom.gpu.graph_capture", blames=("cuda-graph-max-bs",)), both, one)
    given = Settings({"cuda-graph-max-bs": 64}, {"SGLANG_X": "1"})
    failed = Attempt(1, "real", given, outcome="crashed", diagnosis=found)

    options = told(playbook(flags={"cuda-graph-max-bs": 64}, env={"SGLANG_X": "1"}), [failed])

    assert [change for change in options if "cuda-graph" in change] == ["--cuda-graph-max-bs 8"]


def test_a_variant_that_a_repair_undid_was_not_tried_by_it() -> None:
    undone = Attempt(
        1,
        "real",
        Settings({"enable-mscclpp": True, "attention-backend": "triton"}),
        changes=(Repair(set={"attention-backend": "triton"}),),
        choice={"attention": 1, "experts": None, "comm": 1},
        outcome="healthy",
    )

    options = told(BOOK, [undone])

    assert options["attention: variant 2"].why == "in the healthy settings, since attempt 1"
    assert options["attention: variant 1"].status == "untried"


def test_a_proof_leaves_nothing_untried() -> None:
    found = plan(BOOK)
    attempts, last = played(BOOK, lambda _: diagnosis(cause("kernel.no_image", blames=("tensor-parallel-size",))))

    assert found.options
    assert isinstance(last.step, Exhausted)
    assert {o.status for o in last.options} <= {"tried", "excluded", "protected"}
    assert last.options == last.step.options
    assert attempts
