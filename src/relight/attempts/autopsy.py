"""What a hung server looks like from outside, kept in the run folder before it is stopped. Bounded in time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from relight.attempts.life import patience_of
from relight.attempts.site import Site, log_name
from relight.attempts.stacks import place, waits
from relight.attempts.watch import Ending
from relight.hosts.interface import Host
from relight.hosts.nodes import PID_STEP, on_node
from relight.hosts.values import HostError
from relight.journal.files import write_whole
from relight.journal.redact import redact_text
from relight.words.host import HostProcess

MOST = 16
"""Processes looked at."""
SAMPLE = 10.0
TOGETHER = 60.0
"""Seconds one sample may take, and all of them."""
PROC = ("wchan", "status", "syscall", "stack")


def with_autopsy(site: Site, n: int, ending: Ending, tree: Sequence[HostProcess]) -> Ending:
    """Return the ending of a hung server with the place its ranks have in common; what was seen is kept and named."""
    seen = [_seen(site, rank, on_node(tree, rank)) for rank in range(len(site.nodes))]
    _keep(site, n, [part for look in seen for part in look.parts])
    where = place([text for look in seen for text in look.stacks], _waits([look.proc for look in seen]))
    if not where:
        return ending
    text = f"all ranks in {where}" if sum(look.ranks for look in seen) > 1 else f"it is in {where}"
    return replace(ending, why=f"{ending.why}; {text}", lines=tuple(f"{line}; {text}" for line in ending.lines))


@dataclass(frozen=True)
class _Look:
    """What one host shows: how many ranks, their stacks, their lines of /proc, and all of it as titled parts."""

    ranks: int
    stacks: tuple[str, ...]
    proc: str
    parts: tuple[tuple[str, str], ...]


def _seen(site: Site, rank: int, tree: Sequence[HostProcess]) -> _Look:
    host = site.nodes[rank]
    ranks = _ranks(site, tree)
    dumps = tuple(_samples(site, host, ranks))
    proc = _said(host, ("grep", "-a", "-s", "-H", "", *(f"/proc/{p.pid}/{name}" for p in ranks for name in PROC)))
    parts = (*dumps, ("/proc", proc), ("cards", _cards(host)), ("sockets", _said(host, ("ss", "-tanp"))))
    where = f" on {host.spec.name}" if len(site.nodes) > 1 else ""
    titled = tuple((f"{title}{where}", text) for title, text in parts)
    return _Look(len(ranks), tuple(text for _, text in dumps), proc, titled)


def _waits(texts: Sequence[str]) -> Mapping[int, str]:
    """Return where in the kernel the processes of all hosts sleep; their pids are made to differ."""
    return {rank * PID_STEP + pid: at for rank, text in enumerate(texts) for pid, at in waits(text).items()}


def _ranks(site: Site, tree: Sequence[HostProcess]) -> tuple[HostProcess, ...]:
    patience = patience_of(site.order.playbook.engine)
    alive = tuple(p for p in tree if p.state != "Z")
    return (tuple(p for p in alive if patience.ranks.search(p.command)) or alive)[:MOST]


def _samples(site: Site, host: Host, ranks: Sequence[HostProcess]) -> Iterator[tuple[str, str]]:
    """Yield the stacks of each rank as a sampler on the host prints them; nothing where there is none."""
    until = site.clock.monotonic() + TOGETHER
    for rank in ranks:
        if site.clock.monotonic() > until:
            return
        said = _said(host, ("py-spy", "dump", "--nonblocking", "--pid", str(rank.pid)))
        if not said:
            return
        yield f"stack of {rank.command.strip()} (pid {rank.pid})", said


def _said(host: Host, argv: Sequence[str]) -> str:
    # Evidence where it can be had; a host without the program, or too ill to answer, is no fault of the server.
    try:
        ran = host.run(argv, timeout=SAMPLE, launch_env=True)
    except HostError:
        return ""
    return ran.stdout.decode("utf-8", "replace")


def _cards(host: Host) -> str:
    try:
        return "\n".join(str(asdict(gpu)) for gpu in host.gpus(timeout=SAMPLE))
    except HostError as fault:
        return str(fault)


def _keep(site: Site, n: int, parts: Sequence[tuple[str, str]]) -> None:
    name = log_name(n).replace("server.log", "hung.txt")
    text = "\n".join(f"==== {title}\n{body.rstrip()}\n" for title, body in parts if body)
    path = site.journal.folder / name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_whole(path, redact_text(text, site.journal.secrets))
    logs = tuple(dict.fromkeys((*site.attempt(n).logs, name)))
    site.note("marked", n, attempt={"logs": logs}, text=f"what the hung server looked like is in {name}")
