"""Watch one start from launch to verdict: its log, its processes, its answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from relight.attempts.clock import stamp
from relight.attempts.fetching import Fetching
from relight.attempts.follow import Follower
from relight.attempts.prepare import renew
from relight.attempts.site import Site
from relight.hosts.values import Status
from relight.logs.lines import Line
from relight.logs.marks import Mark
from relight.words.attempt import Attempt, Exit, Outcome, Phase

POLL = 0.5
"""Seconds between two looks at the log while nothing arrives."""
BLINK = 2.0
"""Seconds a log's channel may be away, or take to open, before that counts as absence."""
FETCHING = frozenset({None, "args", "init_dist", "load_weights"})
"""Phases in which the engine may fetch its model."""
PARTING = 3.0
"""Seconds that the other nodes get to end too, once one has, before they are ended."""
GRACE = 20.0
"""Seconds a server may take to die after its log showed the end; launches switch the slow crash diagnostics off."""


@dataclass(frozen=True)
class Ending:
    """The verdict of one launch. `why` is for the log of the run, `judged` what the judge noted.

    `lines` are sentences of relight's own that the diagnosis reads after the log: what no log can show.
    """

    outcome: Outcome
    why: str = ""
    exit: Exit | None = None
    judged: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    effective: Mapping[str, Any] = field(default_factory=dict)
    measured: Mapping[str, float] = field(default_factory=dict)


@dataclass
class Vigil:
    """One start being watched. Times are monotonic seconds."""

    site: Site
    attempt: Attempt
    follower: Follower
    began: float
    moved: float
    status: Status
    looked: float = -1e9
    fatal: float | None = None
    phases: dict[str, Phase] = field(default_factory=dict)
    downloading: float = 0.0
    away: float = 0.0
    memory: list[tuple[float, int]] = field(default_factory=list)
    fetching: Fetching | None = None
    peers: tuple[Follower, ...] = ()
    parting: float | None = None

    @property
    def now(self) -> float:
        """Return monotonic seconds."""
        return self.site.clock.monotonic()

    @property
    def news(self) -> tuple[Line, ...]:
        """Return the lines that the last look brought, from all nodes."""
        return (*self.follower.new, *(line for peer in self.peers for line in peer.new))

    @property
    def down(self) -> float:
        """Return for how many seconds the link to a node has been away."""
        return max(follower.down for follower in (self.follower, *self.peers))

    @property
    def shows_end(self) -> bool:
        """Say whether a log shows the end of the server."""
        return any(follower.watch.crashed for follower in (self.follower, *self.peers))

    def drain(self) -> None:
        """Take all that was ever written."""
        self.follower.drain(self.status.log_size)
        for peer, node in zip(self.peers, self.status.nodes[1:], strict=True):
            peer.drain(node.log_size)

    def pump(self, timeout: float = POLL) -> None:
        """Take what the log says now and tell about it."""
        before = self.now
        marks = self.follower.pump(timeout)
        for peer in self.peers:
            peer.pump(0.0)
        if self.news:
            self.moved = self.now
        if self.down > BLINK:
            self.away += self.now - before
        if self._downloads():
            self.downloading += self.now - before
        self._tell(marks)

    def _downloads(self) -> bool:
        """Say whether the model is being fetched: the log says so, or, where it shows no bar, its files grow."""
        phase = self.follower.progress.phase
        if phase == "download" or phase not in FETCHING:
            return phase == "download"
        goes_on = self.fetching is not None and self.fetching.look(self.now)
        if goes_on and "download" not in self.phases:
            self._begin("download")
            self.site.note("phase", self.attempt.n, attempt={"phases": tuple(self.phases.values())})
            self.site.tell("phase", self.attempt.n, name="download", i=None, n=None)
        return goes_on

    def _tell(self, marks: tuple[Mark, ...]) -> None:
        # Every rank says when a phase ends; what only moves an end is journaled with the next beginning, or at the end.
        if [mark for mark in marks if self._enter(mark)]:
            self.site.note("phase", self.attempt.n, attempt={"phases": tuple(self.phases.values())})
        progress = self.follower.progress
        if marks:
            i, n = progress.step or (None, None)
            self.site.tell("phase", self.attempt.n, name=progress.phase, i=i, n=n)
        if self.follower.new and progress.last:
            self.site.tell("marked", self.attempt.n, text=progress.last.text.strip(), line=progress.last.number)

    def _enter(self, mark: Mark) -> bool:
        """Take in what a mark says of the phases; say whether one began."""
        if mark.role == "fact" or not mark.phase:
            return False
        known = self.phases.get(mark.phase)
        if known is None:
            self._begin(mark.phase)
            return True
        if mark.role in {"end", "ready"}:
            self.phases[mark.phase] = replace(known, ended=self.site.stamp())
        return False

    def _begin(self, phase: str) -> None:
        now = self.site.stamp()
        self.phases = {k: replace(p, ended=p.ended or now) for k, p in self.phases.items()}
        self.phases[phase] = Phase(phase, now)

    def close_phases(self) -> tuple[Phase, ...]:
        """End every open phase now and return all."""
        now = stamp(self.site.clock.now())
        return tuple(replace(p, ended=p.ended or now) for p in self.phases.values())

    def look(self, every: float = 1.0) -> Status:
        """Ask the host about the attempt, at most once in `every` seconds, sooner once the log showed the end."""
        if self.fatal is not None:
            every = 0.2
        if self.now - self.looked >= every:
            self.status = self.site.host.status(self.site.attempt_id(self.attempt.n))
            self.looked = self.now
            renew(self.site, self.attempt.settings)
        return self.status


def ended(vigil: Vigil) -> Ending | None:
    """Return the verdict of a server that is gone; all of its log is here then."""
    status = vigil.look()
    if status.state == "running" and any(p.state != "Z" for p in status.tree):
        return _dying(vigil)
    if status.state in {"starting", "running"} and not status.reason:
        return None
    if _parting(vigil, status):
        return None
    vigil.drain()
    reason = status.reason or f"the server ended{_where(vigil, status)}"
    lines = (f"relight: {status.reason}",) if status.reason else ()
    vigil.site.note("crashed", vigil.attempt.n, exit=status.exit, reason=reason, ended=_ended_at(vigil, status))
    return Ending("crashed", reason, status.exit, lines=lines)


def _parting(vigil: Vigil, status: Status) -> bool:
    """Say whether nodes that still run have their moment: what they write now may be the cause of it all."""
    if all(node.state == "ended" for node in status.nodes):
        return False
    vigil.parting = vigil.now if vigil.parting is None else vigil.parting
    return vigil.now - vigil.parting < PARTING


def _where(vigil: Vigil, status: Status) -> str:
    named = zip(vigil.attempt.nodes, status.nodes, strict=True)
    ended = [node.host for node, said in named if said.state in {"none", "ended"}]
    return f" on {', '.join(ended)}" if ended else ""


def _ended_at(vigil: Vigil, status: Status) -> str | None:
    """Return when the server ended, by our clock."""
    known = vigil.site.known
    return stamp(status.ended - (known.facts.clock_offset if known else 0.0)) if status.ended else None


ENDING = "the log shows the end; waiting for the process to go"


def _dying(vigil: Vigil) -> Ending | None:
    """A server whose log shows the end and that does not go: it gets its time, then it counts as crashed."""
    if not vigil.shows_end:
        vigil.fatal = None
        return None
    if vigil.fatal is None:
        vigil.fatal = vigil.now
        vigil.site.tell("crashed", vigil.attempt.n, reason=ENDING, waiting=True)
    if vigil.now - vigil.fatal < GRACE:
        return None
    vigil.site.note("crashed", vigil.attempt.n, reason="the log shows the end and the process stays")
    return Ending("crashed", "the log shows the end and the process stays")
