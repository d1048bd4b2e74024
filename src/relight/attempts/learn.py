"""Knowledge across runs: read when the host is reached, added to when a run is over."""

from dataclasses import replace
from pathlib import Path

from relight.attempts.clock import epoch
from relight.attempts.site import Known, Site
from relight.journal import learned
from relight.journal.learned import Learned, Place
from relight.words.attempt import Nogood
from relight.words.kinds import PERSON


def place_of(site: Site, known: Known) -> Place:
    """Return what knowledge of this run depends on."""
    names = sorted({gpu.name for gpu in known.gpus})
    gpus = f"{' + '.join(names)} x{len(known.gpus)}" if names else "no GPU"
    gpus += f" on {len(site.nodes)} nodes" if len(site.nodes) > 1 else ""
    model = str(site.order.playbook.flags.get("model-path", ""))
    return Place(gpus, known.version or "unknown", model)


def recall(site: Site, known: Known) -> Learned:
    """Return what earlier runs found out at this place; with `forget` it is forgotten first."""
    place, state = place_of(site, known), state_of(site)
    if site.order.forget and not site.record.attempts:
        learned.forget(state, place)
    return learned.load(state, place)


def state_of(site: Site) -> Path:
    """Return the state folder that holds the run folders."""
    return site.journal.folder.parents[1]


def remember(site: Site) -> None:
    """Add what this run found out: nogoods, healthy settings, how long each phase took."""
    if site.known is None:
        return
    healthy = tuple(a.settings for a in site.record.attempts if a.outcome == "healthy" and a.rung == "real")
    new = Learned(
        place_of(site, site.known),
        nogoods=tuple(_of_run(n, site.record.run) for n in site.record.nogoods if _lasts(n)),
        healthy=healthy[::-1],
        phases=_phases(site),
    )
    learned.add(state_of(site), new)


def _lasts(nogood: Nogood) -> bool:
    """Say whether a nogood is about settings: what a person mends on the host is no lesson for the next run."""
    return bool(nogood.hard or nogood.terms) and nogood.kind not in PERSON


def _of_run(nogood: Nogood, run: str) -> Nogood:
    return nogood if nogood.because.startswith("run ") else replace(nogood, because=f"run {run}, {nogood.because}")


def _phases(site: Site) -> dict[str, float]:
    return {
        phase.name: epoch(phase.ended) - epoch(phase.started)
        for attempt in site.record.attempts
        if attempt.outcome == "healthy"
        for phase in attempt.phases
        if phase.ended
    }
