"""What is said once and stays: one event as zero or more lines. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

from relight.cli.screen_state import View, settings_of
from relight.reports.edits import COME, GONE, brief, diff
from relight.reports.prose import capital, ended_by, phase, why_failed
from relight.reports.world import cards, kinds
from relight.words.attempt import Exit
from relight.words.diagnosis import Diagnosis
from relight.words.events import Event
from relight.words.settings import Repair
from relight.words.text import shown

_LONGEST = 160
CLOCK, ABOUT = 10, 11
"""Columns before what is said."""
Said = tuple[str, str, str]
"""What a line is about, what it says, its style."""


@dataclass(frozen=True)
class Seen:
    """An event with the view before it and after it; `data` is fit to be shown."""

    before: View
    event: Event
    now: View
    data: Mapping[str, Any]

    @property
    def about(self) -> str:
        """Return which attempt it is about."""
        return f"attempt {self.event.attempt}" if self.event.attempt is not None else ""


@dataclass(frozen=True)
class Line:
    """A line that stays: when (empty where the line before says it), about what, what is said, in which style."""

    clock: str
    about: str
    what: str
    style: str

    @property
    def plain(self) -> str:
        """Return the line as it goes into a file."""
        return f"{self.clock:<{CLOCK}}{self.about:<{ABOUT}}{self.what}".rstrip()


def lines(before: View, event: Event, now: View) -> tuple[Line, ...]:
    """Return the lines of an event, given the view before it and after it."""
    say = _SAYS.get(event.event)
    said = say(Seen(before, event, now, shown(dict(event.data)))) if say else ()
    clock = shown(event.at[11:19])
    return tuple(Line(clock if i == 0 else "", *each) for i, each in enumerate(said))


def _probed(seen: Seen) -> tuple[Said, ...]:
    names = kinds(cards(seen.data.get("gpus"))) or "no GPUs seen"
    return (("host", f"{seen.now.host}: {names}, engine {seen.data.get('version') or 'of unknown version'}", ""),)


def _asked(seen: Seen) -> tuple[Said, ...]:
    number, refused = seen.data.get("candidates"), seen.data.get("refused") or 0
    if not isinstance(number, int):
        return ()
    if seen.data.get("why"):
        return (("asked", f"the host's own validation could not be asked: {seen.data['why']}", "yellow"), _UNASKED)
    unanswered = seen.data.get("unanswered") or 0
    none = f", {unanswered} without an answer" if unanswered else ""
    said = f"the host's own validation about {number}: {number - refused - unanswered} pass, {refused} refused{none}"
    return (("asked", said, "dim"),)


_UNASKED = ("", "so changes are tried without it: what the engine refuses shows only in a launch", "dim")


def _marked(seen: Seen) -> tuple[Said, ...]:
    """Say of a step of relight's own that it goes on."""
    if not seen.data.get("busy") or not seen.data.get("seconds"):
        return ()
    return ((seen.about or "run", str(seen.data.get("text") or ""), "dim"),)


def _launched(seen: Seen) -> tuple[Said, ...]:
    because = f" ({shorten(seen.now.because.rstrip('.'), _LONGEST, placeholder=' ...')})" if seen.now.because else ""
    rung = f" with {seen.now.rung} weights" if seen.now.rung == "dummy" else ""
    return ((seen.about, f"launching{rung}{because}", ""), *_edits(seen))


def _edits(seen: Seen) -> tuple[Said, ...]:
    """Say what is changed against the last launch, or against the first settings where nothing was launched yet."""
    settings = settings_of(seen.data)
    if seen.before.settings is None or settings is None:
        return ()
    return tuple(("change", line, _edit_style(line)) for line in brief(diff(seen.before.settings, settings)))


def _edit_style(line: str) -> str:
    return "green" if line.startswith(COME) else "red" if line.startswith(GONE) else "cyan"


def _phase(seen: Seen) -> tuple[Said, ...]:
    return (
        ((seen.about, phase(seen.now.phase), "dim"),) if seen.now.phase and seen.now.phase != seen.before.phase else ()
    )


def _crashed(seen: Seen) -> tuple[Said, ...]:
    if seen.data.get("waiting"):
        return ((seen.about, str(seen.data.get("reason") or "is ending"), "yellow"),)
    how = seen.data.get("exit")
    end = ended_by(how) if isinstance(how, Exit) else ""
    # Which phase it broke in is the diagnosis' to say: ranks are not all where the last line came from.
    reason = f": {seen.data['reason']}" if seen.data.get("reason") and not end else ""
    return ((seen.about, f"{seen.event.event}{f' ({end})' if end else ''}{reason}", "bold red"),)


def _diagnosed(seen: Seen) -> tuple[Said, ...]:
    found = seen.data.get("diagnosis")
    if not isinstance(found, Diagnosis) or found.cause is None:
        return ()
    rung = seen.data.get("rung")
    refused: tuple[Said, ...] = ((seen.about, f"refused by {rung}", "yellow"),) if rung in _BEFORE_LAUNCH else ()
    broke = found.cause.phase or seen.before.phase
    facts = [found.cause.kind, f"in {phase(broke)}" if broke and not refused else ""]
    facts += [f"{found.log}:{found.cause.line}"] if found.cause.line and not refused else []
    place = f" ({', '.join(part for part in facts if part)})"
    said = capital(why_failed(found)).replace("`", "").rstrip(".")
    return (*refused, *(_edits(seen) if refused else ()), ("cause", f"{said}{place}", "red"))


_BEFORE_LAUNCH = {"parse", "validate"}


def _judged(seen: Seen) -> tuple[Said, ...]:
    verdict = str(seen.data.get("verdict") or "")
    notes = [str(note) for note in seen.data.get("notes") or ()]
    style = "green" if verdict in {"healthy", "well"} else "yellow"
    return ((seen.about, f"answers: {verdict}", style), *(("", note, "dim") for note in notes)) if verdict else ()


def _changed(seen: Seen) -> tuple[Said, ...]:
    because = seen.data.get("because")
    changes = [c for c in seen.data.get("changes") or () if isinstance(c, Repair)]
    if changes or not because or seen.event.attempt is not None:
        return ()
    return (("then", str(because), "dim"),)


def _healthy(seen: Seen) -> tuple[Said, ...]:
    return ((seen.about, "healthy: the server answers correctly", "bold green"),) if not seen.data.get("final") else ()


def _ended(seen: Seen) -> tuple[Said, ...]:
    state = str(seen.data.get("state") or "over")
    if state in _TOLD_AS_ERRORS and not seen.before.launched:
        return ()
    style = "bold green" if state == "healthy" else "bold red"
    reason = str(seen.data.get("reason") or "")
    said = reason if reason.startswith(state) else ": ".join(part for part in (state, reason) if part)
    return (("run", said, style),)


_TOLD_AS_ERRORS = {"failed", "unreachable"}
"""Ends of a run that launched nothing: the error that the command closes with says it."""
_SAYS: Mapping[str, Callable[[Seen], tuple[Said, ...]]] = {
    "probed": _probed,
    "asked": _asked,
    "launched": _launched,
    "marked": _marked,
    "phase": _phase,
    "crashed": _crashed,
    "hung": _crashed,
    "diagnosed": _diagnosed,
    "judged": _judged,
    "changed": _changed,
    "healthy": _healthy,
    "run_ended": _ended,
}
