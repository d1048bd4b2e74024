"""One server over several scripted hosts: one verdict, one end, the cause in the log of the node that failed first."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from relight.attempts.clock import stamp
from relight.attempts.loop import run
from relight.attempts.nodes import for_nodes
from relight.attempts.order import RunOrder
from relight.hosts import meeting
from relight.hosts.nodes import PID_STEP, Nodes, joined
from relight.hosts.values import HostError, HostFacts, LaunchOrder, Owner, Ran, Status
from relight.journal.journal import Journal
from relight.testing import Act, ManualClock, ScriptedHost
from relight.testing.host import FACTS
from relight.words.attempt import Exit, Record
from relight.words.errors import BusyError, UnreachableError, UsageError
from relight.words.events import Event
from relight.words.host import HostSpec, SecretSource
from relight.words.knowledge import Knowledge
from relight.words.playbook import Budget, Playbook, Variant
from relight.words.settings import Change
from tests.attempts.conftest import PORT, book, healthy, lever
from tests.attempts.test_loop import BACKEND

GLOO = (
    "[2026-11-29 10:00:02 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
    '  File "/opt/e/sglang/srt/managers/scheduler.py", line 9, in run\n'
    "    barrier(group)\n"
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [10.0.0.2:4]\n"
    "[2026-11-29 10:00:02] Received sigquit from a child process. It usually means the child failed.\n"
)
KILLED = Exit(None, 9)
SPECS = (HostSpec("a", "10.0.0.1"), HostSpec("b", "10.0.0.2"))
ATTENTION = lever(
    "attention", Variant({"attention-backend": "trtllm_mha"}), Variant({"attention-backend": "triton"}), keep=2
)


def meets(argv: Sequence[str]) -> Ran:
    """Answer like hosts that reach each other everywhere."""
    script = argv[3] if len(argv) > 3 else ""
    if script == meeting.LOOK:
        return Ran(0, json.dumps({"port": 45000, "addresses": ["10.0.0.1", "127.0.0.1"]}).encode(), b"")
    if script == meeting.CALL:
        return Ran(0, json.dumps(list(argv[7:])).encode(), b"")
    return Ran(0, b"", b"")


def follower() -> Act:
    """Return a node that is not the first: it says that it is well and waits."""
    return Act("[2026-11-29 10:00:01 TP1] Load weight begin. avail mem=94.60 GB\n")


def goes(act: Act, *, first: Act | None = None, unless: str = "triton") -> Callable[[LaunchOrder], Act]:
    """Play `act` on the follower (and `first` on the first node) until the settings hold `unless`."""

    def play(order: LaunchOrder) -> Act:
        is_first = order.argv[-1] == "0"
        if unless in order.argv:
            return healthy() if is_first else follower()
        return (first or Act("", exit=None)) if is_first else act

    return play


@dataclass
class Pair:
    """Two scripted hosts with one clock, and runs over both."""

    state: Path
    knowledge: Knowledge
    clock: ManualClock = field(default_factory=ManualClock)
    specs: tuple[HostSpec, ...] = SPECS
    hosts: list[ScriptedHost] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    order: dict[str, Any] = field(default_factory=dict)
    folder: Path = field(init=False)

    def scripted(self, play: Callable[[LaunchOrder], Act]) -> None:
        parser = self.knowledge.parser_for("0.5.9")
        assert parser
        self.hosts = [
            ScriptedHost(play, self.clock, spec, limit=20_000, version="0.5.9", options=parser, commands=meets,
                         facts=replace(FACTS, boot_id=f"boot-{spec.name}"))
            for spec in self.specs
        ]  # fmt: skip

    def ordered(self, playbook: Playbook) -> RunOrder:
        overrides = for_nodes(playbook, Change(), self.specs)
        return RunOrder(
            playbook, joined(self.specs), overrides=overrides, specs=self.specs, owner_user="tester", **self.order
        )

    def run(self, playbook: Playbook, play: Callable[[LaunchOrder], Act] | None = None) -> Record:
        if play:
            self.scripted(play)
        order = self.ordered(playbook)
        started = stamp(self.clock.now())
        with Journal.create(self.state, playbook=playbook, specs=self.specs, started=started) as journal:
            self.folder = journal.folder
            return self.go_on(order, journal)

    def go_on(self, order: RunOrder, journal: Journal) -> Record:
        host = Nodes(self.hosts)
        try:
            return run(order, host, journal, self.knowledge, clock=self.clock, emit=self.events.append)
        finally:
            host.close()

    def alive(self) -> list[str]:
        return [f"{h.spec.name}: {p.ours}" for h in self.hosts for p in h.processes() if p.ours]


@pytest.fixture
def pair(tmp_path: Path, knowledge: Knowledge) -> Pair:
    return Pair(tmp_path, knowledge)


def test_both_nodes_get_the_same_command_but_for_their_number(pair: Pair) -> None:
    record = pair.run(book(), goes(follower(), first=healthy()))

    assert record.state == "healthy"
    first, second = (host.orders[0].argv for host in pair.hosts)
    assert first == (
        "--model-path", "m", "--port", str(PORT), "--nnodes", "2", "--dist-init-addr", "10.0.0.1:45000",
        "--node-rank", "0",
    )  # fmt: skip
    assert second == (*first[:-1], "1")
    assert record.final
    assert record.final.argv == first


def test_each_node_gets_its_own_variables_and_secrets(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_OF_B", "planted")
    shared = {"HF_HOME": "/data"}
    pair.specs = (
        replace(SPECS[0], env={**shared, "NCCL_SOCKET_IFNAME": "eth0"}),
        replace(
            SPECS[1], env={**shared, "NCCL_SOCKET_IFNAME": "ens5"}, secrets={"T": SecretSource("env", "TOKEN_OF_B")}
        ),
    )

    record = pair.run(book(), goes(follower(), first=healthy()))

    first, second = (host.orders[0] for host in pair.hosts)
    assert [dict(o.env)["NCCL_SOCKET_IFNAME"] for o in (first, second)] == ["eth0", "ens5"]
    assert dict(first.env)["HF_HOME"] == dict(second.env)["HF_HOME"] == "/data"
    assert (list(first.secrets), second.secrets["T"].reveal()) == ([], "planted")
    assert record.final
    assert "NCCL_SOCKET_IFNAME" not in record.final.env


def test_the_playbook_s_variable_goes_for_all_nodes_and_a_repair_does_not_undo_what_a_node_needs(pair: Pair) -> None:
    own = {"NCCL_SOCKET_IFNAME": "eth0", "NCCL_P2P_LEVEL": "PIX"}
    pair.specs = (replace(SPECS[0], env=own), replace(SPECS[1], env={**own, "NCCL_SOCKET_IFNAME": "ens5"}))
    loop = "RuntimeError: Gloo connectFullMesh failed with [/pytorch/third_party/gloo/gloo/pair.cc:144] no error\n"
    healed: list[dict[str, str]] = []

    def play(order: LaunchOrder) -> Act:
        healed.append(dict(order.env))
        return Act(loop, exit=KILLED, ends=1.0)

    pair.run(book(env={"NCCL_P2P_LEVEL": "SYS"}, budget=Budget(attempts=3)), play)

    assert {env["NCCL_P2P_LEVEL"] for env in healed} == {"SYS"}
    assert {env["NCCL_SOCKET_IFNAME"] for env in healed} == {"eth0", "ens5"}


def test_the_log_of_each_node_is_stored_to_the_byte(pair: Pair) -> None:
    record = pair.run(book(), goes(follower(), first=healthy()))

    attempt = record.attempts[0]
    assert attempt.logs == ("attempts/001/server.log", "attempts/001/server.node1.log")
    assert (pair.folder / attempt.logs[0]).read_bytes() == pair.hosts[0].log_of(f"{record.run}.1")
    assert (pair.folder / attempt.logs[1]).read_bytes() == pair.hosts[1].log_of(f"{record.run}.1-node1")


def test_a_follower_that_fails_first_is_the_root_and_both_are_stopped(pair: Pair) -> None:
    crash = Act(BACKEND, exit=KILLED, ends=1.0)
    echo = Act("", later=((1.4, GLOO),), exit=KILLED, ends=1.6)

    record = pair.run(book(levers=(ATTENTION,)), goes(crash, first=echo))

    failed, well = record.attempts
    assert (record.state, failed.outcome, well.outcome) == ("healthy", "crashed", "healthy")
    assert failed.diagnosis
    assert failed.diagnosis.cause
    assert failed.diagnosis.log == "attempts/001/server.node1.log"
    kind = failed.diagnosis.cause.kind
    assert kind != "comm.peer_died"
    assert [(n.host, n.first, n.kind, n.stopped) for n in failed.nodes] == [
        ("a", False, "comm.peer_died", False),
        ("b", True, kind, False),
    ]
    assert {p.rpartition(".")[2] for p in pair.alive()} == {"2", "2-node1"}


def test_a_first_node_that_would_wait_for_ever_is_ended_with_the_follower(pair: Pair) -> None:
    pair.order["mode"] = "deploy"
    began = pair.clock.monotonic()

    record = pair.run(book(), goes(Act(BACKEND, exit=KILLED, ends=2.0)))

    assert (record.state, pair.alive()) == ("failed", [])
    assert pair.clock.monotonic() - began < 60
    first, second = record.attempts[0].nodes
    assert (first.stopped, first.first, first.kind) == (True, False, "")
    assert (second.stopped, second.first, second.exit) == (False, True, KILLED)
    assert record.attempts[0].exit == KILLED


def test_the_death_of_the_first_node_ends_the_follower(pair: Pair) -> None:
    pair.order["mode"] = "deploy"

    record = pair.run(book(), goes(follower(), first=Act(BACKEND, exit=KILLED, ends=1.0)))

    assert (record.state, pair.alive()) == ("failed", [])
    assert [(n.first, n.stopped) for n in record.attempts[0].nodes] == [(True, False), (False, True)]


class Behind(ScriptedHost):
    """A host whose clock is an hour and a quarter of a minute behind."""

    offset = -3615.0

    def connect(self, *, timeout: float = 30.0) -> HostFacts:
        return replace(super().connect(timeout=timeout), clock_offset=self.offset)

    def status(self, attempt_id: str, *, timeout: float = 20.0) -> Status:
        said = super().status(attempt_id, timeout=timeout)
        shifted = {name: at + self.offset for name in ("started", "ended") if (at := getattr(said, name)) is not None}
        return replace(said, **shifted)


@pytest.mark.parametrize("clock_is_behind", [True, False])
def test_clocks_that_differ_do_not_turn_the_order_round(pair: Pair, clock_is_behind: bool) -> None:
    # The follower fails six seconds after the first node; by its own clock that is an hour before.
    begin = "[2026-11-29 10:00:00 TP0] Load weight begin.\n"
    there = begin.replace("10:00:00", "08:59:45") if clock_is_behind else begin
    late = BACKEND.replace("10:00:01", "08:59:54" if clock_is_behind else "10:00:09")
    first = Act(begin, later=((3.0, BACKEND.replace("10:00:01", "10:00:03")),), exit=KILLED, ends=10.0)
    pair.order["mode"] = "deploy"
    pair.scripted(goes(Act(there, later=((9.0, late),), exit=KILLED, ends=9.2), first=first))
    if clock_is_behind:
        fields = {
            name: getattr(pair.hosts[1], name) for name in ("play", "clock", "spec", "facts", "version", "options")
        }
        pair.hosts[1] = Behind(**fields, limit=20_000, commands=meets)

    record = pair.run(book())

    assert record.attempts[0].diagnosis
    assert record.attempts[0].diagnosis.log == "attempts/001/server.log"


def test_a_follower_that_dies_later_is_repaired_by_keep(pair: Pair) -> None:
    pair.order["keep"] = True

    def play(order: LaunchOrder) -> Act:
        if order.argv[-1] == "0":
            return healthy()
        return replace(follower(), exit=KILLED, ends=3600.0)

    record = pair.run(book(budget=Budget(attempts=2)), play)

    assert [i.attempt for i in record.incidents] == [1, 2]
    assert [a.outcome for a in record.attempts] == ["healthy", "healthy"]
    assert record.attempts[0].nodes[1].first
    assert pair.alive() == []


def test_a_dummy_yes_of_a_follower_makes_no_server_healthy(pair: Pair) -> None:
    mute = replace(healthy(), listens=None)
    pair.order["mode"] = "deploy"

    record = pair.run(book(health=replace(book().health, deadline=60.0)), goes(replace(healthy()), first=mute))

    assert record.state == "failed"
    assert record.attempts[0].outcome == "hung"
    assert "http" not in pair.hosts[1].asked


def test_nodes_that_never_find_each_other_are_told_from_cards_that_do_not(pair: Pair) -> None:
    pair.order["mode"] = "deploy"
    begin = Act("[2026-11-29 10:00:01 TP0] Init torch distributed begin.\n")

    record = pair.run(book(), goes(begin, first=begin))

    found = record.attempts[0].diagnosis
    assert (record.attempts[0].outcome, record.state) == ("hung", "failed")
    assert found
    assert found.cause
    assert found.cause.signature == "relight-hung-init-nodes"
    assert "NCCL_SOCKET_IFNAME" in found.next


def test_all_cards_and_ports_are_locked_or_none(pair: Pair) -> None:
    pair.scripted(goes(follower(), first=healthy()))
    other = Owner("other", "u", "h", 1)
    pair.hosts[1].lock(other, gpus=(), port=PORT)

    with pytest.raises(BusyError, match=f"port {PORT} on b held by run other"):
        pair.run(book())

    assert pair.hosts[0].locks == {}
    assert not pair.hosts[0].orders


def test_a_node_that_cannot_be_reached_is_named_and_the_others_are_left_alone(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.scripted(goes(follower(), first=replace(healthy(), listens=None)))

    def gone(*_: object, **__: object) -> None:
        if pair.clock.monotonic() > 10:
            raise UnreachableError("no route", place="b")
        return asked(*_, **__)  # type: ignore[arg-type, return-value]

    asked = pair.hosts[1].status
    monkeypatch.setattr(pair.hosts[1], "status", gone)

    with pytest.raises(UnreachableError, match="b: no route"):
        pair.run(book())

    assert [p.partition(":")[0] for p in pair.alive()] == ["a", "b"]


def test_where_a_node_refuses_the_launch_the_others_are_ended(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    pair.scripted(goes(follower(), first=healthy()))

    def full(*_: object, **__: object) -> None:
        raise HostError("no space left on device", place="b")

    monkeypatch.setattr(pair.hosts[1], "launch", full)

    with pytest.raises(HostError, match="no space left"):
        pair.run(book())

    assert pair.alive() == []


def test_nodes_that_do_not_reach_each_other_are_a_matter_for_a_person(pair: Pair) -> None:
    pair.scripted(goes(follower(), first=healthy()))
    pair.hosts[1].commands = lambda argv: Ran(0, b"[]", b"") if meeting.CALL in argv else meets(argv)

    record = pair.run(book())

    assert record.state == "person"
    assert "b cannot reach a" in record.reason
    assert "node_address" in record.next


def test_different_engines_on_the_nodes_are_refused(pair: Pair) -> None:
    pair.scripted(goes(follower(), first=healthy()))
    pair.hosts[1].version = "0.5.10"

    record = pair.run(book())

    assert (record.state, "a 0.5.9, b 0.5.10" in record.reason) == ("person", True)


def test_where_the_operator_says_where_to_meet_that_is_taken(pair: Pair) -> None:
    flags = {"model-path": "m", "port": PORT, "dist-init-addr": "10.9.9.9:5000"}

    record = pair.run(book(flags=flags), goes(follower(), first=healthy()))

    assert record.state == "healthy"
    assert record.attempts[0].argv.count("--dist-init-addr") == 1
    assert "10.9.9.9:5000" in record.attempts[0].argv


@pytest.mark.parametrize(
    ("flags", "fault"),
    [({"nnodes": 3}, "nnodes is 3, and there are 2 hosts"), ({"node-rank": 1}, "each of several hosts gets its own")],
)
def test_settings_that_say_otherwise_are_refused(flags: dict[str, int], fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        for_nodes(book(flags={"model-path": "m", **flags}), Change(), SPECS)
    with pytest.raises(UsageError, match=fault):
        for_nodes(book(), Change(set=flags), SPECS)


def test_a_lever_over_the_nodes_and_a_host_named_twice_are_refused() -> None:
    nodes = lever("nodes", Variant({"nnodes": 2}), Variant(off=True))
    with pytest.raises(UsageError, match="follows from the hosts"):
        for_nodes(book(levers=(nodes,)), Change(), SPECS)
    with pytest.raises(UsageError, match="a is named twice"):
        for_nodes(book(), Change(), (SPECS[0], SPECS[0]))


def test_a_run_that_was_left_goes_on_on_all_nodes_without_a_second_server(pair: Pair) -> None:
    pair.scripted(goes(follower(), first=healthy()))
    order = pair.ordered(book())
    left = [0]

    def leave(event: Event) -> None:
        left[0] += event.event == "phase"
        if left[0] == 1:
            raise KeyboardInterrupt

    with Journal.create(pair.state, playbook=book(), specs=pair.specs, started=stamp(pair.clock.now())) as journal:
        host = Nodes(pair.hosts)
        with pytest.raises(KeyboardInterrupt):
            run(order, host, journal, pair.knowledge, clock=pair.clock, emit=leave)
        host.close()
        record = pair.go_on(order, journal)

    assert (record.state, len(record.attempts)) == ("healthy", 1)
    assert [len(host.orders) for host in pair.hosts] == [1, 1]
    assert record.attempts[0].argv == pair.hosts[0].orders[0].argv


def test_a_server_that_runs_is_not_asked_again_where_its_nodes_meet(pair: Pair) -> None:
    flags = {"model-path": "m", "port": PORT, "dist-init-addr": "10.9.9.9:5000"}
    record = pair.run(book(flags=flags), goes(follower(), first=healthy()))
    for host in pair.hosts:
        host.commands = lambda _: Ran(1, b"", b"port 5000: Address already in use")
    pair.hosts[1].version = "0.5.10"

    with Journal.open(pair.state, record.run) as journal:
        again = pair.go_on(pair.ordered(book(flags=flags)), journal)

    assert (again.state, len(again.attempts), len(pair.alive())) == ("healthy", 1, 2)


def test_pids_of_nodes_never_meet(pair: Pair) -> None:
    pair.scripted(goes(follower(), first=healthy()))
    host = Nodes(pair.hosts)
    order = LaunchOrder("r.1", ("--node-rank", "0"))

    host.launch(order)

    first, second = host.status("r.1").tree
    assert (first.pid, second.pid) == (1000, 1000 + PID_STEP)
    assert "b, pid 1000" in second.command
    host.close()
