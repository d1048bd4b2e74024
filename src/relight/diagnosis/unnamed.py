"""What is known of a log that ends without a word about what failed: where it stopped, or inside an error."""

from dataclasses import replace

from relight.diagnosis.areas import area_repairs, in_use, place_of
from relight.diagnosis.candidates import Candidate
from relight.diagnosis.evidence import Evidence
from relight.diagnosis.given import Given
from relight.diagnosis.platform import platform_of
from relight.diagnosis.silence import last_progress, stopped
from relight.diagnosis.traceback import Block
from relight.logs.lines import shown
from relight.logs.records import Record
from relight.words.diagnosis import Cause
from relight.words.kinds import KINDS, family
from relight.words.knowledge import Knowledge
from relight.words.settings import Repair


def silent(evidence: Evidence) -> Cause:
    """Return the cause of a log that stops inside a start."""
    kind = "hang.startup" if stopped(evidence) else "unknown"
    stalls = f"{KINDS[kind]} " if kind != "unknown" else ""
    phase = evidence.progress.phase
    said = f"{stalls}The log ends in phase {(phase or '').replace('_', ' ')} and names no failure."
    return _cause(kind, last_progress(evidence), phase, 0.5 if kind != "unknown" else 0.2, said)


def cut_off(evidence: Evidence, block: Block) -> Cause:
    """Return the cause of a log that ends inside an error, before the line that names it: where the error begins."""
    phase = evidence.phase_at(block.start.number)
    return _cause("unknown", block.start, phase, 0.2, "The log ends in the middle of an error.")


def _cause(kind: str, at: Record | None, phase: str | None, confidence: float, summary: str) -> Cause:
    return Cause(
        family=family(kind),
        kind=kind,
        signature=None,
        fingerprint="",
        line=at.number if at else None,
        text=shown(at.line.text) if at else "",
        rank=at.rank if at else None,
        phase=phase,
        confidence=confidence,
        summary=summary,
    )


def repairs_of_end(
    cause: Cause, evidence: Evidence, given: Given, knowledge: Knowledge, version: str | None
) -> tuple[Repair, ...]:
    """Return what leaves away the features in use that the end of a log speaks of; () where it speaks of none."""
    if cause.line is None:
        return ()
    index = evidence.index(cause.line)
    at = evidence.records[index]
    end = Candidate(index, at, at.body.strip(), cause.phase, block=evidence.cut)
    given = replace(given, platform=platform_of(end, evidence, given, knowledge.platforms))
    place = replace(place_of(end, evidence, given, knowledge.areas), kind=cause.kind)
    used = tuple(a for a in place.found if evidence.cut or (a.on and in_use(a, given, place.seen)))
    return tuple(area_repairs(replace(place, found=used), {}, version)) if used or given.flags else ()
