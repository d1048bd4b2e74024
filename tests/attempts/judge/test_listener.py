import pytest

from relight.attempts.judge.listener import Ownership, ownership
from relight.words.host import Listener


@pytest.mark.parametrize(
    ("pids", "expected"),
    [([10], "ours"), ([10, 11], "ours"), ([99], "foreign"), ([10, 99], "foreign"), ([None], "unseen"), ([], "none")],
)
def test_a_port_is_ours_only_when_nobody_else_listens_on_it(pids: list[int | None], expected: Ownership) -> None:
    listeners = [Listener(30000, "127.0.0.1", pid) for pid in pids] + [Listener(22, "0.0.0.0", 1)]  # noqa: S104

    assert ownership(listeners, 30000, {10, 11}) == expected
