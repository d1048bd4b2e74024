"""What is wrong with hosts as the nodes of one server: their engines, models and ways to each other."""

from collections.abc import Iterator, Sequence

from relight.attempts.nodes import asked_place, found_address, node_flags
from relight.cli.findings import Finding
from relight.cli.seen import Seen
from relight.hosts.interface import Host
from relight.hosts.values import HostError
from relight.words.errors import PersonError
from relight.words.settings import Settings


def node_findings(hosts: Sequence[Host], seen: Sequence[Seen], settings: Settings, engine: str) -> Iterator[Finding]:
    """Yield what differs between connected `hosts` that should be alike, and whether all reach the first."""
    names = [host.spec.name for host in hosts]
    place = " + ".join(names)
    versions = [one.version for one in seen]
    if len({version for version in versions if version}) > 1:
        said = ", ".join(f"{name} {version}" for name, version in zip(names, versions, strict=True))
        yield Finding("error", f"{place}: engine", f"the versions differ: {said}", "install the same on all nodes")
    without = [name for name, one in zip(names, seen, strict=True) if one.model and not one.model.folder]
    if without and len(without) < len(names):
        text = f"{settings.flags.get('model-path')} is not on {', '.join(without)}"
        yield Finding("warning", f"{place}: model", text, "fetch it there too; the others wait for it")
    yield from _clocks(place, names, seen)
    yield from _meeting(place, hosts, settings, engine)


def _clocks(place: str, names: Sequence[str], seen: Sequence[Seen]) -> Iterator[Finding]:
    offsets = [one.facts.clock_offset for one in seen]
    apart = max(offsets) - min(offsets)
    if apart > 1:
        early, late = names[offsets.index(min(offsets))], names[offsets.index(max(offsets))]
        text = f"the clock of {late} is {apart:.1f} s ahead of that of {early}"
        yield Finding("note", f"{place}: clocks", text, "times are mapped")


def _meeting(place: str, hosts: Sequence[Host], settings: Settings, engine: str) -> Iterator[Finding]:
    where = f"{place}: meeting"
    try:
        address = found_address(hosts, asked_place(settings.flags, node_flags(engine)))
    except PersonError as fault:
        yield Finding("error", where, fault.text, fault.next)
    except HostError as fault:
        yield Finding("warning", where, str(fault), "this could not be checked")
    else:
        yield Finding("note", where, f"all nodes reach {hosts[0].spec.name} at {address}")
