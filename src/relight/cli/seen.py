"""What `relight check` and `relight init` see of a host, as values."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from relight.cli.model import ModelSeen, look_at_model
from relight.hosts.interface import Host
from relight.hosts.values import Disk, HostError, HostFacts, Interpreter, Leftover, Status, Usage
from relight.words.host import Gpu, HostProcess, Listener
from relight.words.parser import HostParser
from relight.words.settings import Settings

T = TypeVar("T")


@dataclass(frozen=True)
class Seen:
    """The host as it is now. `parser_fault` says why the parser could not be asked."""

    facts: HostFacts
    gpus: tuple[Gpu, ...] = ()
    version: str | None = None
    parser: HostParser | None = None
    parser_fault: str = ""
    listeners: tuple[Listener, ...] = ()
    processes: tuple[HostProcess, ...] = ()
    servers: tuple[Status, ...] = ()
    leftovers: tuple[Leftover, ...] = ()
    disk: Disk | None = None
    usage: Usage | None = None
    interpreters: tuple[Interpreter, ...] = ()
    images: tuple[str, ...] = ()
    model: ModelSeen | None = None
    unasked: tuple[str, ...] = field(default=())


def look(host: Host, settings: Settings) -> Seen:
    """Ask a connected host everything that a launch with `settings` depends on. Nothing is launched."""
    facts = host.connect()
    faults: list[str] = []

    def asked(question: Callable[[], T], otherwise: T) -> T:
        try:
            return question()
        except HostError as fault:
            faults.append(str(fault))
            return otherwise

    parser, fault = _parser(host)
    version = asked(host.engine_version, None)
    return Seen(
        facts=facts,
        gpus=asked(host.gpus, ()),
        version=version or (parser.version if parser else None),
        parser=parser,
        parser_fault=fault,
        listeners=asked(host.listeners, ()),
        processes=asked(host.processes, ()),
        servers=asked(lambda: tuple(s for s in host.attempts() if s.alive), ()),
        leftovers=asked(host.leftovers, ()),
        disk=asked(lambda: host.disk(facts.workdir), None),
        usage=asked(host.usage, None),
        interpreters=() if parser else asked(host.interpreters, ()),
        images=asked(host.images, ()),
        model=asked(lambda: look_at_model(host, facts.home, settings), None),
        unasked=tuple(faults),
    )


def _parser(host: Host) -> tuple[HostParser | None, str]:
    try:
        return host.parser(), ""
    except HostError as fault:
        return None, str(fault)
