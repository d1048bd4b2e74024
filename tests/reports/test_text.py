from collections.abc import Callable

import pytest
from tests.reports.more_stories import STORIES

from relight.reports import text


@pytest.mark.parametrize("name", STORIES)
def test_the_text_of_a_story_is_the_golden_one(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"report-{name}.txt", text.render(STORIES[name]()))
