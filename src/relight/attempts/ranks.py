"""Ranks that died, or that somebody stopped, behind a parent that lives on. Pure: fed with looks at the processes."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from relight.words.host import HostProcess

GONE = frozenset({"Z", "X"})
STOPPED = "T"
"""The state of a process that a signal stopped. A tracer's stop ("t") is somebody looking at it, and passes."""
SHOWN = 4


@dataclass
class Ranks:
    """The processes of one server; `command` matches the names of its ranks. Times are seconds of one clock."""

    command: re.Pattern[str]
    _ranks: dict[int, HostProcess] = field(default_factory=dict)
    _stopped: dict[int, HostProcess] = field(default_factory=dict)
    _since: dict[tuple[str, int], float] = field(default_factory=dict)

    def look(self, now: float, tree: Sequence[HostProcess]) -> None:
        """Take in the process tree of a server whose main process runs; an empty tree says nothing."""
        if not tree:
            return
        alive = {p.pid: p for p in tree if p.state not in GONE}
        # A zombie that was never seen alive was a rank all the same.
        found = {p.pid: p for p in self._ranks_of(tree)}
        self._ranks |= {pid: p for pid, p in found.items() if pid in alive or pid not in self._ranks}
        self._stopped = {pid: p for pid, p in alive.items() if p.state == STOPPED}
        self._note(now, "died", self._ranks.keys() - alive.keys())
        self._note(now, "stopped", self._stopped)

    def _ranks_of(self, tree: Sequence[HostProcess]) -> list[HostProcess]:
        """Return the ranks of a tree: what a rank forks bears its name until it is another program, or to its end."""
        names = {p.pid: m[0] for p in tree if (m := self.command.search(p.command))}
        return [p for p in tree if p.pid in names and names.get(p.ppid) != names[p.pid]]

    def _note(self, now: float, what: str, pids: Collection[int]) -> None:
        """Keep since when each of `pids` is so; the others are so no longer."""
        kept = {key: at for key, at in self._since.items() if key[0] != what or key[1] in pids}
        self._since = {**{(what, pid): now for pid in pids}, **kept}

    def fault(self, now: float, *, after: float = 0.0) -> str:
        """Say which ranks have been dead, or which processes stopped, for `after` seconds; "" where none have."""
        late = [key for key, at in self._since.items() if now - at >= after]
        died = [self._ranks[pid] for what, pid in late if what == "died"]
        if died:
            return f"a rank died and its parent did not notice: {_named(died)}"
        stopped = [self._stopped[pid] for what, pid in late if what == "stopped"]
        return f"a process was stopped by a signal and does not go on: {_named(stopped)}" if stopped else ""


def _named(processes: Sequence[HostProcess]) -> str:
    names = [f"{p.command.strip()[:60]} (pid {p.pid})" for p in processes]
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
