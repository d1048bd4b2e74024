import importlib.util
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from relight.attempts.patience import Patience, Pulse, read_patience
from relight.attempts.signs import Process, Signs
from relight.config import shipped
from relight.words.errors import UsageError

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "patience.py"


@pytest.fixture(scope="module")
def patience() -> Patience:
    return read_patience((shipped.engine() / "patience.toml").read_text())


def look(
    at: float, *, cpu: float = 0.0, io: int = 0, rss: int = 1 << 30, command: str = "sglang::scheduler_TP0"
) -> Signs:
    return Signs(at, {7: Process(7, "S", command, cpu, io, rss)}, {0: 500})


def pulse(patience: Patience, phase: str, **history: float) -> Pulse:
    begun = Pulse(patience, began=0.0, history=history)
    begun.hear(0.0, "it begins", phase)
    begun.look(look(0.0))
    return begun


def test_a_phase_may_be_silent_for_its_patience_and_no_longer(patience: Patience) -> None:
    start = pulse(patience, "capture")

    assert start.assess(200).state == "going"
    assert start.assess(400).state == "slow"
    assert start.assess(601).state == "hung"


def test_every_new_line_renews_the_patience(patience: Patience) -> None:
    start = pulse(patience, "capture")
    start.hear(500, "Capture target decode CUDA graph end.", "capture")

    assert start.assess(1000).state != "hung"


def test_a_heartbeat_line_is_no_news(patience: Patience) -> None:
    start = pulse(patience, "init_dist")
    for second in range(0, 600, 20):
        start.hear(second, f"still waiting after {second} s", "init_dist")

    assert start.assess(600).state == "hung"


def test_a_bar_that_moves_is_news_and_one_that_stands_is_not(patience: Patience) -> None:
    moving, standing = pulse(patience, "capture"), pulse(patience, "capture")
    for second in range(0, 3000, 300):
        moving.hear(second, f"Capturing batches: {second // 30}%| | {second // 300}/10 [{second} s]", "capture")
        standing.hear(second, f"Capturing batches: 0%| | 0/10 [{second} s]", "capture")

    assert moving.assess(3000).state != "hung"
    assert standing.assess(3000).state == "hung"


@pytest.mark.parametrize(
    ("phase", "later"),
    [
        ("load_weights", look(590, io=500 << 20)),
        ("load_weights", look(590, rss=2 << 30)),
        ("load_weights", Signs(590, look(590).processes, {0: 9000})),
        ("autotune", Signs(590, {**look(590).processes, 9: Process(9, "R", "/usr/local/cuda/bin/cicc -x", 400.0)})),
        ("args", look(590, cpu=300.0)),
        ("load_weights", Signs(590, {7: replace(look(590).processes[7], state="D", faults=900)}, {0: 500})),
        (
            "capture",
            Signs(590, {**look(590).processes, 9: Process(9, "R", "python compile_worker/__main__.py", 500.0)}),
        ),
        ("capture", Signs(590, look(590, cpu=500.0).processes, {0: 500}, {}, {0: 0.0})),
        ("jit", Signs(590, look(590, cpu=500.0).processes, {0: 500}, {0: 420.0}, {0: 100.0})),
    ],
)
def test_a_sign_of_life_keeps_a_silent_start_alive(patience: Patience, phase: str, later: Signs) -> None:
    start = pulse(patience, phase)
    start.look(later)

    assert start.assess(700).state == "slow"


@pytest.mark.parametrize(
    "later",
    [
        look(590, cpu=590.0),
        look(590, io=4000),
        Signs(590, {**look(590).processes, 9: Process(9, "S", "/usr/local/cuda/bin/cicc -x", 0.4)}),
    ],
    ids=["ranks that spin", "a little traffic", "a compiler that waits"],
)
def test_what_a_dead_lock_shows_too_is_no_sign_of_life(patience: Patience, later: Signs) -> None:
    start = pulse(patience, "load_weights")
    start.look(later)

    assert start.assess(700).state == "hung"


def waiting(at: float, *, watts: float = 95.0, use: float = 100.0, command: str = "sglang::scheduler_TP0") -> Signs:
    return Signs(at, look(at, cpu=at, command=command).processes, {0: 500}, {0: watts}, {0: use})


def told(patience: Patience, phase: str, looks: Iterable[Signs]) -> float | None:
    """Return when the start was called hung."""
    start = pulse(patience, phase)
    for each in looks:
        start.look(each)
        if start.assess(each.at).state == "hung":
            return each.at
    return None


def test_the_use_of_a_card_that_varies_is_life_and_full_use_is_none(patience: Patience) -> None:
    varies = (waiting(t, use=20 + 60 * (t // 10 % 2)) for t in range(10, 3000, 10))
    full = (waiting(t, watts=95 + 8 * (t // 10 % 2)) for t in range(10, 3000, 10))

    assert told(patience, "autotune", varies) is None
    assert told(patience, "autotune", full) == 610


@pytest.mark.parametrize(("watts", "use"), [(95.0, 0.0), (430.0, 100.0)], ids=["an idle card", "a hot card"])
def test_what_may_be_work_or_waiting_is_believed_for_half_an_hour(patience: Patience, watts: float, use: float) -> None:
    looks = [waiting(t, watts=watts, use=use) for t in range(10, 5000, 10)]

    assert 1800 < (told(patience, "capture", looks) or 0) <= 1800 + 610
    assert told(patience, "init_dist", looks) == 190


def test_a_busy_process_beside_ranks_without_names_may_be_a_rank(patience: Patience) -> None:
    spins = (waiting(t, command="python -c from multiprocessing.spawn import spawn_main") for t in range(10, 5000, 10))

    assert told(patience, "capture", spins) == 610


def test_memory_that_goes_up_and_down_does_not_count_for_ever(patience: Patience) -> None:
    start = pulse(patience, "load_weights")
    for n in range(1, 100):
        start.look(look(n * 10.0, rss=(1 + n % 2) << 30))

    assert start.assess(990).state == "hung"


def test_this_hosts_own_history_prolongs_the_patience_up_to_a_limit(patience: Patience) -> None:
    assert pulse(patience, "load_weights", load_weights=700).assess(1500).state == "slow"
    assert pulse(patience, "load_weights", load_weights=90000).assess(7300).state == "hung"


def test_where_nothing_can_be_seen_the_patience_is_longer(patience: Patience) -> None:
    start = Pulse(patience, began=0.0)
    start.hear(0.0, "it begins", "pools")

    assert start.assess(500).state == "slow"
    assert start.assess(541).state == "hung"


def test_cards_that_only_wait_are_called_before_the_patience_ends(patience: Patience) -> None:
    start = pulse(patience, "init_dist")
    for second in range(10, 150, 10):
        start.look(Signs(second, look(second).processes, {0: 500}, {0: 91.0}, {0: 100.0}))

    assert start.assess(150).state == "hung"


def test_silences_of_a_good_start_are_kept_for_the_next(patience: Patience) -> None:
    start = pulse(patience, "load_weights")
    start.hear(320, "Load weight end.", "pools")

    assert start.silences["load_weights"] == 320


def test_a_wrong_patience_file_is_named() -> None:
    with pytest.raises(UsageError, match="missing key 'life'"):
        read_patience("default = 1")


def test_hangs_are_called_and_slow_starts_left_alone(patience: Patience) -> None:
    spec = importlib.util.spec_from_file_location("benchmark_patience", BENCHMARK)
    assert spec
    assert spec.loader
    benchmark = importlib.util.module_from_spec(spec)
    sys.modules["benchmark_patience"] = benchmark
    spec.loader.exec_module(benchmark)

    missed, alarms, _ = benchmark.measure(3, patience, hangs=20, slow=15)

    assert (missed, alarms) == ([], [])
