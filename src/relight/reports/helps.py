"""What helps against the failure of one log: changes in the order to try them, then what a person can do."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from relight.reports.blocks import Edit
from relight.reports.cutoff import WHOLE
from relight.reports.edits import GONE, edits_of, lines_of
from relight.reports.prose import cost, origin
from relight.reports.textblocks import whole, wrap
from relight.words.diagnosis import Cause, Diagnosis
from relight.words.settings import Repair, Settings

NOTE = "  = note: "
_ACTIONS = {
    "again": "the failure passes by itself: launch the same command again",
    "clean": "clear what earlier launches left on the host, then launch the same command again",
    "person": "no flag can mend this: it needs a person",
}
_MOST_REPAIRS = 4
_MOST_TELLING = 2
_OTHERS = "comm.peer_died"
_ENVIRONMENT = "env"
_ELSEWHERE: Mapping[str, str] = {
    _OTHERS: "the cause stands elsewhere: diagnose the log of the rank or host that died first, "
    "or read what came before this log begins",
    "engine": "no setting is known to help; look for this message among the issues of the engine's project, "
    "or try another version of it",
}
_BUG = (
    "a setting only gets around a bug of the engine: look for this message among the issues of its project, "
    "or try another version of it"
)
_TEACH = "to teach relight this failure, make a signature of its line:"
_NO_HELP = "no change of settings is known to help here"
_INDENT = " " * 8
_TELLING_ORIGINS = {"message", "source", "memory"}
_TOGETHER = " (all lines of one together)"


def get_the_rest(said: str, width: int) -> list[str]:
    """Say how to get a log whole."""
    return [*wrap(said, width, "help: "), *(f"        {line}" for line in WHOLE)]


def helps(diagnosis: Diagnosis, cause: Cause, settings: Settings, width: int) -> list[str]:
    """Return what to do next; no page of a failure is without it."""
    # What a person knows better than any remedy (which address, which size) comes before the remedies.
    lines = wrap(diagnosis.next, width, "help: ") if diagnosis.next and diagnosis.action == "change" else []
    foremost = cause.family == _ENVIRONMENT and diagnosis.action == "person" and bool(diagnosis.next)
    lines += wrap(f"a person has to: {diagnosis.next}", width, "help: ") if foremost else []
    lines += _repairs(diagnosis, settings, width, until=foremost)
    for step in [r for r in diagnosis.repairs if r.telling][:_MOST_TELLING]:
        lines += _telling(step, settings, width)
    lines += [line for said in _done(diagnosis) for line in wrap(said, width, "help: ")] if not foremost else []
    if cause.family == "engine" and shown_repairs(diagnosis) and not diagnosis.next:
        lines += wrap(_BUG, width, "help: ")
    if not cause.fingerprint:
        lines += _of_silence(diagnosis, width)
    elif cause.kind == "unknown" or not cause.signature:
        lines += new_signature(diagnosis, cause.line, width)
    return lines or _no_help(cause, width)


def _repairs(diagnosis: Diagnosis, settings: Settings, width: int, *, until: bool = False) -> list[str]:
    """Return the changes that may mend the failure, numbered in the order to try them where there are several.

    With `until` they only get around it.
    """
    mending = shown_repairs(diagnosis)
    if len(mending) == 1:
        return _repair(mending[0], settings, width, "help: until then: " if until else "help: ")
    together = _TOGETHER if any(len(_changed(r, settings)) > 1 for r in mending) else ""
    first = "until then these may get around it," if until else "try these"
    lines = wrap(f"{first} one at a time{together}, in this order:", width, "help: ") if mending else []
    for number, repair in enumerate(mending, 1):
        lines += _repair(repair, settings, width, f"  {number}. ")
    more = sum(not r.telling for r in diagnosis.repairs) - len(mending)
    command = whole(f"`relight diagnose --format json {shlex.quote(diagnosis.log)}`")
    listed = f"{command} lists {more} more"
    return lines + (wrap(listed, width, NOTE) if more else [])


def shown_repairs(diagnosis: Diagnosis) -> list[Repair]:
    """Return the repairs that a page shows, the first to try first."""
    mending = [r for r in diagnosis.repairs if not r.telling]
    # A line that only says there is one more would take the place of that one.
    return mending[: _MOST_REPAIRS + (len(mending) == _MOST_REPAIRS + 1)]


def _of_silence(diagnosis: Diagnosis, width: int) -> list[str]:
    """Say what helps where the log stops without a word: look whether it goes on, and what others saw of its end."""
    log = shlex.quote(diagnosis.log)
    return [
        *get_the_rest("if this is not the whole log, get the rest and diagnose that:", width),
        *wrap(f"if the process still runs: `relight diagnose --running {log}`", width, "help: "),
        *wrap(
            "if it is gone: its exit status, and the kernel's log (`dmesg`), say what this log does not",
            width,
            "help: ",
        ),
    ]


def _no_help(cause: Cause, width: int) -> list[str]:
    """Say what to do where neither a change nor a person's step is known: no page ends without a next step."""
    said = _ELSEWHERE.get(cause.kind) or _ELSEWHERE.get(cause.family) or _NO_HELP
    lines = wrap(
        f"{said}; {whole(f'`relight explain {cause.kind}`')} tells what is known of this kind", width, "help: "
    )
    return lines + [f"        {line}" for line in WHOLE] * (cause.kind == _OTHERS)


def _done(diagnosis: Diagnosis) -> list[str]:
    """Return what helps beside a change of settings."""
    if diagnosis.action == "person" and diagnosis.next:
        tried = ("", "if that does not help, ", "if none of these helps, ")[min(len(diagnosis.repairs), 2)]
        return [f"{tried}a person has to: {diagnosis.next}"]
    said = [_ACTIONS[diagnosis.action]] if diagnosis.action in _ACTIONS else []
    return [*said, *([diagnosis.next] if diagnosis.next and diagnosis.action != "change" else [])]


def _repair(repair: Repair, settings: Settings, width: int, first: str) -> list[str]:
    edits = edits_of(repair, settings)
    # Where the command is known, what it does not hold need not go.
    edits = (settings.flags and edits_of(_without_missing(repair, settings), settings)) or edits
    said = repair.why or "change this"
    lines = [*wrap(said, width, first), *_edits(edits, width, known=bool(settings.flags))]
    return lines + wrap("; ".join(_weighed(repair)), width, " " * min(len(first), len("help: ")))


def _weighed(repair: Repair) -> list[str]:
    """Return what a change costs, in words that compare, and what speaks for it."""
    said = [f"cost {cost(repair)}" + (f": gives up {repair.gives_up}" if repair.gives_up else "")]
    said += ["can alter answers"] if repair.alters_answers else []
    said += ["less likely to help"] if repair.doubt else []
    said += ["confirmed by the host's own validation"] if repair.confirmed else []
    return said + ([f"from {origin(repair.origin)}"] if repair.origin in _TELLING_ORIGINS else [])


def _changed(repair: Repair, settings: Settings) -> list[str]:
    """Return the lines that the edits of a repair take, all that only goes in one."""
    told = lines_of(edits_of(repair, settings))
    return [line for line in told if not line.startswith(GONE)] + ["" for line in told if line.startswith(GONE)][:1]


def _edits(edits: Sequence[Edit], width: int, *, known: bool) -> list[str]:
    """Return edits one to a line, all that only goes in one; of an unknown command it may be absent."""
    told = lines_of(edits)
    going = [line.removeprefix(GONE) for line in told if line.startswith(GONE)]
    maybe = "   (where given)" if len(going) > 1 and not known else ""
    lines = wrap(f"{GONE}{', '.join(going)}{maybe}", width, _INDENT, _INDENT + "  ") if going else []
    return [*(f"{_INDENT}{line}" for line in told if not line.startswith(GONE)), *lines]


def _telling(step: Repair, settings: Settings, width: int) -> list[str]:
    """Tell of a step that shows more of a failure, apart from what may mend it."""
    lines = wrap(f"to learn more (it mends nothing): {step.why}", width, "help: ")
    lines += _edits(edits_of(step, settings), width, known=bool(settings.flags))
    return lines + (wrap(f"gives up {step.gives_up}", width, " " * 6) if step.gives_up else [])


def _without_missing(repair: Repair, settings: Settings) -> Repair:
    return replace(
        repair,
        unset=tuple(name for name in repair.unset if name in settings.flags),
        unset_env=tuple(name for name in repair.unset_env if name in settings.env),
    )


def new_signature(diagnosis: Diagnosis, line: int | None, width: int, said: str = _TEACH) -> list[str]:
    """Say how to make a signature of a line."""
    if line is None:
        return []
    place = shlex.quote(f"{diagnosis.log}:{line}")
    return [*wrap(said, width, "help: "), f"        relight playbook new my-failure --from {place}"]
