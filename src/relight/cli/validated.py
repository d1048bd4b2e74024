"""What the engine's own argument validation says of a playbook: refusals, why, and what mends them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TypeAlias

from relight.attempts.refusal import refused_by_validation
from relight.cli.findings import Finding, Severity
from relight.cli.flag_findings import Case, in_words
from relight.cli.output import width
from relight.cli.seen import Seen
from relight.diagnosis.source.wishes import general_wishes
from relight.hosts.interface import Host
from relight.hosts.values import HostError
from relight.planning import parse_rung
from relight.reports.excerpts import source as source_excerpt
from relight.reports.textblocks import block
from relight.words.argv import to_argv
from relight.words.attempt import Attempt
from relight.words.diagnosis import Diagnosis
from relight.words.knowledge import Knowledge
from relight.words.parser import HostParser
from relight.words.settings import Repair, Settings
from relight.words.step import Answer

TIMEOUT = 300.0
UNANSWERED = "NoAnswer"
ROUNDS, DEPTH, TRIED = 3, 4, 4
MESSAGE = 200
INDENT = 10
Fetch: TypeAlias = Callable[[str], str | None]
Ask: TypeAlias = Callable[[Sequence[Settings]], Sequence[Answer]]
Key: TypeAlias = tuple[str, str, str, int]


class UnaskedError(Exception):
    """The host's validation cannot be asked; says why."""


@dataclass(frozen=True)
class Refused:
    """A case that validation refused, the diagnosis of that, and what each of its repairs led to."""

    case: Case
    settings: Settings
    answer: Answer
    found: Diagnosis
    behind: bool
    tried: tuple[tuple[Repair, Answer], ...] = ()

    @property
    def mended(self) -> Repair | None:
        """Return the first repair that passes; else the first behind which another check refuses."""
        passing = (repair for repair, answer in self.tried if answer.passed)
        further = (repair for repair, answer in self.tried if is_answer(answer) and key(answer) != key(self.answer))
        return next(passing, None) or next(further, None)

    @property
    def helps(self) -> Repair | None:
        """Return what gives up least of the repairs that get past this refusal."""
        here = key(self.answer)
        past = (repair for repair, said in self.tried if said.passed or (is_answer(said) and key(said) != here))
        return min(past, key=lambda repair: repair.cost, default=None)


def key(answer: Answer) -> Key:
    """Return what tells one refusal from another."""
    return (answer.type, answer.message, answer.file, answer.line)


def is_answer(answer: Answer) -> bool:
    """Say whether validation came to a result."""
    return answer.passed or answer.type != UNANSWERED


def validated(host: Host, found: Sequence[Case], seen: Seen, knowledge: Knowledge) -> tuple[Finding, ...]:
    """Ask the host's validation about every case; explain each refusal from the source, and try what would mend it."""
    if seen.parser is None:
        return ()
    parser = seen.parser
    asked = [replace(case, settings=mended(case.settings, parser, knowledge)) for case in found]
    known = replace(knowledge, versions={seen.version or "0": parser})
    try:
        return tuple(refusals(asked, lambda s: _ask(host, s, parser), known, lambda file: _source(host, file)))
    except UnaskedError as fault:
        return (Finding("note", host.spec.name, str(fault), "a launch will tell"),)
    except HostError as fault:
        return (Finding("warning", host.spec.name, f"validation could not be asked: {fault}", "a launch will tell"),)


def _ask(host: Host, settings: Sequence[Settings], parser: HostParser) -> Sequence[Answer]:
    said = host.validate(settings, parser, timeout=TIMEOUT)
    if not said.asked:
        raise UnaskedError(said.why)
    return said.answers


def mended(settings: Settings, parser: HostParser, knowledge: Knowledge) -> Settings:
    """Return settings with the parser's own refusals repaired, as a run would repair them before it asks further."""
    for fault in parse_rung.check(settings, parser, knowledge):
        if fault.repairs:
            settings = settings.changed(fault.repairs[0])
    return settings


def refusals(found: Sequence[Case], ask: Ask, knowledge: Knowledge, source: Fetch) -> Iterator[Finding]:
    """Yield each refusal once, at the first case that shows it, and what stands behind it once it is mended.

    `ask` answers settings in their order; a case without an answer is a note.
    """
    told: dict[Key, Repair | None] = {}
    ask = remembered(ask)
    open_ = [(case, case.settings) for case in found]
    for depth in range(DEPTH):
        answers = ask([settings for _, settings in open_])
        refused = [(c, s, a) for (c, s), a in zip(open_, answers, strict=True) if not a.passed]
        fresh = {key(a): (c, s, a) for c, s, a in reversed(refused) if key(a) not in told}
        silent = [(c, a) for c, _, a in fresh.values() if not is_answer(a)]
        yield from (Finding("note", c.place, f"validation gave no answer: {a.message}", "a launch will tell")
                    for c, a in reversed(silent))  # fmt: skip
        explained_ = [
            Refused(c, s, a, explained(s, a, knowledge, source), depth > 0)
            for c, s, a in reversed(fresh.values())
            if is_answer(a)
        ]
        for one in _tried(explained_, ask):
            told[key(one.answer)] = one.mended
            yield _finding(one)
        mending = [(c, s, told.get(key(a))) for c, s, a in refused]
        open_ = [(c, s.changed(repair)) for c, s, repair in mending if repair is not None]


def remembered(ask: Ask) -> Ask:
    """Return what asks about no settings twice; what got no answer is said to have none."""
    known: dict[str, Answer] = {}

    def asking(settings: Sequence[Settings]) -> Sequence[Answer]:
        new = {repr(s): s for s in settings if repr(s) not in known}
        known.update(zip(new, ask(tuple(new.values())) if new else (), strict=False))
        return [known.get(repr(s), Answer(False, UNANSWERED, "it was not asked")) for s in settings]

    return asking


def _tried(refused: Sequence[Refused], ask: Ask) -> Iterator[Refused]:
    """Yield refusals with what validation says of their repairs, all asked at once."""
    tries = [(one, repair) for one in refused for repair in one.found.repairs[:TRIED]]
    answers = ask([one.settings.changed(repair) for one, repair in tries])
    said = [(one, (repair, answer)) for (one, repair), answer in zip(tries, answers, strict=True)]
    for one in refused:
        yield replace(one, tried=tuple(outcome for other, outcome in said if other is one))


def explained(settings: Settings, answer: Answer, knowledge: Knowledge, source: Fetch) -> Diagnosis:
    """Return the diagnosis of a refusal; the source files it wants are read where they can be."""
    parser = next(iter(knowledge.versions.values()), None)
    attempt = Attempt(1, "validate", settings, to_argv(settings.flags, parser))
    wishes = general_wishes(knowledge.facts, parser, settings.flags)
    sources: Mapping[str, str] = {}
    found = refused_by_validation(attempt, answer, knowledge, sources, wishes)
    for _ in range(ROUNDS):
        texts = {want.file: source(want.file) for want in found.wants if want.file not in sources}
        more = {file: text for file, text in texts.items() if text is not None}
        if not more:
            break
        sources = {**sources, **more}
        found = refused_by_validation(attempt, answer, knowledge, sources, wishes)
    return found


def _finding(one: Refused) -> Finding:
    severity: Severity = "error" if one.case.wanted else "warning"
    head = (
        "behind that, the engine's own validation refuses it"
        if one.behind
        else "the engine's own validation refuses it"
    )
    text = f"{head}: {_outcome(one.answer)}"
    return Finding(severity, one.case.place, text, _next(one), tuple(_detail(one)))


def _outcome(answer: Answer) -> str:
    first, *more = answer.message.split("\n")
    message = first[:MESSAGE] + ("..." if more or len(first) > MESSAGE else "")
    where = f" ({PurePosixPath(answer.file).name}:{answer.line})" if answer.file else ""
    return f"{answer.type}: {message}".rstrip(": ") + where


def _next(one: Refused) -> str:
    if one.helps:
        return f"`relight retry` will try {in_words(one.helps)}"
    untold = [in_words(r) for r in one.found.repairs[:2]] if not one.tried else []
    return f"`relight retry` will try {', or '.join(untold)}" if untold else "`relight retry` looks for what passes"


def _detail(one: Refused) -> Iterator[str]:
    """Yield the source that refused with the values it saw, what it asks for, and what each repair leads to."""
    read = one.found.constraint
    frames = one.answer.frames
    excerpt = source_excerpt(read, frames[-1].function if frames else "") if read else None
    if excerpt:
        yield from block(excerpt, width() - INDENT)
    if read and read.condition:
        yield f"the check wants: {read.condition}"
    for repair, answer in one.tried:
        yield f"{in_words(repair)}: {_became(answer, one.answer)}"


def _became(answer: Answer, before: Answer) -> str:
    if answer.passed:
        return "passes"
    if not is_answer(answer):
        return f"no answer ({answer.message})"
    return "is refused there, too" if key(answer) == key(before) else f"then refused further on: {_outcome(answer)}"


def _source(host: Host, file: str) -> str | None:
    try:
        return host.source(file)
    except HostError:
        return None
