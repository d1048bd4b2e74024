"""Name the cause of a failed attempt from its stored log, the host's kernel log and the engine's source."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from relight.attempts.clock import epoch
from relight.attempts.first import Evidence, failed_first, kind_beside, moment_of
from relight.attempts.follow import WINDOW, left_on_host, log_of
from relight.attempts.site import Site
from relight.attempts.wishes import wishes_of
from relight.diagnosis.diagnose import diagnose
from relight.diagnosis.ending import Ended
from relight.diagnosis.scan import scan
from relight.hosts.interface import Host
from relight.hosts.nodes import node_argv
from relight.hosts.values import HostError
from relight.logs.lines import Line
from relight.logs.read import read_log
from relight.words.attempt import Attempt, Exit, NodeEnd
from relight.words.diagnosis import Diagnosis, Want
from relight.words.knowledge import Knowledge

ROUNDS = 3
"""How often a diagnosis may ask for more source files."""


def examine(site: Site, attempt: Attempt) -> tuple[Diagnosis, tuple[NodeEnd, ...]]:
    """Diagnose `attempt`; source files the diagnosis wants are fetched from the host.

    Of several nodes each log is read; the diagnosis is that of the node that failed first, and the nodes are returned
    with what their own log shows.
    """
    if not attempt.nodes:
        _fetch_rest(site, attempt, 0)
        return _diagnosed(site, attempt, 0, attempt.remarks)[0], ()
    for node in attempt.nodes:
        _fetch_rest(site, attempt, node.rank)
    return _over_nodes(site, attempt)


def _over_nodes(site: Site, attempt: Attempt) -> tuple[Diagnosis, tuple[NodeEnd, ...]]:
    # What relight itself saw is about the node that ended, or about the first, which is the one that is asked.
    died = [node for node in attempt.nodes if node.ended and not node.stopped]
    about = min(died, key=lambda node: node.ended or "").rank if died else 0
    read = [_diagnosed(site, attempt, n.rank, attempt.remarks if n.rank == about else ()) for n in attempt.nodes]
    seen = [_evidence(site, attempt, node, *both) for node, both in zip(attempt.nodes, read, strict=True)]
    first = failed_first(seen)
    ends = (_told(node, e, found, first) for node, e, (found, _) in zip(attempt.nodes, seen, read, strict=True))
    return read[first][0], tuple(ends)


def _evidence(site: Site, attempt: Attempt, node: NodeEnd, found: Diagnosis, lines: Sequence[Line]) -> Evidence:
    started = site.nodes[node.rank].status(site.attempt_id(attempt.n, node.rank)).started
    there = moment_of(lines, found.cause.line, started) if found.cause else None
    shown = None if there is None else there - site.clock_offset(node.rank)
    ended = epoch(node.ended) if node.ended else None
    return Evidence(node.rank, found.cause.kind if found.cause else "", shown, ended, node.stopped)


def _told(node: NodeEnd, seen: Evidence, found: Diagnosis, first: int) -> NodeEnd:
    if node.rank != first and (node.stopped or not seen.kind):
        return replace(node, first=False)
    kind = seen.kind if node.rank == first else kind_beside(seen.kind, seen.weight)
    return replace(node, first=node.rank == first, kind=kind, text=found.cause.text if found.cause else "")


def changed_by(nodes: Sequence[NodeEnd]) -> dict[str, Any]:
    """Return what a diagnosis over several nodes changes in the attempt besides: its end is that of the first."""
    first = next((node for node in nodes if node.first), None)
    return {"nodes": tuple(nodes), "exit": first.exit} if first else {}


def _diagnosed(site: Site, attempt: Attempt, rank: int, remarks: Sequence[str]) -> tuple[Diagnosis, tuple[Line, ...]]:
    """Return the diagnosis of one node's log, with its lines; `remarks` are read after them."""
    node = attempt.nodes[rank] if attempt.nodes else None
    lines = _lines(site, attempt, rank, remarks)
    ended = Ended(
        exit=_exit(attempt, node),
        kernel=_kernel_log(site, attempt, rank),
        oom_kills=_oom_kills(site, attempt, rank),
    )
    sources: dict[str, str] = {}
    for _ in range(ROUNDS):
        found = diagnose(
            lines,
            host_knowledge(site),
            name=node.log if node else attempt.log,
            argv=node_argv(attempt.argv, rank),
            env=attempt.settings.env,
            ended=ended,
            running=bool(node and node.stopped),
            sources=sources,
            wishes=wishes_of(site),
        )
        new = fetched(site, found.wants, sources, rank)
        if not new:
            break
        sources |= new
    return found, lines


def _fetch_rest(site: Site, attempt: Attempt, rank: int) -> None:
    """Bring what the server wrote after its verdict: while it was stopped, or before its end when it had been healthy.

    Of what a healthy server wrote only the last WINDOW bytes come; the rest stays on the host.
    """
    if not attempt.launched:
        return
    size = site.nodes[rank].status(site.attempt_id(attempt.n, rank)).log_size
    path = site.log_path(attempt.n, rank)
    healthy = attempt.outcome == "healthy"
    if not path.exists() or path.stat().st_size + left_on_host(path) < size:
        with log_of(site, attempt.n, rank, skip_to=size - WINDOW if healthy else 0) as log:
            log.drain(size)


def host_knowledge(site: Site) -> Knowledge:
    """Return the knowledge with the host's own parser in the place of our tables."""
    if site.parser is None:
        return site.knowledge
    return replace(site.knowledge, versions={site.version or "0": site.parser})


def _lines(site: Site, attempt: Attempt, rank: int, remarks: Sequence[str]) -> tuple[Line, ...]:
    path = site.log_path(attempt.n, rank)
    stored = tuple(scan(read_log(str(path)), site.knowledge)) if path.exists() else ()
    after = stored[-1].number if stored else 0
    return (*stored, *(Line(after + i, -1, text) for i, text in enumerate(remarks, start=1)))


def _kernel_log(site: Site, attempt: Attempt, rank: int) -> tuple[str, ...]:
    try:
        return site.nodes[rank].kernel_log(epoch(attempt.started) + site.clock_offset(rank))
    except HostError:
        # Evidence where it can be read, never a reason to fail.
        return ()


def _exit(attempt: Attempt, node: NodeEnd | None) -> Exit | None:
    """Return how the server ended by itself, None where it was we who ended it."""
    if attempt.outcome in {"hung", "sick"} or (node and node.stopped):
        return None
    return node.exit if node else attempt.exit


def _oom_kills(site: Site, attempt: Attempt, rank: int) -> int | None:
    return site.nodes[rank].status(site.attempt_id(attempt.n, rank)).oom_kills if attempt.launched else None


def fetched(site: Site, wants: tuple[Want, ...], have: dict[str, str], rank: int = 0) -> dict[str, str]:
    """Return the texts of the wanted files that are not here yet and that the host (node `rank`) has."""
    files = dict.fromkeys(w.file for w in wants if w.file not in have)
    texts = {file: _source(site.nodes[rank], file) for file in files}
    return {file: text for file, text in texts.items() if text is not None}


def _source(host: Host, file: str) -> str | None:
    try:
        return host.source(file)
    except HostError:
        return None
