"""What the screen knows: a fold of events, nothing else. Pure; times are monotonic seconds handed in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from relight.logs.lines import Line
from relight.logs.records import record
from relight.reports.edits import brief, diff
from relight.reports.prose import phase
from relight.reports.world import card_memory, cards
from relight.words.diagnosis import Cause, Diagnosis
from relight.words.events import Event
from relight.words.settings import Settings
from relight.words.text import shown


@dataclass(frozen=True)
class View:
    """What is on the screen.

    `expected` is how many seconds passed from each phase to the next in the last healthy start (history), in the order
    of a start, () where there is none; `lengths` is the same of this run's own launches. `launches` and `deadline` are
    the budget, of which `used` seconds went before; `began` is when the run began, `since` when the phase did. A second
    model goes through phases again: `furthest` is the last phase that was new, since `reached`. Memory is MiB on the
    fullest card. `asked` is what a server that is ready is being asked, `busy` a step of relight's own. `keep`: a
    healthy server goes on being watched.
    """

    host: str = ""
    playbook: str = ""
    expected: tuple[tuple[str, float], ...] = ()
    launches: int = 0
    deadline: float = 0.0
    used: float = 0.0
    keep: bool = False
    began: float = 0.0
    healthy_since: float | None = None
    launched: int = 0
    attempt: int | None = None
    rung: str = ""
    alive: bool = False
    launch_began: float = 0.0
    phase: str = ""
    phases: tuple[str, ...] = ()
    met: frozenset[str] = frozenset()
    furthest: str = ""
    reached: float = 0.0
    lengths: Mapping[str, float] = field(default_factory=dict)
    since: float = 0.0
    step: tuple[int, int] | None = None
    line: str = ""
    memory: int = 0
    card: int = 0
    doing: str = ""
    asked: str = ""
    busy: str = ""
    busy_since: float = 0.0
    cause: Cause | None = None
    settings: Settings | None = None
    because: str = ""
    then: tuple[str, ...] = ()


@dataclass(frozen=True)
class Happened:
    """What came with an event, fit to be shown, and when (monotonic seconds)."""

    data: Mapping[str, Any]
    now: float


def after(view: View, event: Event, now: float) -> View:
    """Return the view after an event that came at `now`."""
    data = shown(dict(event.data))
    if event.attempt is not None and event.attempt != view.attempt and event.event != "changed":
        view = replace(view, attempt=event.attempt)
    follow = _FOLLOWS.get(event.event)
    view = replace(view, busy="")
    view = follow(view, Happened(data, now)) if follow else view
    return _memory(view, data)


def _memory(view: View, data: Mapping[str, Any]) -> View:
    used = data.get("memory")
    return replace(view, memory=used) if isinstance(used, int) else view


def _probed(view: View, it: Happened) -> View:
    return replace(view, card=card_memory(cards(it.data.get("gpus"))), doing="host reached")


def _launched(view: View, it: Happened) -> View:
    return replace(
        view,
        phase="",
        phases=(),
        met=frozenset(),
        furthest="",
        since=it.now,
        step=None,
        line="",
        asked="",
        memory=0,
        cause=None,
        doing="starting",
        launched=view.launched + 1,
        rung=str(it.data.get("rung") or "real"),
        alive=True,
        launch_began=it.now,
        settings=settings_of(it.data) or view.settings,
        because=str(it.data.get("because") or ""),
        then=(),
    )


def settings_of(data: Mapping[str, Any]) -> Settings | None:
    """Return the settings that an event carries, None if it carries none."""
    found = data.get("settings") or (data.get("set_attempt") or {}).get("settings")
    return found if isinstance(found, Settings) else None


def _phase(view: View, it: Happened) -> View:
    name = str(it.data.get("name") or "")
    if not name:
        return view
    i, n = it.data.get("i"), it.data.get("n")
    # A rank that lags behind leads nobody back, but a phase that makes progress once more does (a second model).
    if name != view.phase and (name not in view.phases or isinstance(i, int)):
        view = _entered(view, name, it.now)
    if name != view.phase:
        return view
    return replace(view, step=(i, n), alive=True) if isinstance(i, int) and isinstance(n, int) and n > 0 else view


def _entered(view: View, name: str, now: float) -> View:
    """Return the view in another phase; what followed on it before may follow again."""
    before = view.phases[: view.phases.index(name)] if name in view.phases else view.phases
    again = replace(view, phase=name, phases=(*before, name), since=now, step=None)
    if name in view.met:
        return again
    passed = {view.furthest: now - view.reached} if view.furthest else {}
    met = view.met | {name}
    return replace(again, met=met, furthest=name, reached=now, lengths={**view.lengths, **passed})


def _marked(view: View, it: Happened) -> View:
    """Take the last line of the log without its time: what it says is what a narrow screen has room for."""
    busy, seconds = it.data.get("busy"), it.data.get("seconds")
    if busy:
        return replace(view, busy=str(busy), busy_since=it.now - (seconds if isinstance(seconds, int | float) else 0.0))
    text = str(it.data.get("text") or "")
    said = record(Line(0, 0, text)) if text.strip() else None
    line = f"{said.rank}: {said.body.strip()}" if said and said.rank else said.body.strip() if said else ""
    return replace(view, line=line or view.line)


def _diagnosed(view: View, it: Happened) -> View:
    found = it.data.get("diagnosis")
    cause = found.cause if isinstance(found, Diagnosis) else None
    # Settings that were refused before any launch are the ones to compare with only as long as there are no others.
    settings = view.settings or settings_of(it.data)
    return replace(view, alive=False, cause=cause, settings=settings, doing="choosing the next change")


def _changed(view: View, it: Happened) -> View:
    waits, away = it.data.get("wait"), it.data.get("away")
    if isinstance(away, int | float):
        # Time in which the host was out of reach costs nothing.
        return replace(view, began=view.began + away)
    doing = f"waiting {waits:g} s" if isinstance(waits, int | float) else "making the host ready"
    return replace(view, doing=doing, then=_then(view, it) or view.then)


def _then(view: View, it: Happened) -> tuple[str, ...]:
    """Return what the next launch changes, as far as it is known."""
    settings = settings_of(it.data)
    return tuple(brief(diff(view.settings, settings))) if settings and view.settings else ()


def _judged(view: View, it: Happened) -> View:
    verdict, stage = it.data.get("verdict"), str(it.data.get("stage") or "")
    asked = "" if verdict or stage == "ready" else stage
    return replace(view, doing=f"judged: {verdict or 'no verdict yet'}", asked=asked)


def busy_with(view: View) -> str:
    """Return what goes on now, in a few words: the questions of the judge, the phase, or what relight does itself."""
    if view.alive and view.asked:
        return f"judging: {view.asked}"
    return (phase(view.phase) if view.alive else "") or view.doing


def _over(view: View, it: Happened) -> View:
    """Return the view after the server ended; the time a healthy one was only watched costs nothing."""
    watched = it.now - view.healthy_since if view.healthy_since is not None else 0.0
    return replace(view, alive=False, doing="looking for the cause", began=view.began + watched, healthy_since=None)


_FOLLOWS: Mapping[str, Callable[[View, Happened], View]] = {
    "probed": _probed,
    "asked": lambda view, _: replace(view, doing="asking the host's own validation"),
    "launched": _launched,
    "phase": _phase,
    "marked": _marked,
    "crashed": _over,
    "hung": _over,
    "stopped": _over,
    "judged": _judged,
    "diagnosed": _diagnosed,
    "changed": _changed,
    "healthy": lambda view, it: replace(view, alive=False, doing="healthy", healthy_since=it.now),
}
