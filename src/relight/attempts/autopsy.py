"""What a hung server looks like from outside, kept in the run folder before it is stopped. Bounded in time."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from relight.attempts.life import patience_of
from relight.attempts.site import Site, log_name
from relight.attempts.stacks import place, waits
from relight.attempts.watch import Ending
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
    ranks = _ranks(site, tree)
    dumps = tuple(_samples(site, ranks))
    proc = _said(site, ("grep", "-a", "-s", "-H", "", *(f"/proc/{p.pid}/{name}" for p in ranks for name in PROC)))
    where = place([text for _, text in dumps], waits(proc))
    _keep(site, n, (*dumps, ("/proc", proc), ("cards", _cards(site)), ("sockets", _said(site, ("ss", "-tanp")))))
    if not where:
        return ending
    seen = f"all ranks in {where}" if len(ranks) > 1 else f"it is in {where}"
    return replace(ending, why=f"{ending.why}; {seen}", lines=tuple(f"{line}; {seen}" for line in ending.lines))


def _ranks(site: Site, tree: Sequence[HostProcess]) -> tuple[HostProcess, ...]:
    patience = patience_of(site.order.playbook.engine)
    alive = tuple(p for p in tree if p.state != "Z")
    return (tuple(p for p in alive if patience.ranks.search(p.command)) or alive)[:MOST]


def _samples(site: Site, ranks: Sequence[HostProcess]) -> Iterator[tuple[str, str]]:
    """Yield the stacks of each rank as a sampler on the host prints them; nothing where there is none."""
    until = site.clock.monotonic() + TOGETHER
    for rank in ranks:
        if site.clock.monotonic() > until:
            return
        said = _said(site, ("py-spy", "dump", "--nonblocking", "--pid", str(rank.pid)))
        if not said:
            return
        yield f"stack of {rank.command.strip()} (pid {rank.pid})", said


def _said(site: Site, argv: Sequence[str]) -> str:
    # Evidence where it can be had; a host without the program, or too ill to answer, is no fault of the server.
    try:
        ran = site.host.run(argv, timeout=SAMPLE, launch_env=True)
    except HostError:
        return ""
    return ran.stdout.decode("utf-8", "replace")


def _cards(site: Site) -> str:
    try:
        return "\n".join(str(asdict(gpu)) for gpu in site.host.gpus(timeout=SAMPLE))
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
