"""Runs of different accounts, and of different work folders of one, are kept apart on a host."""

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relight.hosts.agent import claims
from relight.hosts.agent.folders import Site, boot_id
from relight.hosts.link import Pipe
from relight.hosts.local import LocalLink
from relight.hosts.remote import AgentHost
from relight.hosts.values import LaunchOrder, Owner
from relight.words.host import HostSpec

ME, YOU = Owner("run-a", "ada", "laptop", 1), Owner("run-b", "bob", "desk", 2)
ROOT = pytest.mark.skipif(
    os.getuid() != 0 or not shutil.which("setpriv") or not Path("/usr/bin/python3").exists(),
    reason="needs root, to be two accounts, and a Python that both may run",
)
Make = Callable[..., AgentHost]


class AsNobody(LocalLink):
    """This machine as the account nobody."""

    def start(self, line: str, *, timeout: float) -> Pipe:
        return super().start(f"setpriv --reuid=nobody --regid=nogroup --clear-groups {line}", timeout=timeout)


@pytest.fixture
def other(host_at: Make, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentHost]:  # noqa: ARG001  it is there first
    """Return this machine as another account sees it."""
    with tempfile.TemporaryDirectory(prefix="relight-claims-") as common:  # nobody may enter pytest's own folders
        Path(common).chmod(0o1777)
        monkeypatch.setenv("RELIGHT_LOCKS", common)
        work = Path(common, "work")
        work.mkdir()
        shutil.chown(work, "nobody", "nogroup")
        host = AgentHost(HostSpec("box", "local", workdir=str(work), python="/usr/bin/python3"), AsNobody())
        yield host
        host.close()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    (tmp_path / "work").mkdir(exist_ok=True)
    return Site(str(tmp_path / "work"), sys.executable, {}, None, b"")


@ROOT
def test_a_card_that_another_account_holds_is_held_and_its_owner_named(host_at: Make, other: AgentHost) -> None:
    host = host_at()
    assert host.lock(ME, gpus=(0, 1), port=30000) == ()

    (held,) = other.lock(YOU, gpus=(1, 2), port=31000)

    assert (held.what, held.who) == ("gpu 1", "run run-a of ada@laptop (pid 1), account root")
    assert other.lock(YOU, gpus=(2,), port=31000) == ()
    assert [h.who for h in host.lock(Owner("run-c", "c", "c", 3), gpus=(), port=31000)] == [
        "run run-b of bob@desk (pid 2), account nobody"
    ]
    host.unlock(ME)
    assert other.lock(YOU, gpus=(0, 1, 2), port=31000) == ()


@ROOT
def test_a_server_that_lives_holds_its_cards_for_all_accounts_after_its_relight_has_left(
    host_at: Make, other: AgentHost, engine: dict[str, str]
) -> None:
    host = host_at()
    host.lock(ME, gpus=(0,), port=30000)
    host.launch(LaunchOrder("run-a.1", ["--stay"], env=engine, module="engine", run="run-a"))
    host.unlock(ME)

    assert [h.what for h in other.lock(YOU, gpus=(0,), port=31000)] == ["gpu 0"]

    host.stop("run-a.1", patience=2)
    assert other.lock(YOU, gpus=(0,), port=31000) == ()


def test_two_work_folders_of_one_account_are_kept_apart_too(host_at: Make, tmp_path: Path) -> None:
    first, second = host_at(), host_at(workdir=tmp_path / "second")
    assert first.lock(ME, gpus=(0,), port=None) == ()

    assert [h.what for h in second.lock(YOU, gpus=(0,), port=None)] == ["gpu 0"]

    assert second.lock(YOU, gpus=(1,), port=None) == ()
    assert first.lock(ME, gpus=(0,), port=None) == ()  # renewed, though somebody else came meanwhile
    assert list((tmp_path / "second" / "locks").glob("*.json"))


def test_nodes_of_one_run_on_one_machine_are_in_nobodys_way(host_at: Make, tmp_path: Path) -> None:
    first, second = host_at(), host_at(workdir=tmp_path / "second")

    assert first.lock(ME, gpus=(0,), port=30000) == ()
    assert second.lock(ME, gpus=(0,), port=30000) == ()
    assert second.lock(YOU, gpus=(0,), port=None) != ()


def test_a_claim_that_nobody_renews_is_over(host_at: Make, tmp_path: Path) -> None:
    first, second = host_at(), host_at(workdir=tmp_path / "second")
    first.lock(ME, gpus=(0,), port=None)
    (file,) = (tmp_path / "locks").iterdir()
    said = json.loads(file.read_text())

    file.write_text(json.dumps({**said, "beat": said["beat"] - 1000}))
    assert second.lock(YOU, gpus=(0,), port=None) == ()

    assert not file.exists()


def test_of_two_that_come_at_the_same_time_never_both_hold(site: Site, tmp_path: Path, request: Any) -> None:
    folder = tmp_path / "common"
    folder.mkdir()
    request.getfixturevalue("monkeypatch").setenv("RELIGHT_LOCKS", str(folder))
    other = site._replace(workdir=str(tmp_path / "other"))
    candidate = claims.claim_path(str(folder), other, "run-b")
    # The other has published and not yet read: exactly then this one comes.
    mine = {"owner": vars(YOU), "wanted": ["gpu 0"], "workdir": other.workdir, "boot": boot_id(), "held": False}
    claims.publish(candidate, {**mine, "beat": time.monotonic(), "at": 0.0, "servers": []})

    assert claims.claim(site, vars(ME), ["gpu 0"])

    assert claims.claim(other, vars(YOU), ["gpu 0"]) == []


@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "huge", "deep", "wrong"])
def test_files_that_are_no_claims_are_in_nobodys_way(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "relight.0.x.lock"
    good = {"owner": vars(YOU), "wanted": ["gpu 0"], "workdir": "/w", "boot": "b", "beat": 1, "at": 1, "held": True}
    if kind == "link":
        (tmp_path / "real").write_text(json.dumps({**good, "servers": []}))
        path.symlink_to(tmp_path / "real")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        text = {"huge": json.dumps({**good, "servers": [[1, 1]] * 9999}), "deep": "[" * 16000, "wrong": '{"owner": 3}'}
        path.write_text(text[kind])

    assert claims.read_claim(str(path)) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = ("owner", "wanted", "servers", "workdir", "boot", "beat", "at", "held")
OWNERS = JSON | st.fixed_dictionaries(dict.fromkeys(("run", "user", "host", "pid"), JSON))


@settings(max_examples=300, deadline=None)
@given(st.fixed_dictionaries({name: OWNERS if name == "owner" else JSON for name in NAMES}))
def test_whatever_others_write_is_a_claim_or_none(tmp_path_factory: pytest.TempPathFactory, said: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "relight.1.any.lock"
    path.write_text(json.dumps(said))

    found = claims.read_claim(str(path))

    assert found is None or claims.counts(found) in {True, False}


def test_a_claim_is_made_only_where_nobody_may_remove_anothers(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    assert not claims.is_common(str(tmp_path))
    assert not claims.is_common(str(tmp_path / "none"))

    (tmp_path / "link").symlink_to("/tmp")  # noqa: S108
    assert not claims.is_common(str(tmp_path / "link"))


def test_a_name_that_is_squatted_takes_no_claim_and_no_file_with_it(host_at: Make, tmp_path: Path, site: Site) -> None:
    path = Path(claims.claim_path(str(tmp_path / "locks"), site, "run-a"))
    (tmp_path / "locks").mkdir(exist_ok=True)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    path.symlink_to(victim)

    assert host_at().lock(ME, gpus=(0,), port=None) == ()

    assert victim.read_text() == "mine"
    assert not path.is_symlink()
