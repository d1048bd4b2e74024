"""The proof of signatures: each claims its own samples, and only those."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from relight.diagnosis.candidates import Candidate, candidates
from relight.diagnosis.draft import situated
from relight.diagnosis.evidence import gather
from relight.diagnosis.given import OWN_VARIABLES
from relight.diagnosis.match import Matcher
from relight.logs.lines import Line
from relight.words.area import Area
from relight.words.kinds import PERSON
from relight.words.knowledge import Knowledge
from relight.words.signature import Remedy, Sample, Signature

ENV_PREFIXES = (
    "SGLANG_", "NCCL_", "TORCH_", "PYTORCH_", "CUDA_", "TRITON_", "FLASHINFER_", "TVM_", "OMP_", "GLOO_", "HF_HUB_",
)  # fmt: skip
PROTECTED = {
    "model-path", "tokenizer-path", "revision", "served-model-name", "host", "port", "api-key", "admin-api-key",
    "trust-remote-code", "chat-template",
}  # fmt: skip


def check(knowledge: Knowledge, signatures: Sequence[Signature] | None = None) -> tuple[str, ...]:
    """Return what is wrong with signatures, one sentence each; none where nothing is.

    `signatures` are those to judge (default: all of `knowledge`); they are judged among all others. Each sentence
    begins with the file.
    """
    asked = knowledge.signatures if signatures is None else tuple(signatures)
    ask = Matcher(knowledge.signatures)
    return tuple(f"{s.path or s.id}: {text}" for s in asked for text in _problems(s, ask, knowledge))


def check_areas(knowledge: Knowledge) -> tuple[str, ...]:
    """Return what is wrong with the remedies and flags of areas, one sentence each."""
    return tuple(f"{area.name}: {text}" for area in knowledge.areas.all for text in _area_problems(area, knowledge))


def _area_problems(area: Area, knowledge: Knowledge) -> Iterator[str]:
    for remedy in area.remedies:
        yield from _remedy_problems(remedy, knowledge)
    known = {name for parser in knowledge.versions.values() for flag in parser for name in flag.names}
    for name in (*area.flags, *area.on):
        if known and not any(fnmatchcase(flag, name) for flag in known):
            yield f"it names --{name}, which no known version has"


def _problems(signature: Signature, ask: Matcher, knowledge: Knowledge) -> Iterator[str]:
    if not signature.any:
        yield "any is empty: add a regex of the line that shows the failure"
    if not signature.samples:
        yield "add a [[sample]] with a real log line; it is the test"
    for sample in signature.samples:
        yield from _sample_problems(signature, sample, ask, knowledge)
    for miss in signature.near_misses:
        if any(c.claim and c.claim.signature.id == signature.id for c in _at(miss, ask, knowledge)):
            yield f"the near miss is claimed: {miss.log[miss.line - 1]!r}"
    if signature.action == "person" and signature.kind not in PERSON:
        yield f"action = 'person' is not allowed for {signature.kind}; allowed: {sorted(PERSON)}"
    for remedy in signature.remedies:
        yield from _remedy_problems(remedy, knowledge)


def _sample_problems(signature: Signature, sample: Sample, ask: Matcher, knowledge: Knowledge) -> Iterator[str]:
    text = sample.log[sample.line - 1]
    found = [_situated(c, signature, ask, knowledge) for c in _at(sample, ask, knowledge)]
    owners = {owner for candidate in found for owner in _owners(candidate, ask)}
    if signature.id not in owners:
        yield f"the sample is not claimed by its own signature: {text!r}"
    elif not signature.generic and not any(c.claim and c.claim.signature.id == signature.id for c in found):
        winners = sorted(c.claim.signature.id for c in found if c.claim)
        yield f"the sample is claimed by {winners}, which demands more of the text: {text!r}"
    elif not signature.generic and owners - {signature.id}:
        yield f"the sample is claimed by {sorted(owners - {signature.id})} as well: {text!r}"


def _situated(candidate: Candidate, signature: Signature, ask: Matcher, knowledge: Knowledge) -> Candidate:
    """Return a candidate as it is read in the situation that a signature asks for in place of a phase of the start."""
    phases = {pattern.phase for pattern in knowledge.phases}
    asked = next((p for p in signature.phase if phases and p not in phases), None)
    return replace(situated(candidate, ask, asked), phase=asked) if asked else candidate


def _owners(candidate: Candidate, ask: Matcher) -> set[str]:
    """Return the signatures that claim the candidate and are not generic, its winner in any case.

    What asks for frames or a phase hides what asks for the text alone.
    """
    texts = {candidate.text, candidate.block.text("")} if candidate.block else {candidate.text}
    places = candidate.block.places if candidate.block else ""
    claims = [c for text in texts for c in ask.claims(text, places=places, phase=candidate.phase)]
    named = [c for c in claims if not c.signature.generic]
    most = max((c.fit for c in named), default=0)
    winner = {candidate.claim.signature.id} if candidate.claim else set()
    return winner | {c.signature.id for c in named if c.fit == most}


def _remedy_problems(remedy: Remedy, knowledge: Knowledge) -> Iterator[str]:
    moved = {*remedy.add, *remedy.scale, *remedy.only}
    for name in sorted(moved - {*remedy.set, *remedy.set_env, *remedy.add, *remedy.scale}):
        yield f"only names {name}, which the remedy does not set"
    for flag in (*remedy.set, *remedy.unset, *(name for name in (*remedy.add, *remedy.scale) if not name.isupper())):
        if flag in PROTECTED or flag.startswith("ssl-"):
            yield f"a remedy may not touch --{flag}: it is always protected"
        elif knowledge.versions and not any(flag in parser for parser in knowledge.versions.values()):
            yield f"a remedy names --{flag}, which no known version has"
    for name in (*remedy.set_env, *remedy.unset_env):
        if not name.startswith(ENV_PREFIXES) and name != "NO_PROXY":
            yield f"a remedy names {name}; allowed are NO_PROXY and {', '.join(p + '*' for p in ENV_PREFIXES)}"
        elif name.startswith(OWN_VARIABLES) and knowledge.env_names and name not in knowledge.env_names_for(None):
            yield f"a remedy names {name}, which no known version reads"


def _at(sample: Sample, ask: Matcher, knowledge: Knowledge) -> list[Candidate]:
    """Return the candidates on the sample's line."""
    lines: Iterable[Line] = [Line(i, 0, text) for i, text in enumerate(sample.log, 1)]
    return [c for c in candidates(gather(lines, knowledge.phases), ask) if c.record.number == sample.line]
