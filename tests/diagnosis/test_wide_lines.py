"""A line of any width is read at once: no regex takes quadratic time on more than a few thousand characters."""

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.logs.lines import split

KNOWLEDGE = load_knowledge()
ARGV = ("--model-path", "m", "--tp", "8", "--attention-backend", "fa3")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("filling", [" ", "a", "a ", "A_", "(", "[", " --a-b", "1", "TypeError('", "not supported "])
@pytest.mark.parametrize("start", ["RuntimeError: backend ", "ValueError: --tp-size must be ", "the server crashed: "])
def test_a_very_wide_message_is_read_at_once(start: str, filling: str) -> None:
    text = start + filling * (40_000 // len(filling)) + " is not supported"

    assert diagnose(split([text.encode()]), KNOWLEDGE, name="log", argv=ARGV).log == "log"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("line", ["", "RuntimeError: invalid argument at pcie_allreduce.cu:321"])
def test_the_same_line_over_and_over_is_read_at_once(line: str) -> None:
    text = f"{line}\n" * 20_000

    assert diagnose(split([text.encode()]), KNOWLEDGE, name="log").log == "log"
