"""End a run: what is left running, what is stored, what is learned."""

from contextlib import suppress
from typing import Any

from relight.attempts.actions import End
from relight.attempts.busy import busy
from relight.attempts.effects import with_effect
from relight.attempts.ends import node_ends
from relight.attempts.learn import remember
from relight.attempts.prepare import LIMIT, clean
from relight.attempts.site import Site
from relight.attempts.world import world
from relight.planning.plan import options_now
from relight.planning.settings import lever_states
from relight.words.attempt import Attempt, Final, Record
from relight.words.errors import PersonError

PATIENCE = 20.0
"""Seconds between SIGTERM and SIGKILL."""


def stop_attempt(site: Site, n: int) -> None:
    """Stop what is left of attempt `n` and remember that nothing is."""
    with busy(site, f"stopping what is left of attempt {n}", n):
        stopped = site.host.stop(site.attempt_id(n), patience=PATIENCE if site.attempt(n).outcome == "sick" else 5.0)
    if stopped.left:
        names = ", ".join(f"{p.command} (pid {p.pid}, state {p.state})" for p in stopped.left)
        raise PersonError(
            f"processes of attempt {n} do not end: {names}", place=site.order.spec.name, next="reset the GPU or reboot"
        )
    site.stopped |= {n}
    ends = node_ends(site, site.attempt(n))
    if ends:
        site.note("stopped", n, attempt={"nodes": ends}, why="nothing of it is left on any node")


def finish(site: Site, end: End, *, patience: float = LIMIT) -> Record:
    """Carry out the end of a run, journal it and return the record; `patience` is for the host to become clean."""
    last = site.record.attempts[-1] if site.record.attempts else None
    final, held = None, ""
    if end.state == "healthy" and last:
        final = _final(site, last)
        site.host.settle(site.attempt_id(last.n))
        site.note("healthy", last.n, record={"final": final}, final=final)
    else:
        # What needs a person may be just that something does not end.
        with suppress(*((PersonError,) if end.state == "person" else ())):
            _stop_all(site)
        held = _still_held(site, patience)
    site.host.unlock(site.owner)
    fields: dict[str, Any] = {"state": end.state, "reason": end.reason, "next": end.next or held, "ended": site.stamp()}
    if end.plan:
        fields |= {"options": end.plan.options, "nogoods": end.plan.nogoods}
    elif final:
        fields |= {"options": options_now(site.record, site.order.playbook, world(site))}
    site.note("run_ended", record=fields, state=end.state, reason=end.reason, next=fields["next"])
    remember(site)
    return site.record


def _final(site: Site, last: Attempt) -> Final:
    env = dict(last.settings.env)
    states = lever_states(site.order.playbook, last.choice, last.settings, site.parser, site.knowledge.renames)
    levers = with_effect(states, site.order.playbook, last, last.measured)
    return Final(last.argv, env, levers, last.effective)


def _stop_all(site: Site) -> None:
    """Make sure that nothing of this run runs."""
    for attempt in site.record.attempts:
        if attempt.launched and attempt.n not in site.stopped:
            stop_attempt(site, attempt.n)


def _still_held(site: Site, patience: float) -> str:
    """Clear what this run left; return what the host still holds after `patience` seconds, "" where nothing.

    That is no news of the settings: a verdict of a run stands whatever its host holds.
    """
    if not any(a.launched for a in site.record.attempts):
        return ""
    try:
        clean(site, patience)
    except PersonError as fault:
        held = f"the host is not as it was before: {fault.text}"
        site.note("stopped", site.record.attempts[-1].n, why=held)
        return held
    return ""
