"""Wait for a host that is lost, or answers too late, in the middle of a run: what it serves goes on meanwhile."""

from dataclasses import dataclass

from relight.attempts.busy import busy
from relight.attempts.site import Site
from relight.attempts.spent import count_absence
from relight.hosts.values import NoAnswerError
from relight.words.errors import UnreachableError

LONGEST = 1800.0
"""Seconds a host may be away before the run ends as unreachable, to be resumed by hand."""
CALM = 300.0
"""Seconds without a fault after which a host is well again: longer than any question of a start may take."""
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 30.0


@dataclass
class Absences:
    """Waits for one host, again and again; one that is reached and never answers is waited for once only."""

    site: Site
    _began: float = 0.0
    _back: float = -1e9

    def wait(self, fault: UnreachableError | NoAnswerError) -> None:
        """Return when the host answers again; raise `fault` where that takes too long, or is of no use."""
        now = self.site.clock.monotonic()
        if now - self._back > CALM:
            self._began = now
        elif isinstance(fault, NoAnswerError) and now - self._began > LONGEST:
            raise fault
        wait_for_host(self.site, fault)
        self._back = self.site.clock.monotonic()


def passes(fault: UnreachableError | NoAnswerError) -> bool:
    """Say whether a host may answer again by itself."""
    return isinstance(fault, NoAnswerError) or fault.passing


def wait_for_host(site: Site, fault: UnreachableError | NoAnswerError) -> None:
    """Return when the host answers again; raise `fault` where that cannot pass, or takes too long.

    The time counts in no budget.
    """
    clock, pause = site.clock, FIRST_PAUSE
    began = clock.monotonic()
    with busy(site, f"{site.order.spec.name} is out of reach, waiting for it: {fault.text}"):
        while passes(fault) and clock.monotonic() - began < LONGEST:
            clock.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            try:
                site.host.connect()
            except (UnreachableError, NoAnswerError) as again:
                fault = again
                continue
            count_absence(site, clock.monotonic() - began)
            return
    count_absence(site, clock.monotonic() - began)
    raise fault
