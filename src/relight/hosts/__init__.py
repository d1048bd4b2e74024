"""Hosts: this machine or one behind SSH, asked through one small agent."""

from relight.hosts.interface import Host
from relight.hosts.local import LocalLink
from relight.hosts.remote import AgentHost
from relight.hosts.ssh import SshLink
from relight.words.host import HostSpec

__all__ = ["Host", "open_host"]


def open_host(spec: HostSpec) -> Host:
    """Return the host of `spec`: address "local" is this machine, anything else SSH. Nothing is contacted yet."""
    if spec.address == "local":
        return AgentHost(spec, LocalLink())
    return AgentHost(spec, SshLink(spec))
