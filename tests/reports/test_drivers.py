"""The CUDA of a driver beside that of the engine."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from relight.reports.drivers import driver_and_build
from relight.words.diagnosis import Cause
from tests.reports.more_stories import STORIES

CAUSE = Cause("env", "env.driver", "driver-too-old", "aa", 3, "too old", None, None, 0.9, "too old", {"found": 12040})
CARD = {"name": "card", "memory_total": 1, "memory_used": 0, "driver": "550.54.15"}


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (
            {"gpus": [CARD], "built_for_cuda": "12.8"},
            "The driver (550.54.15) supports CUDA up to 12.4; the engine's PyTorch is built for CUDA 12.8.",
        ),
        (
            {"built_for_cuda": None},
            "The driver supports CUDA up to 12.4; what the engine's PyTorch is built for is not",
        ),
    ],
)
def test_both_versions_stand_in_one_sentence(environment: Mapping[str, Any], said: str) -> None:
    assert driver_and_build(CAUSE, replace(STORIES["person"](), environment=environment)).startswith(said)


def test_no_driver_is_spoken_of_for_other_causes_or_without_a_version() -> None:
    bare = replace(STORIES["person"](), environment={})

    assert driver_and_build(replace(CAUSE, kind="env.disk"), bare) == ""
    assert driver_and_build(replace(CAUSE, facts={}), bare) == ""
