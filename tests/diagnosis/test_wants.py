"""A source file is believed only where it still holds the line that the traceback printed."""

import pytest

from relight.diagnosis.wants import changed
from relight.words.diagnosis import Frame

TEXT = "def f(self):\n    assert self.tp_size > 0, 'a message that a log may well wrap at some column'\n"


@pytest.mark.parametrize(
    ("line", "printed", "differs"),
    [
        (2, "assert self.tp_size > 0, 'a message that a log may well", False),
        (2, "", False),
        (2, "assert self.pp_size > 0", True),
        (1, "assert self.tp_size > 0", True),
        (9, "assert self.tp_size > 0", True),
    ],
)
def test_a_file_that_was_changed_since_the_crash_is_noticed(line: int, printed: str, differs: bool) -> None:
    assert changed(Frame("/x/sglang/a.py", line, "f", printed), TEXT) is differs
