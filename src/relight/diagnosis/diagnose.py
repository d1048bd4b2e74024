"""Name the failure that a log shows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from relight.diagnosis.areas import Place, place_of
from relight.diagnosis.candidates import Candidate, candidates
from relight.diagnosis.cause import cause_of, traceback_of
from relight.diagnosis.details import asking, details, passed_on, told
from relight.diagnosis.draft import situated, with_draft
from relight.diagnosis.ending import Ended, with_exit
from relight.diagnosis.evidence import Evidence, attempts, read_attempt
from relight.diagnosis.given import Given, read_given
from relight.diagnosis.kernel import with_kernel
from relight.diagnosis.limits import limit_facts, limits_of
from relight.diagnosis.match import Matcher, bounded, matcher
from relight.diagnosis.memory import MOST, Sums, direction, halvings, memory_repairs, right_way, situation, sums
from relight.diagnosis.message import named
from relight.diagnosis.platform import platform_of
from relight.diagnosis.rank import Choice, choose
from relight.diagnosis.repairs import repairs_for
from relight.diagnosis.silence import stopped
from relight.diagnosis.source.wishes import Wishes, general_wishes
from relight.diagnosis.spoken import EXCERPT, spoken
from relight.diagnosis.telling import last, waiting
from relight.diagnosis.unnamed import cut_off, repairs_of_end, silent
from relight.diagnosis.wants import SourceReading, read_source, wants_of
from relight.logs.form import form_of
from relight.logs.lines import Line, shown
from relight.words.diagnosis import NOT_THE_ENGINES, Cause, Diagnosis, Engine, LogLine, Verdict
from relight.words.knowledge import Knowledge

UNRECOGNIZED = "args.unrecognized"
UNUSUAL = 5
LATE = 0.85
"""Confidence in a cause of which only the symptom is seen."""
FOREIGN = 6
"""Lines from which on a log without a word of the engine is another program's; a shorter one may be an excerpt."""
OF_ENGINES = (
    "kernel.",
    "oom.gpu.",
    "comm.nccl",
    "comm.p2p",
    "comm.custom_allreduce",
    "comm.symm_mem",
    "comm.transfer",
    "numerics.",
)
ANYWHERE = ("kernel.jit_compile", "kernel.segfault")
"""Kinds that only programs on GPUs have, and those among them that others have too."""


def diagnose(  # noqa: PLR0913  what is known of a launch beside its log
    lines: Iterable[Line],
    knowledge: Knowledge,
    *,
    name: str,
    argv: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    ended: Ended | None = None,
    running: bool = False,
    sources: Mapping[str, str] | None = None,
    wishes: Wishes | None = None,
) -> Diagnosis:
    """Return the diagnosis of one log.

    `argv` is the command after the module, empty where it is not known; `running` says the process lives;
    `sources` maps files named in `Diagnosis.wants` to their text; `wishes` are the operator's, default: what everyone
    wants. Never raises for what a log holds.
    """
    lines = list(lines)
    form = form_of(line.text for line in lines)
    if form:
        return Diagnosis(log=name, verdict="unknown", form=form)
    evidence, found, choice = _last_complete(lines, knowledge, running=running)
    if ended:
        choice = with_kernel(choice, ended.kernel, knowledge)
        choice = with_exit(choice, ended, evidence.progress.phase, knowledge)
    engine = Engine(version=version_of(evidence) or _only_version(knowledge))
    base = Diagnosis(log=name, verdict="unknown", engine=engine)
    evidence.ours = evidence.ours or bool(argv)
    if not evidence.ours and len(evidence.records) >= FOREIGN:
        base = replace(base, form=NOT_THE_ENGINES)
    given = read_given(argv, env or {}, printed_arguments(evidence), knowledge, engine.version)
    if choice.root is None and evidence.cut and not running and _may_be_ours(evidence):
        return _unnamed(base, cut_off(evidence, evidence.cut), evidence, given, knowledge)
    if choice.root is None or _foreign(evidence, choice.root):
        benign = any(c.role == "noise" and c.claim and c.claim.signature.kind == "none" for c in found)
        verdict = _without_failure(evidence, running=running, benign=benign and evidence.ours)
        if verdict == "failed":
            return _unnamed(base, silent(evidence), evidence, given, knowledge)
        return replace(base, verdict=verdict)
    root = _in_its_room(choice, choice.root, evidence, given, matcher(knowledge.signatures))
    choice = replace(choice, root=root)
    said = named(bounded(root.text)) if base.engine.version is None and _may_name_flags(root) else frozenset[str]()
    given = replace(given, platform=platform_of(root, evidence, given, knowledge.platforms), said=said)
    wishes = wishes or general_wishes(knowledge.facts, given.parser, given.flags)
    reading = read_source(root, given, sources or {}, wishes)
    wants = wants_of(root, sources or {}, reading.more)
    place = place_of(root, evidence, given, knowledge.areas)
    return replace(_failed(base, choice, evidence, reading, place), wants=wants)


def _may_name_flags(root: Candidate) -> bool:
    """Say whether flags that a message names are there: a parser names those that are not."""
    return root.claim is None or root.claim.signature.kind != UNRECOGNIZED


def _last_complete(
    lines: Iterable[Line], knowledge: Knowledge, *, running: bool
) -> tuple[Evidence, list[Candidate], Choice]:
    """Read the last attempt of a log, or the one before it where the last only just began."""
    groups = attempts(lines, knowledge.phases)
    ask = matcher(knowledge.signatures)
    for group in reversed(groups):
        evidence = read_attempt(group, knowledge.phases)
        found = candidates(evidence, ask)
        choice = with_draft(choose(found, evidence), evidence, ask)
        if running or choice.root or evidence.progress.ready or group is groups[0]:
            break
    if not (running or choice.root or evidence.progress.ready):
        choice = choose(spoken(evidence, ask), evidence)
    evidence.ours = evidence.ours or len(groups) > 1
    return evidence, found, choice


def _foreign(evidence: Evidence, root: Candidate) -> bool:
    """Say whether the log is another program's: no word of the engine in it, and a cause that any program may have."""
    if _may_be_ours(evidence):
        return False
    kind = root.claim.signature.kind if root.named and root.claim else "unknown"
    return kind in ANYWHERE or not kind.startswith(OF_ENGINES)


def _may_be_ours(evidence: Evidence) -> bool:
    return evidence.ours or len(evidence.records) < FOREIGN


def _in_its_room(choice: Choice, root: Candidate, evidence: Evidence, given: Given, ask: Matcher) -> Candidate:
    """Return the root with the signature for what is special about its memory: why pools lack room, which graphs."""
    cause = cause_of(choice)
    special = situation(cause.kind, _sums(cause, evidence, given), evidence.progress) if cause else ""
    return situated(root, ask, special) if special else root


def _sums(cause: Cause, evidence: Evidence, given: Given) -> Sums:
    flags = given.memory
    fact = given.facts.get(flags.fraction)
    most = fact.bounds[1] if fact and fact.bounds else MOST
    drafts = given.in_effect(flags.draft) not in {None, *flags.draftless}
    offloads = bool(given.in_effect(flags.offload))
    return sums(cause.kind, cause.facts, evidence.progress, _fraction(given), most, drafts=drafts, offloads=offloads)


def _failed(base: Diagnosis, choice: Choice, evidence: Evidence, reading: SourceReading, place: Place) -> Diagnosis:
    cause, root, given = cause_of(choice), choice.root, place.given
    assert cause is not None  # noqa: S101  a root was chosen
    assert root is not None  # noqa: S101
    summed, up = _sums(cause, evidence, given), direction(cause.kind, cause.facts)
    # A condition that was read says more than the message that goes with it.
    stated = {} if reading.constraint else limit_facts(limits_of(root.text, given), given)
    facts = {**stated, **cause.facts, **summed.facts, **_spilled(summed, given), **halvings(cause.kind, cause.facts)}
    blames = _blames((*cause.blames, *place.blamed), summed, given.memory.fraction)
    cause = replace(cause, late=True, confidence=min(cause.confidence, LATE)) if place.late else cause
    read = (*reading.repairs, *memory_repairs(summed, given.name(given.memory.fraction)))
    said = details(root, evidence, place.areas)
    own = (LogLine(root.record.number, root.record.body),) if place.compiled and not said else ()
    cause = replace(cause, summary=told(said or own, cause.summary))
    repairs = right_way(
        repairs_for(root, facts, given, base.engine.version, read, place), up, summed, given.memory.fraction
    )
    return replace(
        base,
        verdict="failed",
        form="",
        cause=replace(cause, facts=facts, blames=blames, suspects=place.steered((*blames, *given.flags))),
        traceback=traceback_of(root),
        constraint=reading.constraint,
        cascade=tuple(_line(c) for c in choice.cascade),
        repairs=(*last(repairs, given), *waiting(place)),
        action=root.claim.signature.action if root.claim else "change",
        next=root.claim.signature.next if root.claim else "",
        evidence=_unusual(root, evidence),
        memory=summed.sentences,
        details=(*said, *passed_on(root), *asking(root, repairs)),
    )


def _spilled(summed: Sums, given: Given) -> dict[str, int]:
    """Return how many GB of weights have to be outside the card in all, where some more have to leave it."""
    now, more = given.in_effect(given.memory.offload), summed.facts.get("spill_gib")
    return {} if more is None else {"offload_gb": more + (int(now) if isinstance(now, int | float) else 0)}


def _blames(named: tuple[str, ...], summed: Sums, fraction: str) -> tuple[str, ...]:
    """Return what is blamed: not the fraction where no value of it can help."""
    return tuple(n for n in dict.fromkeys(named) if not (summed.hopeless and n == fraction))


def _fraction(given: Given) -> float | None:
    value = given.value(given.memory.fraction)
    return float(value) if isinstance(value, int | float) else None


def _line(candidate: Candidate) -> LogLine:
    return LogLine(candidate.record.number, shown(candidate.record.line.text))


def _unusual(root: Candidate, evidence: Evidence) -> tuple[LogLine, ...]:
    """Return a few lines around the root: its evidence, and what a new signature would be made of."""
    near = evidence.records[max(0, root.index - 3) : max(0, root.index) + UNUSUAL - 2]
    return tuple(LogLine(rec.number, shown(rec.line.text)) for rec in near if rec.body.strip())


def _without_failure(evidence: Evidence, *, running: bool, benign: bool) -> Verdict:
    # An excerpt of everyday serving shows no start at all.
    if evidence.progress.ready is not None or (evidence.served and not evidence.progress.spans):
        return "healthy"
    # A log that shows how the start began is whole up to its end, however short.
    excerpt = len(evidence.records) < EXCERPT and not stopped(evidence) and not printed_arguments(evidence)
    if benign and not running and (excerpt or not evidence.progress.spans):
        return "healthy"
    if not evidence.progress.spans:
        return "unknown"
    return "starting" if running else "failed"


def _unnamed(base: Diagnosis, cause: Cause, evidence: Evidence, given: Given, knowledge: Knowledge) -> Diagnosis:
    """Return the diagnosis of a log that ends without a word about what failed."""
    repairs = repairs_of_end(cause, evidence, given, knowledge, base.engine.version)
    return replace(base, verdict="failed", cause=cause, action="change", repairs=repairs)


def _only_version(knowledge: Knowledge) -> str | None:
    """Return the version that is spoken of where only one is known: the host's own."""
    return next(iter(knowledge.versions)) if len(knowledge.versions) == 1 else None


def version_of(evidence: Evidence) -> str | None:
    """Return the engine's version where the log prints it."""
    for mark in ("version_in_args", "version"):
        for facts in evidence.progress.facts.get(mark, {}).values():
            return str(facts["version"])
    return None


def printed_arguments(evidence: Evidence) -> str:
    """Return the engine's own dump of its arguments, "" where the log has none."""
    for facts in evidence.progress.facts.get("server_args", {}).values():
        return str(facts.get("dict") or facts.get("repr") or "")
    return ""
