from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relight.planning import dry
from relight.planning.equal import key
from relight.planning.plan import next_win
from relight.words.diagnosis import Constraint, Diagnosis
from relight.words.knowledge import PhasePattern
from relight.words.playbook import Playbook
from relight.words.settings import FlagValue, Repair, Settings
from relight.words.signature import Signature
from relight.words.step import Candidate, Exhausted, Launch
from tests.planning.situations import (
    BASE,
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
    record,
    variant,
)

SPEC = lever("spec", variant({"speculative-algorithm": "NEXTN"}), variant({"speculative-algorithm": "EAGLE"}), "off",
             keep=3)  # fmt: skip
COMM = lever("comm", variant({"enable-mscclpp": True}), "off", keep=0.5)
ATTENTION = lever("attention", variant({"attention-backend": "flashinfer"}), variant({"attention-backend": "triton"}))
BOOK = playbook(SPEC, COMM, ATTENTION, flags={"mem-fraction-static": 0.9})


def test_the_first_launch_is_what_the_playbook_asks_for() -> None:
    assert launch(BOOK).choice == {"spec": 1, "comm": 1, "attention": 1}


def test_a_lever_the_diagnosis_does_not_blame_is_not_dropped() -> None:
    found = diagnosis(cause("kernel.gemm", blames=("speculative-algorithm",)))

    assert launch(BOOK, attempt(launch(BOOK), "crashed", found)).choice == {"spec": 2, "comm": 1, "attention": 1}


def test_of_two_blamed_levers_the_one_worth_least_goes_first() -> None:
    found = diagnosis(cause("kernel.gemm", blames=("speculative-algorithm", "enable-mscclpp")))

    assert launch(BOOK, attempt(launch(BOOK), "crashed", found)).choice["comm"] is None


def test_unfit_variants_are_excluded_with_their_reason() -> None:
    odd = lever("odd", variant({"port": 2}, needs=("no-such",)), variant({"cuda-graph-max-bs": 8}), "off")
    found = plan(playbook(odd))

    assert isinstance(found.step, Launch)
    assert found.step.candidate.choice == {"odd": 2}
    assert ("odd: variant 1", "excluded", "needs --no-such") in [(o.change, o.status, o.why) for o in found.options]


def test_exhausted_shows_what_became_of_every_option() -> None:
    attempts, last = played(BOOK, lambda _: diagnosis(cause("kernel.no_image", blames=("tensor-parallel-size",))))

    assert isinstance(last.step, Exhausted)
    status = {o.change: o.status for o in last.step.options}
    assert status["--model-path"] == status["--tp-size"] == "protected"
    assert status["spec: variant 2"] == status["comm: off"] == status["attention: variant 2"] == "tried"
    assert "untried" not in status.values()
    assert len(attempts) < 7


def test_a_lever_without_off_always_keeps_a_variant() -> None:
    attempts, _ = played(BOOK, lambda _: diagnosis(cause("kernel.gemm", blames=("attention-backend",))))

    assert all(a.settings.flags.get("attention-backend") in {"flashinfer", "triton"} for a in attempts)


def test_nobody_says_exhausted_before_a_doubted_diagnosis_was_tested() -> None:
    def engine(candidate: Candidate) -> Diagnosis | None:
        if candidate.choice["comm"] is None:
            return None
        return diagnosis(cause("kernel.no_image", blames=("tensor-parallel-size",)))

    attempts, _ = played(BOOK, engine)

    assert attempts[-1].outcome == "healthy"


def test_an_unknown_failure_is_isolated_by_what_its_failures_have_in_common() -> None:
    def engine(candidate: Candidate) -> Diagnosis | None:
        return diagnosis(cause("unknown")) if candidate.choice["spec"] == 1 else None

    attempts, _ = played(BOOK, engine)

    assert attempts[-1].choice == {"spec": 2, "comm": 1, "attention": 1}
    assert len(attempts) <= 4


def test_a_second_run_starts_with_what_was_healthy() -> None:
    def engine(candidate: Candidate) -> Diagnosis | None:
        if candidate.choice["spec"] is not None and "mamba-scheduler-strategy" not in candidate.settings.flags:
            repair = Repair({"mamba-scheduler-strategy": "extra_buffer"}, origin="message", cost=0.5)
            return diagnosis(cause("args.conflict", blames=("speculative-algorithm",)), repair)
        return None

    first, _ = played(BOOK, engine)
    learned = plan(BOOK, *first[:-1]).nogoods
    second, _ = played(BOOK, engine, replace(WORLD, learned=learned, known_good=first[-1].settings))

    assert len(first) == 2
    assert len(second) == 1
    assert second[0].choice == first[-1].choice


def test_a_second_run_knows_the_way_out_that_the_first_was_told_of_and_did_not_go() -> None:
    repair = Repair({"mamba-scheduler-strategy": "extra_buffer"}, origin="source", cost=0.5)
    crash = attempt(
        launch(BOOK), "crashed", diagnosis(cause("args.conflict", blames=("speculative-algorithm",)), repair)
    )
    learned = plan(BOOK, crash).nogoods

    again = plan(BOOK, world=replace(WORLD, learned=learned)).step

    assert any(nogood.repairs == (repair,) for nogood in learned)
    assert isinstance(again, Launch)
    assert again.candidate.choice["spec"] == 1
    assert again.candidate.settings.flags["mamba-scheduler-strategy"] == "extra_buffer"


def test_a_dropped_lever_is_won_back_and_healthy_settings_are_restored_when_that_fails() -> None:
    book = playbook(SPEC, COMM, budget=budget(win_back=1))
    suspect = diagnosis(cause("unknown", blames=("enable-mscclpp",), confidence=0.6))
    crash = attempt(launch(book), "crashed", suspect)
    healthy = attempt(launch(book, crash), "healthy")
    # Another failure in between made the diagnosis doubtful enough for the settings not to be known to fail.
    other = replace(healthy, settings=healthy.settings.changed(Repair(unset=("tp-size",))))
    won = next_win(record(other), book, WORLD)

    assert won is not None
    assert won.candidate.choice["comm"] == 1
    restored = plan(book, crash, healthy, attempt(won.candidate, "crashed", suspect)).step
    assert isinstance(restored, Launch)
    assert restored.candidate.settings == healthy.settings
    assert next_win(record(other), replace(book, budget=budget(win_back=0)), WORLD) is None


def test_memory_bounds_of_several_failures_are_met_together() -> None:
    book = playbook(flags={"mem-fraction-static": 0.9})
    high = diagnosis(cause("oom.gpu.graph_capture", blames=("mem-fraction-static",), facts={"mem_fraction_high": 0.85}))
    low = diagnosis(cause("oom.gpu.kv_pool", blames=("mem-fraction-static",), facts={"mem_fraction_low": 0.841}))
    attempts = [attempt(launch(book), "crashed", high)]
    attempts.append(attempt(launch(book, *attempts), "crashed", low))

    third = launch(book, *attempts).settings.flags["mem-fraction-static"]

    assert float(str(attempts[1].settings.flags["mem-fraction-static"])) <= 0.85
    assert 0.841 <= float(str(third)) <= 0.85


def test_a_dry_run_shows_the_step_after_each_likely_failure() -> None:
    likely = Signature("spec-sick", "speculation fails", "kernel.gemm", blames=("speculative-algorithm",))
    foreign = Signature("lora-sick", "lora fails", "kernel.gemm", blames=("lora-paths",))
    world = replace(WORLD, knowledge=replace(KNOWLEDGE, signatures=(likely, foreign)))

    first = plan(BOOK, world=world).step
    assert isinstance(first, Launch)

    (after,) = dry.after_failure(first, (), BOOK, world)

    assert after.signature == "spec-sick"
    assert isinstance(after.step, Launch)
    assert after.step.candidate.choice["spec"] == 2


def random_engine(seed: int) -> Diagnosis:
    random = Random(seed)  # noqa: S311  a seeded generator
    names = ["speculative-algorithm", "enable-mscclpp", "attention-backend", "mem-fraction-static", "tp-size", "port"]
    blames = tuple(random.sample(names, random.randint(0, 2)))
    repairs = [
        Repair({"mem-fraction-static": round(random.uniform(0.1, 1.2), 2)}, origin="memory"),
        Repair({"port": 1}, origin="message"),
        Repair({"made-up": 1}),
        Repair(unset=("attention-backend",), origin="source"),
        Repair({"kv-cache-dtype": "fp8_e4m3"}),
    ]
    facts = {"mem_fraction_high": round(random.uniform(0.2, 0.9), 2)} if random.random() < 0.3 else {}
    found = cause("unknown", blames=blames, facts=facts, confidence=random.uniform(0.2, 1.0))
    return diagnosis(found, *random.sample(repairs, random.randint(0, 3)))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 40))
def test_for_any_failures_a_run_halts_never_repeats_and_touches_nothing_protected(seed: int, failures: int) -> None:
    count = iter(range(failures))

    attempts, last = played(
        BOOK, lambda _: random_engine(seed + n) if (n := next(count, None)) is not None else None, WORLD, most=400
    )

    keys = [key(a.settings, PARSER) for a in attempts]
    assert len(set(keys)) == len(keys)
    for tried in attempts:
        given_ = tried.settings.flags
        assert (given_["model-path"], given_["tp-size"], given_["port"]) == ("m", 8, 30000)
        assert given_["attention-backend"] in {"flashinfer", "triton"}
        assert "made-up" not in given_
        assert 0.3 <= float(str(given_.get("mem-fraction-static", 0.5))) <= 0.97
    if isinstance(last.step, Exhausted):
        assert all(o.status != "untried" or o.change.split(":")[0] not in {"spec", "comm"} for o in last.step.options)


def hidden(book: Playbook, good: dict[str, int | None]) -> None:
    attempts, _ = played(
        book, lambda c: None if all(c.choice[n] == p for n, p in good.items()) else diagnosis(cause("unknown"))
    )
    assert attempts[-1].outcome == "healthy"


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([1, 2, None]), st.sampled_from([1, None]), st.sampled_from([1, 2]))
def test_the_only_healthy_choice_is_found_without_any_diagnosis(spec: int | None, comm: int | None, at: int) -> None:
    hidden(playbook(SPEC, COMM, ATTENTION, budget=budget(attempts=500)), {"spec": spec, "comm": comm, "attention": at})


SPARE: dict[str, FlagValue] = {"attention-backend": "triton", "mem-fraction-static": 0.8}
WISHED: dict[str, FlagValue] = {
    "attention-backend": "flashinfer",
    "mem-fraction-static": 0.9,
    "chunked-prefill-size": 8192,
    "cuda-graph-max-bs": 256,
    "moe-runner-backend": "cutlass",
    "disable-radix-cache": True,
    "enable-mscclpp": True,
    "enable-torch-symm-mem": True,
}


@pytest.mark.parametrize("culprit", sorted(WISHED))
def test_an_unknown_failure_is_traced_back_to_the_fallback_by_halves(culprit: str) -> None:
    book = playbook(flags=WISHED, fallback=Settings(SPARE))

    def engine(candidate: Candidate) -> Diagnosis | None:
        sick = candidate.settings.flags.get(culprit) == WISHED[culprit]
        return diagnosis(cause("unknown", fingerprint="same")) if sick else None

    attempts, _ = played(book, engine)

    assert attempts[-1].outcome == "healthy"
    assert len(attempts) <= 1 + 4
    assert attempts[-1].settings.flags["tp-size"] == 8


def test_the_fallback_is_tried_before_a_run_is_called_exhausted() -> None:
    book = playbook(SPEC, flags=WISHED, budget=budget(attempts=500), fallback=Settings(SPARE, {"A": "1"}))

    def engine(candidate: Candidate) -> Diagnosis | None:
        works = candidate.settings.flags == {**BASE, **SPARE} and candidate.settings.env == {"A": "1"}
        return None if works else diagnosis(cause("unknown", fingerprint=str(len(candidate.settings.flags))))

    attempts, _ = played(book, engine, WORLD, most=400)

    assert attempts[-1].outcome == "healthy"


def test_a_named_failure_is_repaired_and_not_fled_to_the_fallback() -> None:
    book = playbook(flags=WISHED, fallback=Settings(SPARE))
    named = diagnosis(cause(blames=("enable-mscclpp",)), Repair(unset=("enable-mscclpp",), origin="signature", cost=1))

    attempts, _ = played(book, lambda c: named if "enable-mscclpp" in c.settings.flags else None)

    assert attempts[-1].settings.flags == {n: v for n, v in {**BASE, **WISHED}.items() if n != "enable-mscclpp"}


def test_a_condition_that_recurs_with_a_term_changed_is_known_without_that_term() -> None:
    chunks = playbook(ATTENTION, flags={"chunked-prefill-size": 16384, "mem-fraction-static": 0.9})

    def engine(candidate: Candidate) -> Diagnosis | None:
        flags = candidate.settings.flags
        if flags.get("attention-backend") == "flashinfer":
            flags_read = ("attention-backend", "chunked-prefill-size", "mem-fraction-static")
            read = Constraint("kernels.py", 20, "backend is not flashinfer", flags=flags_read, opaque=("arch",))
            smaller = Repair({"chunked-prefill-size": 8192}, origin="source", cost=0.1)
            less = Repair({"mem-fraction-static": 0.8}, origin="source", cost=0.1)
            return diagnosis(cause("assertion.backend", fingerprint="line 20"), smaller, less, constraint=read)
        return None

    attempts, _ = played(chunks, engine)

    assert attempts[-1].outcome == "healthy"
    assert sum(a.settings.flags.get("attention-backend") == "flashinfer" for a in attempts) <= 3


def test_what_an_attempt_changed_to_get_past_a_nameless_failure_is_not_put_back() -> None:
    book = playbook(COMM, ATTENTION, SPEC, flags={"mem-fraction-static": 0.9, "chunked-prefill-size": 8192})
    phases = ("args", "init_dist", "load_weights", "pools", "capture")
    known = replace(KNOWLEDGE, phases=tuple(PhasePattern(p, p, "begin", "x") for p in phases))

    def engine(candidate: Candidate) -> Diagnosis | None:
        flags = candidate.settings.flags
        if "enable-mscclpp" in flags:
            return diagnosis(cause("engine.bug", fingerprint="pool", phase="init_dist", signature=None))
        if flags.get("attention-backend") == "flashinfer":
            return diagnosis(cause("engine.bug", fingerprint="kernel", phase="capture", signature=None))
        return None

    attempts, _ = played(book, engine, replace(WORLD, knowledge=known))

    first_without = next(i for i, a in enumerate(attempts) if "enable-mscclpp" not in a.settings.flags)
    assert attempts[-1].outcome == "healthy"
    assert all("enable-mscclpp" not in a.settings.flags for a in attempts[first_without:])
