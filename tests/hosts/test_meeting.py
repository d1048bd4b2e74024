"""Where nodes meet is tried on the hosts themselves."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from relight.hosts import open_host, open_hosts
from relight.hosts.interface import Host
from relight.hosts.meeting import look, reach
from relight.hosts.nodes import Nodes, members
from relight.words.host import HostSpec


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[Host]]:
    made = [open_host(HostSpec(n, "local", python=sys.executable, workdir=str(tmp_path / n))) for n in "ab"]
    for host in made:
        host.connect()
    yield made
    for host in made:
        host.close()


def test_the_first_node_is_met_where_all_others_really_reach_it(nodes: list[Host]) -> None:
    place = look(nodes[0])
    wanted = ("no.such.name.invalid", *place.addresses)

    found = reach(nodes, place.port, wanted)

    assert "127.0.0.1" in place.addresses
    assert found.address(wanted) in place.addresses
    assert found.fault == ""


def test_another_server_at_the_place_is_no_meeting(nodes: list[Host]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        found = reach(nodes, port, ("127.0.0.1",))

    assert found.address(("127.0.0.1",)) is None
    assert "in use" in found.fault


def test_several_specs_are_nodes_and_one_is_itself() -> None:
    specs = [HostSpec(n, "local") for n in "abc"]

    several, one = open_hosts(specs), open_hosts(specs[:1])

    assert isinstance(several, Nodes)
    assert [host.spec.name for host in members(several)] == ["a", "b", "c"]
    assert members(one) == (one,)
    several.close()
