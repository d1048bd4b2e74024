"""Make sure of a clean host before a launch: verified, not slept for."""

from collections.abc import Callable, Iterator, Sequence

from relight.attempts.busy import busy
from relight.attempts.launch import port_of
from relight.attempts.memory import foreign_processes, held
from relight.attempts.site import Site
from relight.attempts.spent import count_absence
from relight.hosts.interface import Host
from relight.hosts.values import Holder, Status
from relight.words.errors import BusyError, PersonError
from relight.words.host import Gpu, Listener
from relight.words.settings import Settings

LIMIT = 90.0
"""Seconds a host may take to become clean."""
DEFAULT_PORT = 30000


def take(site: Site, settings: Settings) -> None:
    """Take the lock on the cards and the port, or renew it; BusyError names who holds them.

    A server of an earlier run on the same cards or port counts as holding them; with `replace` it is stopped.
    """
    holders = _locked(site, settings) or _serving(site, settings)
    if holders and site.order.wait:
        holders = _waited_for(site, settings, holders)
    if holders:
        raise BusyError("; ".join(holders), place=site.order.spec.name, next="--wait waits, --replace stops a server")
    site.beaten = site.clock.monotonic()


def _waited_for(site: Site, settings: Settings, holders: tuple[str, ...]) -> tuple[str, ...]:
    """Wait until nobody holds the cards and the port: that counts in no budget."""
    began = site.clock.monotonic()
    try:
        with busy(site, f"waiting: {'; '.join(holders)}"):
            return _until(site, lambda: _locked(site, settings) or _serving(site, settings), limit=float("inf"))
    finally:
        count_absence(site, site.clock.monotonic() - began)


def _locked(site: Site, settings: Settings) -> tuple[str, ...]:
    """Take the lock; return who holds it. Whose link ended is given the time to come back, and waited for that long."""
    held = _ask_lock(site, settings)
    until = max((h.frees for h in held if h.frees is not None), default=0.0)
    if held and all(h.frees is not None for h in held):
        with busy(site, f"waiting {until:.0f} s: {'; '.join(_held(held))}, which is gone or out of reach"):
            _until(site, lambda: _held(_ask_lock(site, settings)), limit=until + 1.0)
        held = _ask_lock(site, settings)
    return _held(held)


def _ask_lock(site: Site, settings: Settings) -> tuple[Holder, ...]:
    return site.host.lock(site.owner, gpus=cards(site, site.host), port=port_of(settings) or DEFAULT_PORT)


def _serving(site: Site, settings: Settings) -> tuple[str, ...]:
    """Return the servers of earlier runs that are in the way."""
    port = port_of(settings) or DEFAULT_PORT
    servers = [(host, s) for host in site.nodes for s in host.attempts() if s.alive and _meets(site, host, s, port)]
    if servers and site.order.replace:
        for host, server in servers:
            replace(site, host, server)
        return ()
    return tuple(f"{server_name(server)} is running {_where(site, host)}" for host, server in servers)


def _where(site: Site, host: Host) -> str:
    return f"on {host.spec.name}" if len(site.nodes) > 1 else "there"


def _held(locked: Sequence[Holder]) -> tuple[str, ...]:
    """Return one sentence per owner, with all that it holds."""
    owners = dict.fromkeys(holder.who for holder in locked)
    return tuple(f"{', '.join(h.what for h in locked if h.who == who)} held by {who}" for who in owners)


def server_name(server: Status) -> str:
    """Return an earlier server's name as messages show it."""
    return f"the server of run {server.run or server.attempt_id}"


def _meets(site: Site, host: Host, server: Status, port: int) -> bool:
    if server.run == site.record.run:
        return False
    theirs, ours = server.gpus, cards(site, host)
    shared = not theirs or not ours or bool(set(theirs) & set(ours))
    # Without cards (a CPU host) only the port can be shared.
    return (server.port or DEFAULT_PORT) == port or (shared and bool(site.known and site.known.gpus))


def replace(site: Site, host: Host, server: Status) -> None:
    """Stop an earlier run's server and note in its own journal that it was replaced."""
    with site.journal.replacing(server.run, by=site.record.run, at=site.stamp()):
        with busy(site, f"stopping {server_name(server)}"):
            stopped = host.stop(server.attempt_id)
        if stopped.left:
            raise PersonError(f"{server_name(server)} does not stop", place=host.spec.name, next="see its processes")


def cards(site: Site, host: Host) -> tuple[int, ...]:
    """Return the cards this run uses on a host; several nodes as a whole lock their own."""
    if host.spec.gpus is not None:
        return host.spec.gpus
    return tuple(gpu.index for gpu in seen_before(site, host))


def seen_before(site: Site, host: Host) -> tuple[Gpu, ...]:
    """Return the cards of a host as they were before our first attempt."""
    known = site.known.gpus if site.known else ()
    return tuple(gpu for gpu in known if gpu.node in {"", host.spec.name})


def renew(site: Site, settings: Settings) -> None:
    """Renew the lock every half minute."""
    if site.clock.monotonic() - site.beaten > 30:
        _ask_lock(site, settings)
        site.beaten = site.clock.monotonic()


def clean(site: Site, patience: float = LIMIT) -> None:
    """Clear what failed attempts of this run left; PersonError says who holds what after `patience` seconds."""
    failed = [a.n for a in site.record.attempts if a.launched and a.outcome != "healthy"]
    with busy(site, "making sure that the host is clean: processes, memory of the cards, leftovers"):
        left = _until(site, lambda: _dirt(site, failed), limit=patience)
    if left:
        raise PersonError("; ".join(left), place=site.order.spec.name, next="free it by hand, then run again")


def _dirt(site: Site, failed: Sequence[int]) -> tuple[str, ...]:
    found = [(host, what) for rank, host in enumerate(site.nodes) for what in _dirt_on(site, host, rank, failed)]
    several = len(site.nodes) > 1
    return tuple(f"{host.spec.name}: {what}" if several else what for host, what in found)


def _dirt_on(site: Site, host: Host, rank: int, failed: Sequence[int]) -> tuple[str, ...]:
    left = host.clean([site.attempt_id(n, rank) for n in failed]) if failed else ()
    used = cards(site, host)
    ours = {p.pid: p.ours for p in host.processes() if p.ours}
    return (
        *(f"{item.kind} {item.what}: {item.why or 'still there'}" for item in left),
        *held([gpu for gpu in seen_before(site, host) if gpu.index in used], host.gpus(), ours),
    )


def memory_holders(site: Site) -> str:
    """Return the foreign processes that hold memory of the cards now, "" where none is seen."""
    found = (_foreign_on(site, host) for host in site.nodes)
    return ", ".join(name for names in found for name in names)


def _foreign_on(site: Site, host: Host) -> tuple[str, ...]:
    ours = {p.pid: p.ours for p in host.processes() if p.ours}
    indices = {gpu.index for gpu in seen_before(site, host)}
    named = foreign_processes([gpu for gpu in host.gpus() if gpu.index in indices], ours)
    return tuple(f"{name} {_where(site, host)}" for name in named) if len(site.nodes) > 1 else named


def port_holder(site: Site, settings: Settings) -> str:
    """Return the process that listens on the port of a launch, "" when it is free; TIME_WAIT does not count."""
    port = port_of(settings) or DEFAULT_PORT
    found = _until(site, lambda: tuple(_listening(site, port)), limit=5.0)
    return found[0] if found else ""


def _listening(site: Site, port: int) -> Iterator[str]:
    for host in site.nodes:
        named = (_named(x) for x in host.listeners() if x.port == port)
        yield from (f"{name} {_where(site, host)}" if len(site.nodes) > 1 else name for name in named)


def free_port(site: Site, settings: Settings) -> int:
    """Return the next port above the asked one that nobody listens on."""
    taken = {listener.port for host in site.nodes for listener in host.listeners()}
    return next(p for p in range((port_of(settings) or DEFAULT_PORT) + 1, 1 << 16) if p not in taken)


def _named(listener: Listener) -> str:
    return f"{_short(listener.command)} (pid {listener.pid})" if listener.pid else "a process we may not see"


def _short(command: str, most: int = 80) -> str:
    # What is served tells whose it is; the folder of the interpreter does not.
    program, _, rest = command.partition(" ")
    command = f"{program.rpartition('/')[2]} {rest}".strip()
    return command if len(command) <= most else f"{command[: most - 3]}..."


def _until(site: Site, look: Callable[[], tuple[str, ...]], *, limit: float = LIMIT) -> tuple[str, ...]:
    """Look until nothing is found or `limit` seconds passed; return what is still found."""
    give_up = site.clock.monotonic() + limit
    pause = 0.2
    while (found := look()) and site.clock.monotonic() < give_up:
        site.clock.sleep(pause)
        pause = min(pause * 1.5, 5.0 if limit > LIMIT else 0.5)
    return found
