"""Every host has the interface, in its exact form."""

from relight.hosts import open_host
from relight.hosts.interface import Host
from relight.testing import Act, ScriptedHost
from relight.words.host import HostSpec


def test_the_scripted_host_is_a_host() -> None:
    host: Host = ScriptedHost(lambda _: Act())

    assert host.connect().hostname == "box"


def test_a_real_host_is_a_host() -> None:
    host: Host = open_host(HostSpec("box", "local"))

    assert host.spec.address == "local"
