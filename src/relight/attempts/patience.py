"""Slow or hung? A start is hung only when it is silent for longer than its phase may be, without any sign of life.

Pure: the caller brings the time, the lines and the looks at the host.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from relight.attempts.signs import Process, Signs
from relight.words.errors import UsageError

State: TypeAlias = Literal["going", "slow", "hung"]
# A bar of tqdm, whatever it counts: percent or i/n.
BAR = re.compile(r"(\d+)%\||\b(\d+)/(\d+)\b")
NUMBER = re.compile(r"\d+")
FAMILIAR = 3
"""How often a line may come, numbers aside, before it is taken for a heartbeat."""


@dataclass(frozen=True)
class Patience:
    """Durations in seconds per phase, and what counts as a sign of life (playbooks/ENGINE/patience.toml)."""

    phases: Mapping[str, float]
    default: float
    blind: float
    history: float
    most: float
    cpu_phases: frozenset[str]
    compilers: re.Pattern[str]
    main: re.Pattern[str]
    cpu: float
    io: int
    rss: int
    vram: int
    watts: float
    watts_share: float
    utilisation: float
    faults: int
    work: "Work"
    spin_phases: frozenset[str]
    spin_after: float
    spin_utilisation: float
    spin_watts: tuple[float, float]
    ranks: re.Pattern[str]

    def of(self, phase: str | None, longest: float = 0.0) -> float:
        """Return the patience for a phase; `longest` is its longest silence on this host so far that ended well."""
        return min(max(self.phases.get(phase or "", self.default), self.history * longest), self.most)


@dataclass(frozen=True)
class Work:
    """What looks like work and may be waiting: in which `phases` it counts, and for how many seconds at most."""

    phases: frozenset[str]
    longest: float
    idle: float
    watts: float


@dataclass(frozen=True)
class Assessment:
    """The state of a start and a sentence that says why."""

    state: State
    why: str


def read_patience(text: str, *, place: str = "patience.toml") -> Patience:
    """Return the patience that the TOML `text` holds; a UsageError names `place` and what is wrong."""
    try:
        return _patience(tomllib.loads(text))
    except tomllib.TOMLDecodeError as exc:
        raise UsageError(str(exc), place=place, next="write it as TOML") from exc
    except KeyError as exc:
        raise UsageError(f"missing key {exc}", place=place, next="add it") from exc
    except re.error as exc:
        raise UsageError(f"not a regular expression: {exc}", place=place, next="mend it") from exc


def _patience(data: Mapping[str, Any]) -> Patience:
    life, spin, work = data["life"], data["spin"], data["work"]
    return Patience(
        phases=data["phases"],
        default=data["default"],
        blind=data["blind"],
        history=data["history"],
        most=data["most"],
        cpu_phases=frozenset(life["cpu_phases"]),
        compilers=re.compile(life["compilers"]),
        main=re.compile(life["main"]),
        cpu=life["cpu"],
        io=life["io"],
        rss=life["rss"],
        vram=life["vram"],
        watts=life["watts"],
        watts_share=life["watts_share"],
        utilisation=life["utilisation"],
        faults=life["faults"],
        work=Work(frozenset(work["phases"]), work["longest"], work["idle"], work["watts"]),
        spin_phases=frozenset(spin["phases"]),
        spin_after=spin["after"],
        spin_utilisation=spin["utilisation"],
        spin_watts=tuple(spin["watts"]),
        ranks=re.compile(data["ranks"]["command"]),
    )


@dataclass
class Pulse:
    """The life of one start, fed with lines and looks as they come; times are seconds of one clock.

    `history` maps a phase to the longest silence it has had on this host in starts that went well.
    """

    patience: Patience
    began: float
    history: Mapping[str, float] = field(default_factory=dict)
    phase: str | None = None
    spoke: float = field(init=False)
    lived: float = field(init=False)
    _sure: float = field(init=False)
    sign: str = "the launch"
    silences: dict[str, float] = field(default_factory=dict)
    _heard: dict[str, int] = field(default_factory=dict)
    _bars: dict[str, str] = field(default_factory=dict)
    _last: Signs | None = None
    _seeing: bool = False
    _peak_rss: int = 0
    _peak_vram: dict[int, int] = field(default_factory=dict)
    _spinning: float | None = None

    def __post_init__(self) -> None:
        self.spoke = self.lived = self._sure = self.began

    def hear(self, now: float, text: str, phase: str | None = None) -> None:
        """Take in a line of the log and the phase it leaves the start in. A heartbeat is no news."""
        if phase != self.phase:
            self.enter(now, phase)
        elif self._is_news(text):
            self._speak(now)

    def enter(self, now: float, phase: str | None) -> None:
        """Begin a phase: that is news, and what was heard in the one before no longer counts."""
        self._speak(now)
        self.phase = phase
        self._heard.clear()
        self._spinning = None

    def look(self, signs: Signs) -> None:
        """Take in a look at the host; it is compared with the one before."""
        before, self._last = self._last, signs
        self._seeing = not signs.blind
        found = self._life(before, signs) if before else ""
        if found:
            self._sure = signs.at
        elif before and signs.at - max(self.spoke, self._sure) <= self.patience.work.longest:
            found = self._work(before, signs)
        self._peak_rss = max(self._peak_rss, _rss(signs))
        for card, used in signs.vram.items():
            self._peak_vram[card] = max(self._peak_vram.get(card, 0), used)
        if found:
            self.lived, self.sign = signs.at, found
        self._spins(signs, alive=bool(found))

    def excuse(self, now: float) -> None:
        """Begin the silence anew at `now`: nobody could listen before."""
        self.spoke = now

    def assess(self, now: float) -> Assessment:
        """Say whether the start is going, slow (silent for longer than usual, but alive) or hung."""
        allowed = self.allowed
        silent, still = now - self.spoke, now - max(self.spoke, self.lived)
        name = self.phase or "the start"
        if self._spinning is not None and now - max(self._spinning, self.spoke) > self.patience.spin_after:
            return Assessment("hung", f"{name}: the cards only wait, and nothing has moved for {still:.0f} s")
        if still > allowed:
            return Assessment("hung", f"{name}: silent for {silent:.0f} s, no sign of life for {still:.0f} s")
        if silent > allowed / 2:
            return Assessment("slow", f"{name}: silent for {silent:.0f} s, last sign of life: {self.sign}")
        return Assessment("going", f"{name}: last news {silent:.0f} s ago")

    @property
    def allowed(self) -> float:
        """Return for how many seconds this phase may show nothing at all."""
        seconds = self.patience.of(self.phase, self.history.get(self.phase or "", 0.0))
        return seconds if self._seeing else min(seconds * self.patience.blind, self.patience.most)

    def _speak(self, now: float) -> None:
        key = self.phase or ""
        self.silences[key] = max(self.silences.get(key, 0.0), now - self.spoke)
        self.spoke, self.sign = now, "the log"

    def _is_news(self, text: str) -> bool:
        shape = NUMBER.sub("0", text)
        bar = BAR.search(text)
        if bar:
            moved = self._bars.get(shape) != bar.group(0)
            self._bars[shape] = bar.group(0)
            return moved
        self._heard[shape] = self._heard.get(shape, 0) + 1
        return bool(text.strip()) and self._heard[shape] <= FAMILIAR

    def _life(self, before: Signs, now: Signs) -> str:
        wanted = self.patience
        seconds = max(now.at - before.at, 1e-3)
        busy = [p for p in now.processes.values() if _cores(before, p, seconds) >= wanted.cpu]
        if any(wanted.compilers.search(p.command) for p in busy):
            return "compilers at work"
        if busy and self.phase in {None, *wanted.cpu_phases}:
            return "the CPU is busy"
        if self._helped(busy, now):
            return "a process of a rank is busy"
        if _moved(before, now) >= wanted.io:
            return "bytes are read or written"
        if _faults(before, now) >= wanted.faults:
            return "pages come in"
        return self._growth(now) or self._lesser_life(before, now)

    def _helped(self, busy: Sequence[Process], now: Signs) -> bool:
        """Say whether a process is busy that is neither a rank nor the main process; only where ranks have names."""
        named = any(self.patience.ranks.search(p.command) for p in now.processes.values())
        known = (self.patience.ranks, self.patience.main)
        return named and any(p.command and not any(k.search(p.command) for k in known) for p in busy)

    def _growth(self, now: Signs) -> str:
        if _rss(now) >= self._peak_rss + self.patience.rss:
            return "memory grows"
        if any(used >= self._peak_vram.get(card, 0) + self.patience.vram for card, used in now.vram.items()):
            return "GPU memory grows"
        return ""

    def _lesser_life(self, before: Signs, now: Signs) -> str:
        if any(self._varies(before, now, card) for card in now.watts.keys() & before.watts.keys()):
            return "the power of a card varies"
        used = before.utilisation
        if any(abs(u - used.get(card, u)) >= self.patience.utilisation for card, u in now.utilisation.items()):
            return "the use of a card varies"
        if now.cache is not None and before.cache is not None and now.cache > before.cache:
            return "compiler caches grow"
        return ""

    def _varies(self, before: Signs, now: Signs, card: int) -> bool:
        wanted, (least, most) = self.patience, sorted((before.watts[card], now.watts[card]))
        return most - least >= max(wanted.watts, wanted.watts_share * most)

    def _work(self, before: Signs, now: Signs) -> str:
        """Return what looks like work and could be waiting: ranks that burn the CPU beside idle cards, hot cards."""
        wanted = self.patience.work
        if self.phase not in wanted.phases:
            return ""
        if any(watts >= wanted.watts for watts in now.watts.values()):
            return "the cards take the power of work"
        idle = any(used <= wanted.idle for used in now.utilisation.values())
        seconds = max(now.at - before.at, 1e-3)
        if idle and any(_cores(before, p, seconds) >= self.patience.cpu for p in now.processes.values()):
            return "a rank burns the CPU beside an idle card"
        return ""

    def _spins(self, signs: Signs, *, alive: bool) -> None:
        low, high = self.patience.spin_watts
        spinning = (
            bool(signs.watts)
            and self.phase in self.patience.spin_phases
            and all(low <= w <= high for w in signs.watts.values())
            and bool(signs.utilisation)
            and all(u >= self.patience.spin_utilisation for u in signs.utilisation.values())
        )
        if alive or not spinning:
            self._spinning = None
        elif self._spinning is None:
            self._spinning = signs.at


def _cores(before: Signs, process: Process, seconds: float) -> float:
    earlier = before.processes.get(process.pid)
    # A process that was not there before has used all its time since.
    return (process.cpu - (earlier.cpu if earlier else 0.0)) / seconds


def _moved(before: Signs, now: Signs) -> int:
    both = before.processes.keys() & now.processes.keys()
    return sum(max(0, now.processes[pid].io - before.processes[pid].io) for pid in both)


def _faults(before: Signs, now: Signs) -> int:
    both = before.processes.keys() & now.processes.keys()
    return sum(max(0, now.processes[pid].faults - before.processes[pid].faults) for pid in both)


def _rss(signs: Signs) -> int:
    return sum(p.rss for p in signs.processes.values())
