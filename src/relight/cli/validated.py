"""What the engine's own argument validation says of a playbook: refusals, why, and what would mend them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from relight.attempts.refusal import refused_by_validation
from relight.cli.findings import Finding, Severity
from relight.cli.flag_findings import Case, in_words
from relight.cli.seen import Seen
from relight.hosts.interface import Host
from relight.hosts.values import HostError
from relight.planning import parse_rung
from relight.words.argv import to_argv
from relight.words.attempt import Attempt
from relight.words.diagnosis import Diagnosis
from relight.words.knowledge import Knowledge
from relight.words.parser import HostParser
from relight.words.settings import Settings
from relight.words.step import Answer

TIMEOUT = 300.0
UNANSWERED = "NoAnswer"
TERSE = 60
"""Characters below which a message does not say enough by itself."""
Fetch = Callable[[str], str | None]


def validated(host: Host, found: Sequence[Case], seen: Seen, knowledge: Knowledge) -> tuple[Finding, ...]:
    """Ask the host's validation about every case, and explain each refusal from the source that refused."""
    if seen.parser is None:
        return ()
    asked = [replace(case, settings=mended(case.settings, seen.parser, knowledge)) for case in found]
    try:
        said = host.validate([case.settings for case in asked], seen.parser, timeout=TIMEOUT)
    except HostError as fault:
        return (Finding("warning", host.spec.name, f"validation could not be asked: {fault}", "a launch will tell"),)
    if not said.asked:
        return (Finding("note", host.spec.name, said.why, "a launch will tell"),)
    known = replace(knowledge, versions={seen.version or "0": seen.parser})
    return tuple(refusals(asked, said.answers, known, lambda file: _source(host, file)))


def mended(settings: Settings, parser: HostParser, knowledge: Knowledge) -> Settings:
    """Return settings with the parser's own refusals repaired, as a run would repair them before it asks further."""
    for fault in parse_rung.check(settings, parser, knowledge):
        if fault.repairs:
            settings = settings.changed(fault.repairs[0])
    return settings


def refusals(
    found: Sequence[Case], answers: Sequence[Answer], knowledge: Knowledge, source: Fetch
) -> Iterator[Finding]:
    """Yield each refusal once, at the first case that shows it; a case without an answer is a note."""
    told: set[tuple[str, str, str, int]] = set()
    for case, answer in zip(found, answers, strict=False):
        key = (answer.type, answer.message, answer.file, answer.line)
        if answer.passed or key in told:
            continue
        told.add(key)
        if answer.type == UNANSWERED:
            yield Finding("note", case.place, f"validation gave no answer: {answer.message}", "a launch will tell")
        else:
            yield _refusal(case, answer, explained(case.settings, answer, knowledge, source))


def explained(settings: Settings, answer: Answer, knowledge: Knowledge, source: Fetch) -> Diagnosis:
    """Return the diagnosis of a refusal; the source files it wants are read where they can be."""
    parser = next(iter(knowledge.versions.values()), None)
    attempt = Attempt(1, "validate", settings, to_argv(settings.flags, parser))
    found = refused_by_validation(attempt, answer, knowledge, {})
    texts = {want.file: source(want.file) for want in found.wants}
    sources: Mapping[str, str] = {file: text for file, text in texts.items() if text is not None}
    return refused_by_validation(attempt, answer, knowledge, sources) if sources else found


def _refusal(case: Case, answer: Answer, found: Diagnosis) -> Finding:
    said = f"{answer.type}: {answer.message}".rstrip(": ")
    where = f" ({PurePosixPath(answer.file).name}:{answer.line})" if answer.file else ""
    # A message of the engine's own says more than the condition behind it.
    terse = len(answer.message) < TERSE
    because = f"; it asks for: {found.constraint.condition}" if found.constraint and terse else ""
    repairs = [in_words(repair) for repair in found.repairs[:2]]
    then = f"`relight retry` will try {', or '.join(repairs)}" if repairs else "`relight retry` looks for what passes"
    severity: Severity = "error" if case.wanted else "warning"
    return Finding(severity, case.place, f"the engine's own validation refuses it: {said}{where}{because}", then)


def _source(host: Host, file: str) -> str | None:
    try:
        return host.source(file)
    except HostError:
        return None
