"""Is a silent start alive? Looks at the host's processes and cards, and gives what it sees to patience."""

from relight.attempts import signs
from relight.attempts.patience import Patience, Pulse, read_patience
from relight.attempts.ranks import Ranks
from relight.attempts.watch import GRACE, Ending, Vigil
from relight.config.shipped import engine
from relight.hosts.nodes import on_node
from relight.hosts.values import HostError

LOOK_EVERY = 10.0
"""Seconds between two looks at processes and cards."""
SETTLE = 1.0
"""Seconds after which a new phase is looked at: it has taken its memory then."""
PATIENCE = "patience.toml"


def patience_of(name: str) -> Patience:
    """Read what is known of one engine's silences."""
    return read_patience((engine(name) / PATIENCE).read_text(), place=PATIENCE)


class Life:
    """The pulse of one start, taken from its log and from the host."""

    def __init__(self, vigil: Vigil) -> None:
        site = vigil.site
        self.vigil = vigil
        self.patience = patience_of(site.order.playbook.engine)
        self.pulse = Pulse(self.patience, vigil.began, site.learned.phases if site.learned else {})
        self._looked = vigil.now
        self._phase: str | None = None
        self._ranks = Ranks(self.patience.ranks)
        self._seen = ""

    def hung(self) -> Ending | None:
        """Take in what is new; return the verdict of a start that is called hung."""
        vigil = self.vigil
        phase = vigil.follower.progress.phase
        for line in vigil.news:
            self.pulse.hear(vigil.now, line.text, phase)
        if vigil.down:
            # Nothing is heard or seen over a link that is away: its silence is not the server's.
            self.pulse.excuse(vigil.now)
            return None
        self._look()
        why = self._fault()
        if why:
            return self._ending(phase, why)
        found = self.pulse.assess(vigil.now)
        return self._ending(phase, found.why) if found.state == "hung" else None

    def short_of_ranks(self) -> bool:
        """Say whether a rank is gone or stopped at this moment."""
        status = self.vigil.look(every=0.0)
        self._ranks.look(self.vigil.now, status.tree)
        return bool(self._ranks.fault(self.vigil.now))

    def _fault(self) -> str:
        """Say what is wrong with the ranks once they have had their time; that it is seen is told at once.

        A crash takes its ranks one by one: only a parent that lives on without them did not notice.
        """
        now = self.vigil.now
        self._ranks.look(now, self.vigil.status.tree)
        seen = self._ranks.fault(now)
        if seen and seen != self._seen:
            self.vigil.site.tell("marked", self.vigil.attempt.n, text=f"{seen}; {GRACE:.0f} s to go on", line=0)
        self._seen = seen
        return self._ranks.fault(now, after=GRACE)

    def _ending(self, phase: str | None, why: str) -> Ending:
        name, nodes = phase or "start", len(self.vigil.site.nodes)
        why += f", over {nodes} nodes" if nodes > 1 else ""
        self.vigil.site.note("hung", self.vigil.attempt.n, phase=name, reason=why)
        return Ending("hung", why, lines=(f"relight: hung: {name}: {why}",))

    def _look(self) -> None:
        """Look at the host's processes and cards from time to time."""
        vigil = self.vigil
        phase = vigil.follower.progress.phase
        every = SETTLE if phase != self._phase else LOOK_EVERY
        if vigil.now - self._looked < every:
            return
        self._looked, self._phase = vigil.now, phase
        try:
            seen = signs.together([_signs(vigil, rank) for rank in range(len(vigil.site.nodes))])
        except HostError:
            return
        used = max(seen.vram.values(), default=None)
        if used is not None:
            vigil.memory.append((round(vigil.now - vigil.began, 1), used))
        # Told without news too: who looks on sees that it is being watched.
        vigil.site.tell("phase", vigil.attempt.n, name=phase, memory=used)
        self.pulse.look(seen)


def _signs(vigil: Vigil, rank: int) -> signs.Signs:
    """Return what the processes and cards of one node show."""
    host, tree = vigil.site.nodes[rank], on_node(vigil.status.tree, rank)
    said = host.run(signs.command(p.pid for p in tree)).stdout.decode(errors="replace")
    return signs.read(said, tree, at=vigil.now, gpus=host.gpus())
