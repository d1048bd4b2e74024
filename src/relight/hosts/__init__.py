"""Hosts: this machine or one behind SSH, asked through one small agent; or several that carry one server."""

from collections.abc import Sequence

from relight.hosts.interface import Host
from relight.hosts.local import LocalLink
from relight.hosts.nodes import Nodes
from relight.hosts.remote import AgentHost
from relight.hosts.ssh import SshLink
from relight.words.host import HostSpec

__all__ = ["Host", "open_host", "open_hosts"]


def open_host(spec: HostSpec) -> Host:
    """Return the host of `spec`: address "local" is this machine, anything else SSH. Nothing is contacted yet."""
    if spec.address == "local":
        return AgentHost(spec, LocalLink())
    return AgentHost(spec, SshLink(spec))


def open_hosts(specs: Sequence[HostSpec]) -> Host:
    """Return the host of one spec, or the nodes of several, in the order of rank. Nothing is contacted yet."""
    hosts = [open_host(spec) for spec in specs]
    return hosts[0] if len(hosts) == 1 else Nodes(hosts)
