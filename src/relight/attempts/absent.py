"""Wait for a host whose link is lost in the middle of a run: what it serves goes on meanwhile."""

from relight.attempts.busy import busy
from relight.attempts.site import Site
from relight.attempts.spent import count_absence
from relight.words.errors import UnreachableError

LONGEST = 1800.0
"""Seconds a host may be away before the run ends as unreachable, to be resumed by hand."""
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 30.0


def wait_for_host(site: Site, fault: UnreachableError) -> None:
    """Return when the host can be reached again; raise `fault` where that cannot pass, or takes too long.

    The time counts in no budget.
    """
    clock, pause = site.clock, FIRST_PAUSE
    began = clock.monotonic()
    with busy(site, f"{site.order.spec.name} is out of reach, waiting for it: {fault.text}"):
        while fault.passing and clock.monotonic() - began < LONGEST:
            clock.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            try:
                site.host.connect()
            except UnreachableError as again:
                fault = again
                continue
            count_absence(site, clock.monotonic() - began)
            return
    count_absence(site, clock.monotonic() - began)
    raise fault
