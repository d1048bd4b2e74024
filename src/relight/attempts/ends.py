"""How each of several nodes ended, for the record."""

from dataclasses import replace

from relight.attempts.clock import stamp
from relight.attempts.site import Site
from relight.hosts.values import Status
from relight.words.attempt import Attempt, NodeEnd


def node_ends(site: Site, attempt: Attempt) -> tuple[NodeEnd, ...]:
    """Return the nodes of an attempt with what their hosts say of their end now; () for one host."""
    if not attempt.nodes:
        return ()
    said = site.host.status(site.attempt_id(attempt.n)).nodes
    return tuple(_with_end(site, node, status) for node, status in zip(attempt.nodes, said, strict=True))


def _with_end(site: Site, node: NodeEnd, said: Status) -> NodeEnd:
    if said.state != "ended":
        return node
    at = None if said.ended is None else stamp(said.ended - site.clock_offset(node.rank))
    return replace(node, exit=said.exit, ended=at, stopped=said.stopped)
