"""An event as one plain line, for logs and for terminals that cannot do more."""

from collections.abc import Callable, Mapping
from typing import Any

from relight.journal.codec import to_json
from relight.words.events import Event
from relight.words.text import shown


def line(event: Event) -> str | None:
    """Return the line of an event, None for one that is not worth a line."""
    say = _SAYS.get(event.event)
    text = say(to_json(event.data)) if say else None
    if not text:
        return None
    attempt = f" #{event.attempt}" if event.attempt is not None else ""
    return shown(f"{event.at[11:19]}{attempt} {text}")


def _probed(data: Mapping[str, Any]) -> str:
    gpus = data.get("gpus") or []
    cards = f"{len(gpus)}x {gpus[0].get('name', 'GPU')}" if gpus else "no GPUs"
    return f"host reached: {cards}, SGLang {data.get('version') or 'of unknown version'}"


def _launched(data: Mapping[str, Any]) -> str:
    because = data.get("because")
    return f"launching ({data.get('rung', 'real')})" + (f": {because}" if because else "")


def _asked(data: Mapping[str, Any]) -> str:
    n = data.get("candidates") or data.get("asked")
    return f"asking the engine's own validation about {n if isinstance(n, int) else 'the next settings'}"


def _phase(data: Mapping[str, Any]) -> str:
    return f"phase {data['phase']}" if data.get("phase") else ""


def _crashed(data: Mapping[str, Any]) -> str:
    how = data.get("exit") or {}
    code, number = how.get("code"), how.get("signal")
    end = f"signal {number}" if number else f"status {code}" if code is not None else ""
    return "crashed" + (f" ({end})" if end else "") + (f": {data['reason']}" if data.get("reason") else "")


def _diagnosed(data: Mapping[str, Any]) -> str:
    cause = (data.get("diagnosis") or {}).get("cause") or data.get("cause") or {}
    return f"cause: {cause.get('kind', 'unknown')}: {cause.get('summary') or cause.get('text') or ''}"


def _changed(data: Mapping[str, Any]) -> str:
    edits = [edit for repair in data.get("changes") or [] for edit in _edits(repair)]
    because = data.get("because") or ""
    if not edits:
        return because
    return f"change: {', '.join(edits)}" + (f" ({because})" if because else "")


def _edits(repair: Mapping[str, Any]) -> list[str]:
    put = [f"--{n} {v}" for n, v in (repair.get("set") or {}).items()]
    put += [f"{n}={v}" for n, v in (repair.get("set_env") or {}).items()]
    gone = [f"no --{n}" for n in repair.get("unset") or []] + [f"no {n}" for n in repair.get("unset_env") or []]
    return put + gone


def _ended(data: Mapping[str, Any]) -> str:
    reason = data.get("reason")
    return f"run ended: {data.get('state', '')}" + (f": {reason}" if reason else "")


_SAYS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "run_started": lambda _: "run started",
    "probed": _probed,
    "asked": _asked,
    "launched": _launched,
    "phase": _phase,
    "crashed": _crashed,
    "hung": lambda d: f"hung: {d.get('reason') or d.get('why') or 'no sign of life'}",
    "judged": lambda d: f"judged: {d.get('verdict') or d.get('outcome') or ''}".rstrip(": "),
    "diagnosed": _diagnosed,
    "changed": _changed,
    "stopped": lambda d: f"stopped: {d['why']}" if d.get("why") else "",
    "healthy": lambda d: "healthy: the server answers correctly" if not d.get("final") else "",
    "run_ended": _ended,
}
