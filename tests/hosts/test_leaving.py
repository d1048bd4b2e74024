"""What a relight holds on a host is free soon after it is gone, however it went."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from relight.hosts.agent.locks import LEFT
from relight.hosts.remote import AgentHost
from relight.hosts.values import LaunchOrder, Owner
from relight.words.errors import BusyError

ME, YOU = Owner("run-a", "ada", "laptop", 1), Owner("run-b", "bob", "desk", 2)
Make = Callable[..., AgentHost]
Until = Callable[[Callable[[], Any]], Any]


def gone(host: AgentHost) -> None:
    """Let the relight of a host be gone without a word."""
    host.close()


def pass_by(*folders: Path) -> None:
    """Let the seconds pass that are left to who is gone."""
    for file in (
        f for folder in folders for f in folder.iterdir() if f.suffix in {".json", ".lock"} and f.stat().st_size
    ):
        said = json.loads(file.read_text())
        file.write_text(json.dumps({**said, "beat": said["beat"] - LEFT}))


def test_the_lock_of_a_relight_that_is_gone_is_free_within_seconds(host_at: Make, tmp_path: Path, until: Until) -> None:
    first, second = host_at(), host_at()
    first.lock(ME, gpus=(0,), port=30000)
    (held,) = second.lock(YOU, gpus=(0,), port=None)
    assert held.frees is None

    gone(first)

    until(lambda: second.lock(YOU, gpus=(0,), port=None)[0].frees is not None)
    (held,) = second.lock(YOU, gpus=(0,), port=None)
    assert held.frees is not None
    assert 0 < held.frees <= LEFT
    assert held.owner == ME
    pass_by(tmp_path / "work" / "locks")
    assert second.lock(YOU, gpus=(0,), port=None) == ()


def test_the_claim_of_a_relight_that_is_gone_is_free_within_seconds_for_other_work_folders(
    host_at: Make, tmp_path: Path, until: Until
) -> None:
    first, second = host_at(), host_at(workdir=tmp_path / "second")
    first.lock(ME, gpus=(0,), port=None)

    gone(first)

    until(lambda: second.lock(YOU, gpus=(0,), port=None)[0].frees is not None)
    pass_by(tmp_path / "locks")
    assert second.lock(YOU, gpus=(0,), port=None) == ()


def test_a_run_that_is_resumed_has_its_lock_at_once(host_at: Make) -> None:
    first, second = host_at(), host_at()
    first.lock(ME, gpus=(0,), port=30000)
    gone(first)

    assert second.lock(ME, gpus=(0,), port=30000) == ()


def agents() -> set[int]:
    """Return the agents that this process started."""
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def cut(own: set[int], until: Until) -> None:
    """Let the agent of a host be gone; its next question makes the link anew."""
    (agent,) = own
    os.kill(agent, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{agent}/stat").exists() or " Z " in Path(f"/proc/{agent}/stat").read_text())


def cut_with_a_lock(host_at: Make, until: Until) -> tuple[AgentHost, AgentHost]:
    """Return a host that locked a card and whose agent is gone since, and another link to the same machine."""
    second = host_at()
    second.connect()
    before = agents()
    first = host_at()
    first.lock(ME, gpus=(0,), port=None)
    cut(agents() - before, until)
    return first, second


def test_a_link_that_is_made_again_takes_the_lock_with_it(host_at: Make, until: Until) -> None:
    first, second = cut_with_a_lock(host_at, until)

    first.gpus()
    (held,) = second.lock(YOU, gpus=(0,), port=None)

    assert held.frees is None
    gone(first)
    until(lambda: second.lock(YOU, gpus=(0,), port=None)[0].frees is not None)


def test_nothing_is_launched_on_cards_that_somebody_took_while_the_link_was_away(
    host_at: Make, engine: dict[str, str], until: Until
) -> None:
    first, second = cut_with_a_lock(host_at, until)
    second.unlock(ME)
    second.lock(YOU, gpus=(0,), port=None)
    order = LaunchOrder("run-a.1", ["--stay"], env=engine, module="engine", run="run-a")

    with pytest.raises(BusyError, match="gpu 0 held by"):
        first.launch(order)

    assert first.status("run-a.1").state == "none"
    second.unlock(YOU)
    assert first.lock(ME, gpus=(0,), port=None) == ()
    assert first.launch(order).again is False


def test_a_server_that_lives_keeps_what_its_relight_left(host_at: Make, engine: dict[str, str], until: Until) -> None:
    first, second = host_at(), host_at()
    first.lock(ME, gpus=(0,), port=None)
    first.launch(LaunchOrder("run-a.1", ["--stay"], env=engine, module="engine", run="run-a"))

    gone(first)
    (file,) = Path(second.spec.workdir, "locks").glob("*.json")
    until(lambda: json.loads(file.read_text()).get("left"))
    pass_by(file.parent)

    (held,) = second.lock(YOU, gpus=(0,), port=None)
    assert (held.owner.run, held.frees) == ("run-a", None)


@pytest.mark.parametrize("round_", range(3))
def test_what_is_locked_and_given_back_at_once_is_free(host_at: Make, round_: int) -> None:
    """An interrupt may come while a lock is asked for: what is given back afterwards stays given back."""
    first = host_at()
    first.connect()
    asker = first._current(5.0)  # two questions on one channel, the second before the first is answered
    wanted = {"owner": vars(ME), "wanted": [f"gpu {n}" for n in range(round_ + 1)]}
    for number, (question, words) in enumerate([("lock", wanted), ("unlock", {"owner": vars(ME)})], start=10_001):
        asker._channel.send({"id": number, "ask": question, "with": words})
    first.gpus()

    assert first.lock(YOU, gpus=(0,), port=None) == ()
