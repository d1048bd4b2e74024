"""The page of one log, in the manner of a compiler: what, where, why, and the exact change that helps."""

import shlex
from collections.abc import Sequence
from textwrap import shorten

from relight.reports.blocks import Excerpt
from relight.reports.cutoff import Cut, cut_in_traceback, last_said
from relight.reports.excerpts import evidence, innermost, last_lines, other_values, readable, source
from relight.reports.helps import NOTE, get_the_rest, helps, new_signature
from relight.reports.prose import count, in_few, mark, path, phase, rank, sure, value
from relight.reports.textblocks import excerpt, whole, wrap
from relight.words.argv import from_argv
from relight.words.diagnosis import NOT_THE_ENGINES, Cause, Diagnosis, LogLine
from relight.words.settings import Settings
from relight.words.text import shown

_LONGEST = 300
_OTHERS = "comm.peer_died"
_CUT = "the log ends in the middle of an error, before the line that names it"
_LATE = (
    "a device reports the fault of a kernel at some later call: the line and its frames are the symptom, "
    "and the kernel at fault may be any that ran before"
)
_NO_LOG = "this looks like no log of SGLang: it is"
_NO_COMMAND = "the log shows neither the command it was started with nor the engine's version"
_TAKES = {
    "TOML": "`relight playbook check {file}` checks a playbook or a signature, `relight check PLAYBOOK --host NAME` "
    "a deployment; to diagnose, name the server's log",
    "JSON": "`relight report RUN` shows the record of a run; to diagnose, name the server's log",
    "Python source": "source files are given by `--source DIR`, beside the log; to diagnose, name the server's log",
}
"""What takes a file that is no log."""


def render(
    diagnosis: Diagnosis,
    lines_around: Sequence[LogLine] = (),
    *,
    width: int = 100,
    argv: Sequence[str] = (),
    ends: Sequence[LogLine] = (),
) -> str:
    """Return the page of one diagnosis as plain text.

    `lines_around` are the lines of the log near the cause; without them the diagnosis' own evidence is shown.
    `argv` is the command of the log where it is known: a change then shows what it replaces. `ends` are the last
    lines of the log, wanted where it names no failure: it may have been cut.
    """
    diagnosis, around, last = shown(diagnosis), shown(tuple(lines_around)), shown(tuple(ends))
    settings = Settings(from_argv(shown(tuple(argv))))
    if diagnosis.form not in {"", NOT_THE_ENGINES} and diagnosis.verdict == "unknown":
        return "\n".join(_no_log(diagnosis, width)) + "\n"
    cut = cut_in_traceback(last or around or diagnosis.evidence) if says_nothing(diagnosis) else None
    if cut and not (diagnosis.cause and diagnosis.cause.fingerprint):
        lines = _cut_off(diagnosis, cut, last or around or diagnosis.evidence, width)
    elif diagnosis.cause is None:
        lines = _without_cause(diagnosis, around or last, width)
    else:
        end = last_lines(diagnosis.log, last or around, cut.line, "the log ends here") if cut else None
        lines = _with_cause(diagnosis, diagnosis.cause, around, settings, width, end)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _no_log(diagnosis: Diagnosis, width: int) -> list[str]:
    """Say that a text is not what a failure is looked for in, and what takes a file of its kind."""
    lines = wrap(f"unknown: {diagnosis.log}: {_NO_LOG} {diagnosis.form}", width, rest="  ")
    takes = _TAKES.get(diagnosis.form, "name the file that the server's own output went to")
    return [*lines, "", *wrap(takes.format(file=shlex.quote(diagnosis.log)), width, "help: ")]


def says_nothing(diagnosis: Diagnosis) -> bool:
    """Say whether a log names no failure: it may have been cut, and its last lines are what there is."""
    cause = diagnosis.cause
    if cause is None:
        return diagnosis.verdict in {"unknown", "failed"}
    return not cause.fingerprint or cause.kind == _OTHERS


def _cut_off(diagnosis: Diagnosis, cut: Cut, ends: Sequence[LogLine], width: int) -> list[str]:
    """Tell of a log that ends inside a traceback: what is known, and how to get the line that names the error."""
    word = "unknown" if diagnosis.cause is None else "error[unknown]"
    lines = wrap(f"{word}: {diagnosis.log}: {_CUT}", width, rest="  ")
    lines += _set(last_lines(diagnosis.log, ends, cut.line, "the log ends here"), width)
    reached = diagnosis.cause.phase if diagnosis.cause else None
    known = [f"in phase {phase(reached)}"] if reached else []
    known += [f"an exception came through {cut.place}"] if cut.place else ["an exception was raised"]
    lines += wrap(f"what is known: {', '.join(known)}; what it was stands in the lines that are missing", width, NOTE)
    return [*lines, "", *get_the_rest("get the rest of this log and diagnose that:", width)]


def _with_cause(
    diagnosis: Diagnosis, cause: Cause, around: Sequence[LogLine], settings: Settings, width: int, end: Excerpt | None
) -> list[str]:
    lines = _two_lines(wrap(f"error[{cause.kind}]: {_headline(cause)}", width, rest="  "), width)
    reads = source(diagnosis.constraint) if diagnosis.constraint else None
    lines += _excerpts([evidence(diagnosis, around, note=mark(cause)), end, reads], width)
    ends = [f"{end.place} is where {_CUT}"] if end else []
    for note in (*_notes(diagnosis, cause), *ends, *_source_notes(diagnosis), *_started(diagnosis, settings)):
        lines += wrap(note, width, NOTE)
    return [*lines, "", *helps(diagnosis, cause, settings, width)]


def _excerpts(parts: Sequence[Excerpt | None], width: int) -> list[str]:
    """Set excerpts one below the other, their numbers in one column."""
    there = [part for part in parts if part]
    gutter = max(map(_gutter, there), default=1)
    lines = [line for part in there for line in (f"  {' ' * gutter} |", *_set(part, width, gutter))]
    return lines[1:]


def _two_lines(lines: list[str], width: int) -> list[str]:
    """Cut a headline to two lines: what is longer stands below, in the marked line."""
    if len(lines) <= 2:
        return lines
    return [lines[0], f"{lines[1][: width - 4].rstrip()} ..."]


def _headline(cause: Cause) -> str:
    if cause.kind == "unknown" and not cause.summary:
        return "this failure is not known; the best evidence is marked below"
    return shorten(cause.summary or cause.text or cause.kind, _LONGEST, placeholder=" ...")


def _gutter(part: Excerpt) -> int:
    return max((len(str(row.number)) for row in part.rows if row.number is not None), default=1)


def _set(part: Excerpt | None, width: int, gutter: int = 1) -> list[str]:
    return [f"  {line}" for line in excerpt(part, width - 2, gutter)] if part else []


def _notes(diagnosis: Diagnosis, cause: Cause) -> list[str]:
    where = [f"in phase {phase(cause.phase)}"] if cause.phase else []
    where += [f"on {rank(cause.rank)}"] if cause.rank else []
    notes = ["; ".join([*([", ".join(where)] if where else []), _surety(cause)])]
    if diagnosis.cascade:
        first = diagnosis.cascade[0]
        many = count(len(diagnosis.cascade), "other line is", "other lines are")
        notes.append(f"{many} a consequence, not the cause (first: {diagnosis.log}:{first.line})")
    return [*notes, *_frame(diagnosis), *diagnosis.memory]


def _started(diagnosis: Diagnosis, settings: Settings) -> list[str]:
    """Say which engine it was, and that the command is not known where changes of it are proposed."""
    engine = diagnosis.engine
    known = [f"the log is of {engine.name} {engine.version}"] if engine and engine.version else []
    if settings.flags or not any(r.unset or r.set for r in diagnosis.repairs):
        return known
    return [*known, "it does not show the command it was started with" if known else _NO_COMMAND]


def _surety(cause: Cause) -> str:
    """Say how sure the cause is, and where more is told of it."""
    if cause.kind == _OTHERS and cause.signature:
        return f"this line only tells that another process died {whole(f'(`relight explain {cause.signature}`)')}"
    more = whole(f"(`relight explain {cause.signature}`)") if cause.signature else "(it is no known failure)"
    what = "that this failure came first" if cause.late else "that this is the cause"
    return f"{sure(cause.confidence)} sure {what} {more}"


def _frame(diagnosis: Diagnosis) -> list[str]:
    frames = diagnosis.traceback.frames if diagnosis.traceback else ()
    late = [_LATE] if diagnosis.cause and diagnosis.cause.late else []
    if not frames or diagnosis.constraint:
        return late
    last = frames[-1]
    # A line of source that goes on below, or only raises, says nothing more.
    tells = last.text and not last.text.endswith(("(", "[", ",")) and not last.text.startswith("raise ")
    where = f"{path(last.file)}:{last.line}, in {last.function}" + (f": {last.text}" if tells else "")
    return [*late, f"noticed at {where}" if late else f"raised at {where}"]


def _source_notes(diagnosis: Diagnosis) -> list[str]:
    read = diagnosis.constraint
    if read is None:
        return []
    notes = [f"the source wants: {read.condition}"] if read.condition else []
    notes += [f"it is reached because: {guard}" for guard in innermost(readable(read))]
    left = other_values(read)
    notes += ["besides: " + ", ".join(f"{name} is {value(held)}" for name, held in left.items())] if left else []
    return [*notes, *([f"could not be read from the source: {in_few(read.opaque)}"] if read.opaque else [])]


def _without_cause(diagnosis: Diagnosis, around: Sequence[LogLine], width: int) -> list[str]:
    lines = last_said(around or diagnosis.evidence)
    word, said = _verdict(diagnosis, empty=not lines)
    head = wrap(f"{word}: {diagnosis.log}: {said}", width, rest="  ")
    if lines and diagnosis.verdict != "healthy":
        head += _set(last_lines(diagnosis.log, lines, lines[-1], "the last line"), width)
    head += wrap(f"{diagnosis.engine.name} {diagnosis.engine.version}", width, NOTE) * bool(diagnosis.engine.version)
    if diagnosis.verdict in {"healthy", "starting"}:
        return head
    rest = "name a log that holds the start:" if not lines else "if this is not the whole log, diagnose all of it:"
    head += ["", *get_the_rest(rest, width)]
    if diagnosis.verdict == "unknown" and lines:
        head += new_signature(diagnosis, lines[-1].line, width, "if one of these lines is the failure, teach relight:")
    return head


def _verdict(diagnosis: Diagnosis, *, empty: bool) -> tuple[str, str]:
    if diagnosis.verdict == "healthy":
        return "ok", "the server came up and nothing failed after that"
    if diagnosis.verdict == "starting":
        return "starting", "no failure so far, and not ready yet"
    if empty:
        return "unknown", "there is nothing in this log"
    if diagnosis.verdict == "failed":
        return "error[unknown]", "it failed, and no line says why"
    if diagnosis.form:
        return "unknown", f"{_NO_LOG} {diagnosis.form}"
    return "unknown", "no known failure, and no sign of a server that is ready"
