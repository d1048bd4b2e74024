"""One verdict over recorded answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from relight.attempts.judge.agreement import disagreement
from relight.attempts.judge.answers import Answered, Question, Reply, read_reply
from relight.attempts.judge.book import Book
from relight.attempts.judge.content import language, rightness
from relight.attempts.judge.form import Sign, form, numbers
from relight.words.playbook import Health

Outcome: TypeAlias = Literal["well", "sick", "unjudged"]
Standing: TypeAlias = Literal["reply", "absent", "ours", "busy", "failed", "gone", "strange"]
FACT_ROLES = frozenset({"health", "info", "server", "models"})
# Roles whose question may be more than this server takes: it may decline without being sick.
OPTIONAL_ROLES = frozenset({"chat", "long"})
KIND_ORDER = ("numerics.nan", "numerics.garbage", "hang.health", "engine.request")
EVIDENCE = 6
WEAK_SIGNS = 1.1
WEAK_SHARE = 0.035
"""The weight of weak signs together that is enough, and that weight per question."""


@dataclass(frozen=True)
class Verdict:
    """What the answers say: `well`, `sick` with its `kind`, or `unjudged` when we could not find out.

    `notes` are sentences, `evidence` the answers they rest on, `measured` figures taken on the way.
    """

    outcome: Outcome
    kind: str | None = None
    notes: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    measured: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """A sign, and the answer that shows it."""

    sign: Sign
    question: Question
    text: str = ""


def judge(answers: Sequence[Answered], health: Health, book: Book) -> Verdict:
    """Return the verdict over `answers`, as `health.judge` wants it. What is absent is never sick."""
    if health.judge == "off":
        return _off(answers)
    asked = [a for a in answers if a.question.role not in FACT_ROLES]
    findings = tuple(_findings(asked, health, book))
    if _enough(findings, len(asked)):
        return _sick(findings)
    return _not_sick(asked, findings, book)


def standing(answer: Answered) -> Standing:
    """Say what an answer is before its text is looked at."""
    status = answer.status
    if status is None:
        return "gone" if answer.fault in {"refused", "closed"} else "ours"
    if status == 200:
        return "reply" if read_reply(answer) else "strange"
    if status in {401, 403, 407, 408}:
        return "ours"
    if status in {429, 503}:
        return "busy"
    if status >= 500 and status != 501 and answer.question.role not in OPTIONAL_ROLES:
        return "failed"
    return "absent"


def replies(answers: Sequence[Answered]) -> list[tuple[Question, Reply]]:
    """Return the questions that were answered with a generation, and the generations."""
    pairs = ((a.question, read_reply(a) if a.status == 200 else None) for a in answers)
    return [(question, reply) for question, reply in pairs if reply]


def _off(answers: Sequence[Answered]) -> Verdict:
    health = [a for a in answers if a.question.role == "health"]
    if health and health[-1].status == 200:
        return Verdict("well", notes=(f"{health[-1].question.path} says 200; no answer was judged",))
    return Verdict("unjudged", notes=("the health path did not say 200",))


def _findings(asked: Sequence[Answered], health: Health, book: Book) -> Iterator[Finding]:
    for answer in asked:
        yield from _failures(answer)
    pairs = replies(asked)
    if health.judge == "shape":
        yield from (Finding(sign, q, r.text) for q, r in pairs for sign in numbers(q, r))
        return
    for question, reply in pairs:
        yield from (Finding(sign, question, reply.text) for sign in (*form(question, reply), *language(reply, book)))
    yield from _between(pairs)
    yield from _contents(asked, pairs, book)


def _failures(answer: Answered) -> Iterator[Finding]:
    found = standing(answer)
    if found == "failed":
        yield Finding(Sign("engine.request", 1, f"HTTP {answer.status}"), answer.question, answer.body)
    elif found == "strange":
        yield Finding(Sign("engine.request", 0.5, "HTTP 200 without a generation"), answer.question, answer.body)


def _between(pairs: Sequence[tuple[Question, Reply]]) -> Iterator[Finding]:
    equal = [(q, r) for q, r in pairs if q.role == "equal"]
    for sign in disagreement([r for _, r in equal]):
        yield Finding(sign, equal[0][0], " / ".join(r.text.strip()[:24] for _, r in equal))


def _contents(asked: Sequence[Answered], pairs: Sequence[tuple[Question, Reply]], book: Book) -> Iterator[Finding]:
    for question, reply in pairs:
        if question.role == "probe" and rightness(question, reply, book) == "wrong":
            yield Finding(Sign("numerics.garbage", 1, f"expected /{question.expect}/"), question, reply.text)
    plain = [(q, r) for q, r in pairs if q.role in {"plain", "chat"} and q.expect]
    # Only when every plain question was asked, answered and missed is it the server and not the question.
    complete = all(standing(a) in {"reply", "absent"} for a in asked if a.question.role == "plain")
    if len(plain) >= 2 and complete and all(_wrong(q, r, book) for q, r in plain):
        sign = Sign("numerics.garbage", 1, f"all {len(plain)} plain questions were answered wrongly")
        yield from (Finding(sign, q, r.text) for q, r in plain)


def _wrong(question: Question, reply: Reply, book: Book) -> bool:
    """Say whether a plain question was answered wrongly; a text that thinks aloud may have been cut off before."""
    given = rightness(question, reply, book)
    if given != "cut" or book.thinking.search(reply.text):
        return given == "wrong"
    return any(form(question, reply)) or any(language(reply, book))


def _enough(findings: Sequence[Finding], asked: int) -> bool:
    """Say whether the findings make a server sick that was asked so many questions.

    One clear sign does. Weak ones count once per question, because two in one answer are often the same thing seen
    twice, and it takes more of them where more was asked: odd texts have their share in sound answers.
    """
    if any(f.sign.weight >= 1 for f in findings):
        return True
    heaviest: dict[str, float] = {}
    for f in findings:
        heaviest[f.question.prompt] = max(heaviest.get(f.question.prompt, 0.0), f.sign.weight)
    return sum(heaviest.values()) >= max(WEAK_SIGNS, WEAK_SHARE * asked)


def _sick(findings: Sequence[Finding]) -> Verdict:
    ordered = sorted(findings, key=lambda f: -f.sign.weight)
    kinds = {f.sign.kind for f in ordered}
    kind = next((k for k in KIND_ORDER if k in kinds), ordered[0].sign.kind)
    notes = tuple(dict.fromkeys(f"{f.question.label}: {f.sign.text}" for f in ordered))
    return Verdict("sick", kind, notes[:EVIDENCE], _evidence(ordered))


def _evidence(findings: Sequence[Finding]) -> tuple[str, ...]:
    texts = dict.fromkeys(f"{f.question.label} -> {_shown(f.text)}" for f in findings)
    return tuple(texts)[:EVIDENCE]


def _shown(text: str) -> str:
    return repr(text if len(text) <= 120 else f"{text[:117]}...")


def _not_sick(asked: Sequence[Answered], findings: Sequence[Finding], book: Book) -> Verdict:
    found = [standing(a) for a in asked]
    if asked and all(s == "busy" for s in found):
        return Verdict("sick", "hang.health", (f"every request was refused with HTTP {asked[0].status}",))
    lost = [a for a, s in zip(asked, found, strict=True) if s in {"ours", "gone", "busy"}]
    if lost or "reply" not in found:
        return Verdict("unjudged", notes=_lost(lost))
    return Verdict("well", notes=_well(asked, findings, book))


def _lost(lost: Sequence[Answered]) -> tuple[str, ...]:
    if not lost:
        return ("no question was answered with a generation; the paths may be missing in this version",)
    first = lost[0]
    why = first.error or first.fault or f"HTTP {first.status}"
    return (f"{len(lost)} questions have no answer; the first is {first.question.label}: {why}",)


def _well(asked: Sequence[Answered], findings: Sequence[Finding], book: Book) -> tuple[str, ...]:
    pairs = replies(asked)
    states = [rightness(q, r, book) for q, r in pairs]
    notes = [f"{len(pairs)} answers are sound"]
    if expected := [s for s in states if s != "unasked"]:
        cut = expected.count("cut")
        notes.append(f"{expected.count('right')} of {len(expected)} as expected" + (f", {cut} cut off" if cut else ""))
    notes += [f"odd: {f.question.label}: {f.sign.text}" for f in findings[:3]]
    return tuple(notes)
