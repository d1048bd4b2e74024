"""One server over several hosts: the words that tell each of them its part. The engine's names for them are data."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from relight.attempts.site import Site
from relight.config.shipped import engine
from relight.hosts.interface import Host
from relight.hosts.meeting import look, reach
from relight.hosts.nodes import Nodes
from relight.words.errors import PersonError, UsageError
from relight.words.host import HostSpec
from relight.words.playbook import Playbook
from relight.words.settings import Change, FlagValue, Settings

FILE = "nodes.toml"
LOCAL = "local"


@dataclass(frozen=True)
class NodeFlags:
    """What an engine calls the number of nodes, the number of one, and where they meet (with other names of that)."""

    count: str
    rank: str
    meeting: str
    also: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[str, ...]:
        """Return every name of the flag that says where the nodes meet."""
        return (self.meeting, *self.also)


def node_flags(name: str) -> NodeFlags:
    """Read the flags of one engine."""
    data = tomllib.loads((engine(name) / FILE).read_text())
    return NodeFlags(data["count"], data["rank"], data["meeting"], tuple(data["also"]))


def for_nodes(playbook: Playbook, overrides: Change, specs: Sequence[HostSpec]) -> Change:
    """Return `overrides` with the number of nodes, which is protected like what was typed; unchanged for one host.

    UsageError where the hosts cannot be one server, or the settings say something else about the nodes.
    """
    if len(specs) < 2:
        return overrides
    _apart(specs)
    flags = node_flags(playbook.engine)
    for name, value, place in _given(playbook, overrides):
        if name == flags.rank:
            text = f"{name} is given, and each of several hosts gets its own"
            raise UsageError(text, place=place, next=f"leave {name} out; the order of --host is the order of rank")
        if name == flags.count and str(value) != str(len(specs)):
            text = f"{name} is {value}, and there are {len(specs)} hosts"
            raise UsageError(text, place=place, next=f"leave {name} out, or give --host {value} times")
    _no_lever(playbook, flags)
    return replace(overrides, set={**overrides.set, flags.count: len(specs)})


def _apart(specs: Sequence[HostSpec]) -> None:
    names = [spec.name for spec in specs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError(f"{twice} is named twice", place="--host", next="name each host once")


def _given(playbook: Playbook, overrides: Change) -> list[tuple[str, FlagValue, str]]:
    place = f"{playbook.path or playbook.name}: [flags]"
    written = [(name, value, place) for name, value in playbook.flags.items()]
    return [*written, *((name, value, "--set") for name, value in overrides.set.items())]


def _no_lever(playbook: Playbook, flags: NodeFlags) -> None:
    own = {flags.count, flags.rank, *flags.places}
    for lever in playbook.levers:
        touched = sorted(own & {name for variant in lever.variants for name in variant.flags})
        if touched:
            text = f"the lever '{lever.name}' changes {touched[0]}, which follows from the hosts"
            raise UsageError(text, place=playbook.path or playbook.name, next=f"take {touched[0]} out of the lever")


def asked_place(settings: Mapping[str, FlagValue], flags: NodeFlags) -> str:
    """Return where the operator wants the nodes to meet ("address:port"), "" where that is left to relight."""
    return next((str(settings[name]) for name in flags.places if name in settings), "")


def found_address(nodes: Sequence[Host], given: str = "") -> str:
    """Return the address at which the first of `nodes` is reached by all others, tried now.

    `given` is "address:port" where the operator wants to meet.
    """
    place = look(nodes[0])
    address, _, port = given.rpartition(":")
    wanted = (address.strip("[]"),) if given else _candidates(nodes[0].spec, place.addresses)
    tried = reach(nodes, int(port) if port.isdigit() else place.port, wanted)
    found = tried.address(wanted)
    if found:
        return found
    missing = [host.spec.name for host, seen in zip(nodes[1:], tried.by, strict=True) if not seen]
    who = ", ".join(missing) or "the other nodes"
    at = f"{', '.join(wanted)} (port {port or place.port})"
    why = f"; {nodes[0].spec.name} cannot listen there: {tried.fault}" if tried.fault else ""
    raise PersonError(
        f"{who} cannot reach {nodes[0].spec.name} at {at}{why}",
        place=nodes[0].spec.name,
        next="open the way between them, or name an address in hosts.toml (node_address)",
    )


def _candidates(spec: HostSpec, addresses: Sequence[str]) -> tuple[str, ...]:
    if spec.node_address:
        return (spec.node_address,)
    named = () if spec.address == LOCAL else (spec.address,)
    return tuple(dict.fromkeys((*named, *addresses)))


def node_words(site: Site, settings: Settings) -> tuple[str, ...]:
    """Return the words that the first node's command has beside its settings: where to meet, at a port free now.

    That all nodes reach the first is tried once, before the first launch. What the operator gave (the flag, or
    node_address in hosts.toml) is tried as it is. PersonError names who does not reach it.
    """
    if not isinstance(site.host, Nodes):
        return ()
    flags = node_flags(site.order.playbook.engine)
    given = asked_place(settings.flags, flags)
    site.meeting = site.meeting or found_address(site.nodes, given)
    rank = (f"--{flags.rank}", "0")
    return rank if given else (f"--{flags.meeting}", f"{site.meeting}:{look(site.nodes[0]).port}", *rank)
