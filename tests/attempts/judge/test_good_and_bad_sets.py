"""A slice of benchmarks/judge.py, small enough for every run."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "judge.py"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_judge", BENCHMARK)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["benchmark_judge"] = module
    spec.loader.exec_module(module)
    return module


def test_sound_answers_raise_no_alarm_and_planted_faults_are_caught(benchmark: ModuleType) -> None:
    alarms, missed = benchmark.measure(7, goods=60, bads=60)

    assert alarms == []
    assert len(missed) <= 1, missed
