"""Hosts: this machine or one behind SSH, asked through one small agent; or several that carry one server."""

from collections.abc import Sequence

from relight.hosts.interface import Host
from relight.words.host import HostSpec

__all__ = ["Host", "open_host", "open_hosts"]


def open_host(spec: HostSpec) -> Host:
    """Return the host of `spec`: address "local" is this machine, anything else SSH. Nothing is contacted yet."""
    from relight.hosts.remote import AgentHost  # noqa: PLC0415  a command that opens no host waits for none of this

    if spec.address == "local":
        from relight.hosts.local import LocalLink  # noqa: PLC0415

        return AgentHost(spec, LocalLink())
    from relight.hosts.ssh import SshLink  # noqa: PLC0415  imports paramiko

    return AgentHost(spec, SshLink(spec))


def open_hosts(specs: Sequence[HostSpec]) -> Host:
    """Return the host of one spec, or the nodes of several, in the order of rank. Nothing is contacted yet."""
    hosts = [open_host(spec) for spec in specs]
    if len(hosts) == 1:
        return hosts[0]
    from relight.hosts.nodes import Nodes  # noqa: PLC0415

    return Nodes(hosts)
