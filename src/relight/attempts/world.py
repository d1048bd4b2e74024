"""What planning is told about the host and about earlier runs."""

from relight.attempts.clock import epoch
from relight.attempts.site import Site
from relight.attempts.spent import attempts_allowed, spent
from relight.journal.learned import Learned
from relight.planning.world import World
from relight.words.settings import Settings

MIB_PER_GIB = 1024


def world(site: Site) -> World:
    """Return the world as it stands now."""
    order = site.order
    learned = site.learned
    return World(
        parser=site.parser,
        version=site.version,
        knowledge=site.knowledge,
        answers=site.answers,
        can_ask=site.can_ask and site.parser is not None and order.mode == "retry",
        oracle_trusted=site.oracle_trusted,
        overrides=order.overrides,
        host_env=order.spec.env,
        spent_seconds=spent(site),
        max_attempts=attempts_allowed(site),
        deadline=order.deadline,
        learned=learned.nogoods if learned else (),
        known_good=_known_good(learned),
        settled=site.settled,
        load_seconds=load_seconds(site),
        port_holder=site.port_holder,
        memory_holder=site.memory_holder,
        died=site.died,
        host_gib=site.known.facts.memory_total / MIB_PER_GIB * max(len(site.nodes), 1) if site.known else None,
        gpu_count=len(site.known.gpus) if site.known and site.known.gpus else None,
        gpu_names=tuple(sorted({gpu.name for gpu in site.known.gpus})) if site.known else (),
    )


def _known_good(learned: Learned | None) -> Settings | None:
    return next(iter(learned.healthy), None) if learned else None


def load_seconds(site: Site) -> float | None:
    """Return how long the last real load of weights took, None where none was seen."""
    spans = [
        epoch(phase.ended) - epoch(phase.started)
        for attempt in site.record.attempts
        if attempt.rung == "real"
        for phase in attempt.phases
        if phase.name == "load_weights" and phase.ended
    ]
    return spans[-1] if spans else None
