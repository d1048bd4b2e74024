"""The conditions of faults."""

import pytest

from relight.lab.box.sglang.srt.stand_in.world import holds

VALUES = {"tp-size": 8, "mem-fraction-static": 0.9, "kv-cache-dtype": "auto", "trust-remote-code": False, "x": None}


@pytest.mark.parametrize(
    ("condition", "held"),
    [
        ("tp-size == 8", True),
        ("tp-size == 8.0", True),
        ("tp-size != 8", False),
        ("mem-fraction-static >= 0.90", True),
        ("mem-fraction-static > 0.9", False),
        ("mem-fraction-static < 0.95", True),
        ("kv-cache-dtype in auto bf16", True),
        ("kv-cache-dtype in fp8_e4m3 fp8_e5m2", False),
        ("trust-remote-code is unset", True),
        ("trust-remote-code == false", True),
        ("x is unset", True),
        ("x > 3", False),
        ("never-heard-of is set", False),
        ("env:LAB_TEST_VARIABLE == 1", True),
        ("env:LAB_TEST_OTHER is unset", True),
        ("env:LAB_TEST_OTHER != 1", True),
    ],
)
def test_a_condition_compares_values_as_they_are_meant(
    condition: str, held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_TEST_VARIABLE", "1")
    monkeypatch.delenv("LAB_TEST_OTHER", raising=False)

    assert holds((condition,), VALUES) is held


def test_all_conditions_must_hold() -> None:
    assert holds(("tp-size == 8", "x is unset"), VALUES)
    assert not holds(("tp-size == 8", "x is set"), VALUES)
    assert holds((), VALUES)
