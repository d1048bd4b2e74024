"""Every line of a log that may be evidence, with the signatures that claim it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from relight.diagnosis.evidence import Evidence
from relight.diagnosis.match import Claim, Matcher, bounded
from relight.diagnosis.traceback import Block, Chain
from relight.logs.records import Record
from relight.words.signature import Role

SHORTEST_WRAPPED = 40
MOST_ROWS = 3
"""Rows below a line that may go on with its message."""
SHORTEST_PASSED_ON = 12
LEAST = 2.0
"""Characters of text that a claim must ask for to say more than that something was raised."""
_INSIDE = re.compile(
    r"\b(?P<type>[A-Z]\w*(?:Error|Exception))(?:: (?P<message>.*)|\((?P<q>['\"])(?P<quoted>.*?)(?P=q),?\))"
)
_BAD = re.compile(r"(?i)exception|crash|fatal|fail|error|died|abort")
_COMPILER = re.compile(r"(?:^|[:)] )(?:fatal )?error: |\bptxas\b.{0,200}\b(?:error|fatal)\s*: |\bnvcc fatal\s*: ")
_RAISE = re.compile(r"\s*raise \w+\(")
"""Source that a traceback shows; the exception it raises stands elsewhere."""
_BUILT_IN = re.compile(r"(?:\w+\.)*(?:[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Iteration|Timeout)|OutOfResources)$")


@dataclass(frozen=True)
class Candidate:
    """A line (or an exception) that may be the cause. `claim` is None for an exception no signature knows."""

    index: int
    record: Record
    text: str
    phase: str | None
    claim: Claim | None = None
    block: Block | None = None
    chain: tuple[Block, ...] = ()

    @property
    def role(self) -> Role:
        """Return the role of the claiming signature; an unknown exception is a root."""
        return self.claim.signature.role if self.claim else "root"

    @property
    def fatal(self) -> bool:
        """Say whether the line ends a process: an exception, a line no logger wrote, or an error by its own word.

        An ordinary record of the log (the engine prints no level) may be a warning that explains nothing.
        """
        if self.block is not None or (self.claim and self.claim.signature.fatal):
            return True
        plain = self.record.fresh or self.record.level in {"DEBUG", "INFO", "WARNING"}
        return not plain or self.record.level in {"ERROR", "CRITICAL"}

    @property
    def named(self) -> bool:
        """Say whether a signature that is not generic claims it."""
        return self.claim is not None and not self.claim.signature.generic


def candidates(evidence: Evidence, matcher: Matcher) -> list[Candidate]:
    """Return all candidates in the order of the log."""
    found = [*_exceptions(evidence, matcher), *_lines(evidence, matcher)]
    return sorted(found, key=lambda c: c.index)


def _exceptions(evidence: Evidence, matcher: Matcher) -> Iterator[Candidate]:
    for chain in evidence.chains:
        judged = [_judged(block, evidence, matcher) for block in chain]
        yield _of_chain(chain, judged)


def _judged(block: Block, evidence: Evidence, matcher: Matcher) -> Candidate:
    phase = _phase_of(block, evidence)
    block.more = _without_advice(block, matcher)
    places = dict.fromkeys((block.places, evidence.progress.marks.inside(block.places)))
    claims = [c for text in _texts(block) for at in places for c in matcher.claims(text, places=at, phase=phase)]
    best = max(claims, key=lambda c: c.strength, default=None)
    return Candidate(evidence.index(block.number), block.end, block.text(), phase, best, block)


def _texts(block: Block) -> dict[str, None]:
    """Return the ways to read an exception: as printed, after what the log says before it, as one of a plain type.

    An assertion that says nothing is read with the line that asserts, the output of a build by what its compiler says.
    """
    text = block.text()
    said = [f"{block.prefix} {text}"] if block.prefix and block.frames else []
    plain = [f"Exception: {text.partition(': ')[2]}"] if block.frames and not _BUILT_IN.match(block.type) else []
    condition = [f"{text}: {block.frames[-1].text}"] if block.frames and text == "AssertionError" else []
    return dict.fromkeys((text, block.text(""), *said, *plain, *condition, *_compilers(block)))


def _compilers(block: Block) -> list[str]:
    """Return the first line of a long message that a compiler wrote of an error."""
    told = (rec.body.strip() for rec in block.more if _COMPILER.search(bounded(rec.body)))
    return [f"{block.type}: {line}" for line in islice(told, 1)]


def _phase_of(block: Block, evidence: Evidence) -> str | None:
    by_frame = evidence.progress.marks.phase_of_frames(block.places)
    return by_frame or evidence.phase_at(block.start.number)


def _without_advice(block: Block, matcher: Matcher) -> list[Record]:
    kept: list[Record] = []
    for rec in block.more:
        claims = matcher.claims(rec.body)
        if claims and claims[0].signature.role in {"advice", "cascade", "noise"}:
            break
        kept.append(rec)
    return kept


def _of_chain(chain: Chain, judged: list[Candidate]) -> Candidate:
    """Return the block of a chained traceback that names the cause."""
    best = _named_block(judged) or _block_by_link(judged)
    return Candidate(best.index, best.record, best.text, best.phase, best.claim, best.block, tuple(chain))


def _named_block(judged: list[Candidate]) -> Candidate | None:
    return next((c for c in judged if c.named and c.role == "root"), None)


def _block_by_link(judged: list[Candidate]) -> Candidate:
    rooted = [c for c in judged if c.role == "root"] or judged
    last = rooted[-1]
    wrapped = next((c for c in rooted[:-1] if _told_by(last, c)), None)
    if wrapped is not None:
        return wrapped
    if last.block is not None and (last.block.link == "during" or _for_the_user(last.text)):
        return last
    return rooted[0]


def _told_by(outer: Candidate, inner: Candidate) -> bool:
    """Say whether an exception only passes on the message of one that its own words explain."""
    message = inner.block.message if inner.block else ""
    asked = inner.claim.strength[1] if inner.claim else 0.0
    return len(message) >= SHORTEST_PASSED_ON and message in outer.text and asked > LEAST


def _for_the_user(text: str) -> bool:
    return " --" in text or "/" in text or "'--" in text


def _lines(evidence: Evidence, matcher: Matcher) -> Iterator[Candidate]:
    for index, rec in enumerate(evidence.records):
        if rec.number in evidence.taken or not rec.body.strip() or (evidence.chains and _RAISE.match(rec.body)):
            continue
        claims = matcher.claims(rec.body, phase=evidence.phases[index])
        if not claims or claims[0].signature.generic:
            claims = _wrapped(evidence, matcher, index) or claims
        claims = claims or _named_inside(rec, matcher, evidence.phases[index])
        if rec.number in evidence.commands:
            # What flags are called sounds like failures: --watchdog-timeout.
            claims = [c for c in claims if not c.signature.generic]
        if claims:
            yield Candidate(index, rec, rec.body.strip(), evidence.phases[index], _strongest(claims))


def _named_inside(rec: Record, matcher: Matcher, phase: str | None) -> list[Claim]:
    """Return claims on an exception that an error line names inside itself: "the scheduler crashed: TypeError(...)"."""
    body = bounded(rec.body)
    found = _INSIDE.search(body)
    told = rec.level in {"ERROR", "CRITICAL"} or (found and _BAD.search(body[: found.start()]))
    if found is None or not told:
        return []
    message = found["quoted"] or found["message"] or ""
    return [c for c in matcher.claims(f"{found['type']}: {message.strip()}", phase=phase) if c.signature.role == "root"]


def _strongest(claims: list[Claim]) -> Claim:
    """Return the claim that counts: what is known to be harmless is harmless, however much it looks like a failure."""
    return next((c for c in claims if c.signature.role == "noise"), claims[0])


def _begins(rec: Record) -> bool:
    """Say whether a line begins a record by what a logger wrote before it."""
    return rec.fresh or rec.level is not None


def _wrapped(evidence: Evidence, matcher: Matcher, index: int) -> list[Claim]:
    """Return claims on a line together with the next ones: a message that was cut."""
    body = evidence.records[index].body
    if len(body) < SHORTEST_WRAPPED:
        return []
    texts = {"": body, " ": body}
    for after in evidence.records[index + 1 : index + 1 + MOST_ROWS]:
        if not after.body.strip() or _begins(after) or after.number in evidence.taken:
            break
        texts = {glue: text + glue + after.body.strip() for glue, text in texts.items()}
        for text in texts.values():
            claims = matcher.claims(text, phase=evidence.phases[index])
            if any(c.match.start() < len(body) < c.match.end() for c in claims):
                return [c for c in claims if c.match.start() < len(body)]
    return []
