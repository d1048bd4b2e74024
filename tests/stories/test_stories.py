"""Every story ends as its file says: through the command line, on a simulated machine."""

import socket
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Relight, relight  # noqa: F401  the fixture
from tests.stories.player import Story, failures, given_up, launched, machine, playbook_of, servers, stories

STATES = {0: {"healthy"}, 1: {"exhausted"}, 4: {"budget"}, 5: {"person"}}
# All stories take half an hour on two cores; these are told in CI, `make soak` tells every one.
TOLD_IN_CI = {
    "story",
    "driver",
    "exhausted",
    "kernel-jit",
    "oom-weights",
    "port-allowed",
    "renamed-flags",
    "transient",
    "win-back-kept",
}
NO_HIGHER_AFTER = {"oom.gpu.graph_capture", "oom.gpu.activation", "oom.gpu.draft"}
NO_LOWER_AFTER = {"oom.gpu.kv_pool"}
SHARE = "mem-fraction-static"


def marked(story: Story) -> Any:
    """Return a story as a case, in the tier it belongs to."""
    slow = pytest.mark.ssh if story.name in TOLD_IN_CI and not story.soak else pytest.mark.soak
    marks = [] if story.link == "local" and not story.soak else [slow]
    return pytest.param(story, id=story.name, marks=[*marks, pytest.mark.timeout(600)])


@pytest.mark.parametrize("story", [marked(s) for s in stories()])
def test_the_story_ends_as_told(story: Story, relight: Relight, tmp_path: Path) -> None:  # noqa: F811
    port = free_port()
    with machine(story, tmp_path, port) as (hosts, root):
        (tmp_path / "hosts.toml").write_text(hosts)
        (tmp_path / "play.toml").write_text(playbook_of(story, port))

        done = relight("retry", "play.toml", "--host", "simulated", "--format", "json", *story.options)

        assert done.status == story.status, done.err
        record = done.json
        assert record["state"] in STATES[story.status]
        check_failures(story, record)
        check_what_is_kept(story, record)
        check_shares(record)
        assert bool(servers(root)) == (story.status == 0)


def check_failures(story: Story, record: Any) -> None:
    kinds = failures(record)
    assert story.kinds is None or tuple(kinds) == story.kinds
    assert not story.only or set(kinds) <= set(story.only)
    assert len(launched(record)) <= story.launches


def check_what_is_kept(story: Story, record: Any) -> None:
    levers = {lever["name"]: lever["kept"] or 0 for lever in (record["final"] or {"levers": []})["levers"]}
    assert {name: levers.get(name) for name in story.kept} == dict(story.kept)
    assert story.gives_up is None or given_up(record) == set(story.gives_up)


def check_shares(record: Any) -> None:
    """No launch moves the share of memory against what the failure before it says."""
    for failed, following in pairwise(launched(record)):
        before, after = (a["settings"]["flags"].get(SHARE) for a in (failed, following))
        kind = failures({"attempts": [failed]})
        if before is None or after is None:
            continue
        assert not (after > before and set(kind) & NO_HIGHER_AFTER), (failed["n"], before, after)
        assert not (after < before and set(kind) & NO_LOWER_AFTER), (failed["n"], before, after)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
