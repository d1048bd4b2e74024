"""A source file is believed only where it still holds the line that the traceback printed."""

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis.diagnose import diagnose
from relight.diagnosis.wants import changed
from relight.logs.lines import Line
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


SOURCE = """\
class ServerArgs:
    def _check(self):
        if self.speculative_num_steps is None:
            assert self.speculative_eagle_topk is None
"""
LOG = """\
Traceback (most recent call last):
  File "/x/site-packages/sglang/srt/server_args.py", line 4, in _check
    assert self.speculative_eagle_topk is None
AssertionError
"""


@pytest.mark.parametrize(
    ("argv", "told"), [((), {}), (("--speculative-eagle-topk", "4"), {"speculative-eagle-topk": 4})]
)
def test_without_the_command_nothing_is_said_of_values(argv: tuple[str, ...], told: dict[str, object]) -> None:
    lines = [Line(n, 0, text) for n, text in enumerate(LOG.splitlines(), 1)]
    sources = {"/x/site-packages/sglang/srt/server_args.py": SOURCE}

    found = diagnose(lines, load_knowledge(), name="server.log", argv=argv, sources=sources)

    assert found.constraint
    assert found.constraint.excerpt
    assert {k: v for k, v in found.constraint.values.items() if k == "speculative-eagle-topk"} == told
    assert any(repair.origin == "source" for repair in found.repairs) == bool(argv)
