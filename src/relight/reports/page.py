"""The page of one log, in the manner of a compiler: what, where, why, and the exact change that helps."""

from collections.abc import Mapping, Sequence
from textwrap import shorten

from relight.reports.blocks import Edit, Excerpt
from relight.reports.edits import brief, edits_of
from relight.reports.excerpts import evidence, innermost, other_values, readable, source
from relight.reports.prose import count, in_few, mark, origin, path, phase, sure, value
from relight.reports.textblocks import excerpt, wrap
from relight.words.argv import from_argv
from relight.words.diagnosis import Cause, Diagnosis, LogLine
from relight.words.settings import Repair, Settings
from relight.words.text import shown

_ACTIONS = {
    "again": "the failure passes by itself: launch the same command again",
    "clean": "clear what earlier launches left on the host, then launch the same command again",
    "person": "no flag can mend this: it needs a person",
}
_MOST_REPAIRS = 4
_LONGEST = 300
_ELSEWHERE: Mapping[str, str] = {
    "comm.peer_died": "the cause stands elsewhere: diagnose the log of the rank or host that died first, "
    "or read what came before this log begins",
    "engine": "no setting is known to help; look for this message among the issues of the engine's project, "
    "or try another version of it",
}
_NO_HELP = "no change of settings is known to help here"


def render(
    diagnosis: Diagnosis, lines_around: Sequence[LogLine] = (), *, width: int = 100, argv: Sequence[str] = ()
) -> str:
    """Return the page of one diagnosis as plain text.

    `lines_around` are the lines of the log near the cause; without them the diagnosis' own evidence is shown.
    `argv` is the command of the log where it is known: a change then shows what it replaces.
    """
    diagnosis, around = shown(diagnosis), shown(tuple(lines_around))
    settings = Settings(from_argv(shown(tuple(argv))))
    if diagnosis.cause is None:
        lines = _without_cause(diagnosis, around, width)
    else:
        lines = _with_cause(diagnosis, diagnosis.cause, around, settings, width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _with_cause(
    diagnosis: Diagnosis, cause: Cause, around: Sequence[LogLine], settings: Settings, width: int
) -> list[str]:
    lines = wrap(f"error[{cause.kind}]: {_headline(cause)}", width, rest="  ")
    shows = evidence(diagnosis, around, note=mark(cause))
    reads = source(diagnosis.constraint) if diagnosis.constraint else None
    gutter = max(_gutter(shows), _gutter(reads))
    lines += _set(shows, width, gutter)
    lines += [f"  {' ' * gutter} |"] if shows and reads else []
    lines += _set(reads, width, gutter)
    for note in (*_notes(diagnosis, cause), *_source_notes(diagnosis)):
        lines += wrap(note, width, "  = note: ")
    return [*lines, "", *_help(diagnosis, cause, settings, width)]


def _headline(cause: Cause) -> str:
    if cause.kind == "unknown" and not cause.summary:
        return "this failure is not known; the best evidence is marked below"
    return shorten(cause.summary or cause.text or cause.kind, _LONGEST, placeholder=" ...")


def _gutter(part: Excerpt | None) -> int:
    return max((len(str(row.number)) for row in (part.rows if part else ()) if row.number is not None), default=1)


def _set(part: Excerpt | None, width: int, gutter: int = 1) -> list[str]:
    return [f"  {line}" for line in excerpt(part, width - 2, gutter)] if part else []


def _notes(diagnosis: Diagnosis, cause: Cause) -> list[str]:
    where = [f"in phase {phase(cause.phase)}"] if cause.phase else []
    where += [f"on rank {cause.rank}"] if cause.rank else []
    where += [f"signature {cause.signature}"] if cause.signature else []
    notes = [", ".join([*where, f"confidence {sure(cause.confidence)}"])]
    if diagnosis.cascade:
        first = diagnosis.cascade[0]
        many = count(len(diagnosis.cascade), "other line is", "other lines are")
        notes.append(f"{many} a consequence, not the cause (first: {diagnosis.log}:{first.line})")
    return [*notes, *_frame(diagnosis), *diagnosis.memory]


def _frame(diagnosis: Diagnosis) -> list[str]:
    frames = diagnosis.traceback.frames if diagnosis.traceback else ()
    if not frames or diagnosis.constraint:
        return []
    last = frames[-1]
    return [f"raised at {path(last.file)}:{last.line}, in {last.function}" + (f": {last.text}" if last.text else "")]


def _source_notes(diagnosis: Diagnosis) -> list[str]:
    read = diagnosis.constraint
    if read is None:
        return []
    notes = [f"the source wants: {read.condition}"] if read.condition else []
    notes += [f"it is reached because: {guard}" for guard in innermost(readable(read))]
    left = other_values(read)
    notes += ["besides: " + ", ".join(f"{name} is {value(held)}" for name, held in left.items())] if left else []
    return [*notes, *([f"could not be read from the source: {in_few(read.opaque)}"] if read.opaque else [])]


def _help(diagnosis: Diagnosis, cause: Cause, settings: Settings, width: int) -> list[str]:
    lines: list[str] = []
    for repair in diagnosis.repairs[:_MOST_REPAIRS]:
        lines += _repair(repair, settings, width)
    if len(diagnosis.repairs) > _MOST_REPAIRS:
        more = count(len(diagnosis.repairs) - _MOST_REPAIRS, "more repair is", "more repairs are")
        lines += wrap(f"{more} in the JSON output", width, "  = note: ")
    lines += [line for said in _done(diagnosis) for line in wrap(said, width, "help: ")]
    if cause.kind == "unknown" or not cause.signature:
        lines += _new_signature(diagnosis, cause.line, width)
    return lines or wrap(_no_help(cause), width, "help: ")


def _no_help(cause: Cause) -> str:
    """Say what to do where neither a change nor a person's step is known: no page ends without a next step."""
    said = _ELSEWHERE.get(cause.kind) or _ELSEWHERE.get(cause.family) or _NO_HELP
    return f"{said}; `relight explain {cause.kind}` tells what is known of this kind"


def _done(diagnosis: Diagnosis) -> list[str]:
    """Return what helps beside a change of settings."""
    if diagnosis.action == "person" and diagnosis.next:
        return [
            f"else a person has to: {diagnosis.next}" if diagnosis.repairs else f"a person has to: {diagnosis.next}"
        ]
    said = [_ACTIONS[diagnosis.action]] if diagnosis.action in _ACTIONS else []
    return [*said, *([diagnosis.next] if diagnosis.next else [])]


def _repair(repair: Repair, settings: Settings, width: int) -> list[str]:
    edits = edits_of(repair, settings)
    said = repair.why or f"change this: {', '.join(brief(edits))}"
    lines = wrap(said, width, "help: ")
    lines += [f"        {_edit(edit)}" for edit in edits]
    note = [f"from {origin(repair.origin)}"]
    note += ["confirmed by the host's own validation"] if repair.confirmed else []
    note += [f"gives up: {repair.gives_up}"] if repair.gives_up else []
    note += ["can alter answers"] if repair.alters_answers else []
    return lines + wrap("; ".join(note), width, "  = note: ")


def _edit(edit: Edit) -> str:
    return f"{edit.sign} {edit.text}" + ("   (environment)" if edit.env else "")


def _new_signature(diagnosis: Diagnosis, line: int | None, width: int) -> list[str]:
    if line is None:
        return []
    lines = wrap("to teach relight this failure, make a signature of its line:", width, "help: ")
    return [*lines, f"        relight playbook new ID --from {diagnosis.log}:{line}"]


def _without_cause(diagnosis: Diagnosis, around: Sequence[LogLine], width: int) -> list[str]:
    lines = around or diagnosis.evidence
    word, said = _verdict(diagnosis, empty=not lines)
    head = wrap(f"{word}: {diagnosis.log}: {said}", width, rest="  ")
    head += _set(evidence(diagnosis, around), width)
    head += wrap(f"{diagnosis.engine.name} {diagnosis.engine.version}", width, "  = note: ") * bool(
        diagnosis.engine.version
    )
    if diagnosis.verdict == "unknown" and lines:
        head += ["", *_new_signature(diagnosis, lines[-1].line, width)]
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
    return "unknown", "no failure and no sign of a server that is ready; the last lines are the best evidence"
