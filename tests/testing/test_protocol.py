"""Every host has the interface, in its exact form."""

from relight.hosts import open_host
from relight.hosts.interface import Host
from relight.testing import Act, ScriptedHost
from relight.words.host import HostSpec


def name_of(host: Host) -> str:
    return host.spec.name


def test_the_scripted_host_is_a_host() -> None:
    assert name_of(ScriptedHost(lambda _: Act())) == "box"


def test_a_real_host_is_a_host() -> None:
    assert name_of(open_host(HostSpec("cpu", "local"))) == "cpu"
