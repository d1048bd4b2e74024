"""One attempt in detail: what changed, why it failed, the evidence, and what was made of it."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from textwrap import shorten

from relight.reports import answers
from relight.reports.blocks import (
    Block,
    Bullets,
    Choice,
    Choices,
    Edit,
    Edits,
    Excerpt,
    Lane,
    Pairs,
    Para,
    Prose,
    Section,
    Sums,
    Table,
    Tone,
)
from relight.reports.culprit import culprit_of
from relight.reports.edits import brief, diff, edits_of
from relight.reports.excerpts import evidence, innermost, other_values, readable, source
from relight.reports.interval import no_value
from relight.reports.now import launch_command
from relight.reports.passed import PASSED, passed_over
from relight.reports.prose import (
    broke_in,
    count,
    ended_by,
    listed,
    mark,
    origin,
    outcome,
    path,
    phase,
    prose,
    rank,
    sentence,
    sure,
    tone,
    value,
    why_failed,
)
from relight.reports.steps import Step, alike, became, first_alike
from relight.reports.tables import without_empty_columns
from relight.reports.timeline import lane, peak
from relight.reports.times import between, span
from relight.words.attempt import Attempt, NodeEnd, Record
from relight.words.diagnosis import Cause, Constraint, Diagnosis
from relight.words.settings import Repair, Settings

_SURE = 0.999
_KILL, _KILLED, _NO_MEMORY = 9, {"process", "unknown"}, "oom.host"
_LONGEST = 160
_SEEN = 0.1
_RUNGS = {
    "parse": "by the engine's parser",
    "validate": "by the engine's check",
    "dummy": "with dummy weights",
}
"""What an attempt was, where it was no launch of the real thing."""
_LEARNED = "what an earlier run learned speaks against the settings as asked (`--forget` drops it)"
_AS_ASKED = "as the playbook asks"


def attempt_section(step: Step, record: Record) -> Section:
    """Return the section of one attempt."""
    attempt = step.attempt
    took = span(between(attempt.started, attempt.ended)) if attempt.launched else ""
    title = f"Attempt {attempt.n}: {outcome(attempt)}" + (f" after {took}" if took else "")
    later = [a for a in record.attempts if a.n > attempt.n]
    earlier = [a for a in record.attempts if a.n < attempt.n]
    blocks = (
        *_changed(step),
        *_failure(attempt, earlier, later),
        *_again(attempt, earlier, record.folder),
        *_shown(attempt, record),
        *_judged(attempt, earlier),
        *_repairs(attempt, later, record),
        *_nodes(attempt),
        *_facts(attempt),
    )
    commands = (launch_command(record, attempt),) if attempt.argv else ()
    ends = [a for a in record.attempts if a.argv]
    spare = attempt not in ends[:1] and (attempt not in ends[-1:] or attempt.argv == ends[0].argv)
    inner = Section(f"command-{attempt.n}", "Its command", commands, folded=True, spare=spare)
    return Section(
        f"attempt-{attempt.n}",
        title,
        blocks,
        (inner,) if inner else (),
        folded=True,
        tone=tone(attempt),
        tag=_RUNGS.get(attempt.rung, ""),
        gist=_gist(attempt, earlier),
    )


def _gist(attempt: Attempt, earlier: Sequence[Attempt]) -> Prose:
    """Return what is seen of an attempt whose details are closed."""
    if attempt.outcome in {"healthy", None}:
        return ()
    first = first_alike(attempt, earlier)
    return (f"The failure of attempt {first.n} again.",) if first else sentence(why_failed(attempt.diagnosis))


def _changed(step: Step) -> list[Block]:
    if step.before is None:
        return _begun(step)
    if not step.edits:
        again = _because(step)
        return [Para((f"The same settings as attempt {step.before.n}.", *([" "] if again else []), *again))]
    blocks: list[Block] = [Edits("changed", step.edits, _because(step))]
    if step.from_asked and set(step.from_asked) != set(step.edits):
        blocks.append(Edits("in all", step.from_asked, ("against what was asked for",), told=True))
    return blocks


def _begun(step: Step) -> list[Block]:
    """Tell of the first attempt; a run may begin elsewhere than where it was asked to."""
    if not step.edits:
        return [Para(("The settings as asked for.",))]
    # What differs from the start was not changed by this run: an earlier one spoke against what was asked for.
    said = step.attempt.because if step.attempt.because != _AS_ASKED else _LEARNED
    why = (*sentence(said), " The lines show what differs from what was asked for.") if said else ()
    return [Edits("begins", step.edits, why or _because(step))]


def _because(step: Step) -> Prose:
    """Say why these settings: the levers that moved, the repairs that were made, and what else the plan said."""
    parts: list[Prose] = [(f"Lever {move}.",) for move in step.moved]
    parts += [part for reason in step.reasons for part in _of_repair(reason)]
    parts += [sentence(said) for said in _planned(step)]
    return tuple(piece for i, part in enumerate(parts) if part for piece in ((" ",) if i else ()) + part)


def _of_repair(reason: Repair) -> tuple[Prose, ...]:
    text = sentence(reason.why) or sentence(f"Proposed by {origin(reason.origin)}")
    costs = sentence(f"gives up: {reason.gives_up}") if reason.gives_up else ()
    alters = ("This can alter answers.",) if reason.alters_answers else ()
    return tuple(part for part in (text, costs, alters) if part)


def _planned(step: Step) -> list[str]:
    """Return what the plan gave as its reason beside the levers and the repairs, which are told already."""
    told = {reason.why.strip().rstrip(".") for reason in step.reasons} | {_AS_ASKED}
    levers = {name for a in (step.before, step.attempt) if a for name in a.choice}
    parts = [part.strip().rstrip(".") for part in step.attempt.because.split("; ")]
    moves = re.compile(rf"(?:{'|'.join(map(re.escape, levers)) or 'none'}) (?:at variant \d+|off)(?:, .*)?")
    kept = [part for part in parts if part and part not in told and not moves.fullmatch(part)]
    return ["; ".join(kept)] if kept else []


def _failure(attempt: Attempt, earlier: Sequence[Attempt], later: Sequence[Attempt]) -> list[Block]:
    diagnosis = attempt.diagnosis
    cause = diagnosis.cause if diagnosis else None
    if diagnosis is None or cause is None:
        return []
    blocks: list[Block] = [Para(_cause(attempt, diagnosis, cause), "cause", _tone(attempt))]
    shows = evidence(diagnosis, note=_note(diagnosis))
    told = first_alike(attempt, earlier) is not None
    blocks += [replace(b, told=told) if isinstance(b, Excerpt) else b for b in (shows, *_raised(diagnosis)) if b]
    sums = (*diagnosis.memory, *no_value(attempt, earlier, next(iter(later), None)))
    return blocks + ([Sums("memory", sums)] if sums else [])


def _again(attempt: Attempt, earlier: Sequence[Attempt], folder: str) -> list[Block]:
    """Say which attempt failed alike, and how to make an unknown failure known."""
    cause = attempt.diagnosis.cause if attempt.diagnosis else None
    if cause is None:
        return []
    first = first_alike(attempt, earlier)
    if first:
        return [Para((f"This is the failure of attempt {first.n} again.",), "seen")]
    if cause.kind != "unknown" or cause.line is None or not attempt.log:
        return []
    line = shlex.quote(f"{folder}/{attempt.log}:{cause.line}")
    return [Para(prose(f"make a signature of it: `relight playbook new my-failure --from {line}`"), "teach")]


def _tone(attempt: Attempt) -> Tone:
    return tone(attempt) if attempt.outcome != "healthy" else "plain"


def _cause(attempt: Attempt, diagnosis: Diagnosis, cause: Cause) -> Prose:
    doubt = "" if cause.confidence >= _SURE else f", {sure(cause.confidence)} sure"
    broke = broke_in(attempt)
    where = f" in phase {phase(broke)}" if broke else ""
    first = f", reported first by {rank(cause.rank)}" if cause.rank else ""
    said = sentence(why_failed(diagnosis))
    return (*said, f" ({cause.kind}{where}{first}{doubt})")


def _note(diagnosis: Diagnosis) -> str:
    lines = len(diagnosis.cascade)
    said = mark(diagnosis.cause) if diagnosis.cause else "the cause"
    return f"{said}; {count(lines, 'other line is', 'other lines are')} only its consequence" if lines else said


def _raised(diagnosis: Diagnosis) -> list[Block]:
    """Tell where it was raised: by the source there where it was read, else by its place alone."""
    frames = diagnosis.traceback.frames if diagnosis.traceback else ()
    last = frames[-1] if frames else None
    read = diagnosis.constraint
    here = bool(read and last and (read.line, path(read.file)) == (last.line, path(last.file)))
    shows = source(read, last.function if last and here else "") if read else None
    place = [Para(prose(f"`{path(last.file)}:{last.line}` in `{last.function}`"), "raised at")] if last else []
    return [*([] if shows and here else place), *([shows] if shows else []), *(_source(read) if read else [])]


def _source(read: Constraint) -> list[Block]:
    blocks: list[Block] = []
    if any(part in read.condition for part in read.opaque):
        blocks.append(Para(("It was read in part only; the source above shows it.",), "rule"))
    elif read.condition:
        blocks.append(Para((*prose(f"It fails unless `{read.condition}`."), *_guards(read)), "rule"))
    left = other_values(read)
    if left:
        blocks.append(Para(prose(", ".join(f"`{name}` is {value(v)}" for name, v in left.items())), "here"))
    return blocks


def _guards(read: Constraint) -> Prose:
    guards = readable(read)
    return (
        prose(f" That is checked only while {listed([f'`{guard}`' for guard in innermost(guards)])}.") if guards else ()
    )


def _shown(attempt: Attempt, record: Record) -> list[Block]:
    """Say what a later launch has shown to be to blame."""
    found = culprit_of(attempt, record)
    return [Para(prose(found.said), "shown")] if found else []


def _judged(attempt: Attempt, earlier: Sequence[Attempt]) -> list[Block]:
    same = next((a for a in earlier if attempt.judged and a.judged == attempt.judged), None)
    if same:
        return [Para((f"The same answers, word for word, as in attempt {same.n}.",), "judged")]
    notes = tuple(sentence(note) for note in answers.told(attempt.judged))
    return [Bullets(notes, "Judged by its answers")] if notes else []


def _repairs(attempt: Attempt, later: Sequence[Attempt], record: Record) -> list[Block]:
    repairs = _merged(attempt.diagnosis.repairs if attempt.diagnosis else (), attempt.settings)
    ends = [became(repair, attempt.settings, later) for repair in repairs]
    made = tuple(repair for repair, taken in zip(repairs, ends, strict=True) if taken)
    pairs = zip(repairs, ends, strict=True)
    choices = tuple(_choice(repair, taken, attempt, record, made) for repair, taken in pairs)
    return [Choices("repairs", choices)] if choices else _without_repairs(attempt, later)


def _without_repairs(attempt: Attempt, later: Sequence[Attempt]) -> list[Block]:
    """Say what helps where no change does: a person's step, or that nothing is known."""
    found = attempt.diagnosis
    if found is None or found.cause is None or attempt.outcome in {"healthy", "aborted"}:
        return []
    if found.next.strip():
        return [Para(sentence(found.next), "helps")]
    if not later:
        return [Para(("No repair of this failure is known.",), "repairs")]
    same = not diff(attempt.settings, later[0].settings)
    what = "gives the same settings another try" if same else "is the plan's own choice"
    return [Para((f"The diagnosis proposes none; attempt {later[0].n} {what}.",), "repairs")]


def _merged(repairs: Sequence[Repair], settings: Settings) -> tuple[Repair, ...]:
    """Return repairs, each edit of the settings once, as the first that proposes it."""
    kept: dict[tuple[Edit, ...], Repair] = {}
    for repair in repairs:
        kept.setdefault(edits_of(repair, settings), repair)
    return tuple(kept.values())


def _choice(
    repair: Repair, taken: Attempt | None, attempt: Attempt, record: Record, made: tuple[Repair, ...]
) -> Choice:
    following = next((a.n for a in record.attempts if a.n > attempt.n), 0)
    said = _became(taken, attempt, following) if taken else passed_over(repair, attempt, record, made)
    lines = brief(edits_of(repair, attempt.settings))
    passed = said.startswith(PASSED)
    return Choice(lines, said, _taken_tone(taken, attempt), _reason(repair), _costs(repair), passed)


def _became(taken: Attempt, failed: Attempt, following: int) -> str:
    if taken.outcome == "rejected" and not _past(taken, failed):
        return f"{outcome(taken)} (attempt {taken.n})"
    verb = "taken" if taken.n == following else "tried later"
    if taken.outcome in {"healthy", "aborted", None}:
        return f"{verb}: attempt {taken.n}, {outcome(taken)}"
    end = "the same failure again" if _same_failure(taken, failed) else "got past this failure"
    return f"{verb}: attempt {taken.n}, {end}"


def _taken_tone(taken: Attempt | None, failed: Attempt) -> Tone:
    if taken is None:
        return "plain"
    past = taken.outcome not in {"aborted", None} and (taken.outcome == "healthy" or _past(taken, failed))
    return "good" if past else tone(taken)


def _past(taken: Attempt, failed: Attempt) -> bool:
    """Say whether an attempt failed of something that is known and is not this failure."""
    known = bool(taken.diagnosis and taken.diagnosis.cause)
    return known and not _same_failure(taken, failed)


def _same_failure(one: Attempt, other: Attempt) -> bool:
    causes = [a.diagnosis.cause if a.diagnosis else None for a in (one, other)]
    return causes[0] is not None and causes[1] is not None and alike(causes[0], causes[1])


def _reason(repair: Repair) -> Prose:
    proof = "; the host's own validation passed it" if repair.confirmed else ""
    source = f"From {origin(repair.origin)}{proof}."
    return (*sentence(repair.why), f" {source}") if repair.why.strip() else (source,)


def _costs(repair: Repair) -> Prose:
    said = sentence(f"gives up: {repair.gives_up}") if repair.gives_up else ()
    alters = ("Can alter answers.",) if repair.alters_answers else ()
    return (*said, *([" "] if said and alters else []), *alters)


def _nodes(attempt: Attempt) -> list[Block]:
    """Tell how each node of several ended, and which one failed first."""
    if not attempt.nodes:
        return []
    rows = tuple((*((part,) for part in _node(node)), prose(_own_log(node))) for node in attempt.nodes)
    tones: tuple[Tone, ...] = tuple("bad" if node.first else "plain" for node in attempt.nodes)
    heads = ("node", "host", "ended", "log", "its own log shows")
    return [without_empty_columns(Table("How each node of this attempt ended", heads, rows, tones))]


def _node(node: NodeEnd) -> tuple[str, str, str, str]:
    end = "stopped by relight" if node.stopped else ended_by(node.exit) or "not known"
    return str(node.rank), node.host, f"{end}, the first seen to fail" if node.first else end, node.log or "-"


def _own_log(node: NodeEnd) -> str:
    if not node.text:
        return node.kind or "-"
    kind = f" ({node.kind})" if node.kind else ""
    return f"`{shorten(node.text, _LONGEST, placeholder=' ...')}`{kind}"


def _ended(attempt: Attempt) -> str:
    """Return how the process ended, and whose doing a kill mostly is."""
    said, how = ended_by(attempt.exit), attempt.exit
    cause = attempt.diagnosis.cause if attempt.diagnosis else None
    if attempt.outcome != "crashed" or how is None or how.signal != _KILL or cause is None:
        return said
    killed = cause.family in _KILLED or cause.kind == _NO_MEMORY
    return said if killed else f"{said}: an engine ends all its processes so once one of them failed"


def _facts(attempt: Attempt) -> list[Block]:
    logs = attempt.logs or ((attempt.log,) if attempt.log else ())
    seen = lane(attempt)
    rows = (
        ("phases", _phases(seen)),
        ("process", _ended(attempt)),
        ("peak", f"{peak(seen) / 1024:.1f} GiB at most were in use on the fullest card" if peak(seen) else ""),
        ("answers", "can differ from those of the settings asked for" if attempt.alters_answers else ""),
        ("log" if len(logs) == 1 else "logs", ", ".join(logs)),
    )
    kept = tuple((name, (held,)) for name, held in rows if held)
    return [Pairs(kept)] if kept else []


def _phases(seen: Lane) -> str:
    """Return how long each phase took, and when the first began: starting the process is no phase of its log."""
    if not seen.bars:
        return ""
    first = f" (the first began {span(seen.bars[0].start)} after the launch)" if seen.bars[0].start >= _SEEN else ""
    took: dict[str, float] = {}
    for bar in seen.bars:
        took[bar.phase] = took.get(bar.phase, 0.0) + bar.end - bar.start
    return ", ".join(f"{phase(name)} {span(length)}" for name, length in took.items()) + first
