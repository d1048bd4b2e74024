"""The kernel's log as evidence: a killed process, a faulty card."""

from collections.abc import Sequence
from dataclasses import replace

from relight.diagnosis.candidates import Candidate
from relight.diagnosis.match import matcher
from relight.diagnosis.rank import Choice
from relight.logs.lines import Line
from relight.logs.records import record
from relight.words.kinds import family
from relight.words.knowledge import Knowledge


def with_kernel(choice: Choice, kernel: Sequence[str], knowledge: Knowledge) -> Choice:
    """Return the choice after the kernel was heard: a hardware fault wins, a kill explains a death without a cause."""
    ask = matcher(knowledge.signatures)
    for text in kernel:
        rec = record(Line(0, 0, text))
        for claim in ask.claims(rec.body)[:1]:
            told = Candidate(-1, rec, rec.body.strip(), None, claim)
            if told.role == "root" and _explains(told, choice):
                return replace(choice, root=told, second=choice.root)
    return choice


def _explains(told: Candidate, choice: Choice) -> bool:
    kind = told.claim.signature.kind if told.claim else "unknown"
    if family(kind) == "hardware":
        return True
    return kind == "oom.host" and (choice.root is None or choice.root.role == "cascade" or seen_by_us(choice.root))


def seen_by_us(root: Candidate) -> bool:
    """Say whether a root is only what relight saw from outside: a rank that is gone, a start that stands still."""
    kind = root.claim.signature.kind if root.claim else ""
    return root.record.line.offset < 0 and (kind == "process.killed" or family(kind) == "hang")
