"""A bug report for the engine's own project, in the form its tracker asks for. Printed for a person to post."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from relight.reports.attempt import attempt_section
from relight.reports.blocks import Block, Command, Excerpt, Para, Section, Story, Table, words
from relight.reports.markdown import block, code, escape, prose
from relight.reports.now import launch_command
from relight.reports.prose import count, phase, why_failed
from relight.reports.steps import steps
from relight.reports.story import tell
from relight.reports.tables import environment_block
from relight.words.attempt import Attempt, Record
from relight.words.text import shown

_TITLE = 120
_PRIVATE = {"hostname", "python"}
_CHECKS = (
    "I searched related issues and found no solution.",
    "The bug is there in the latest version too.",
    "The report has what is needed to reproduce it: environment, command, log.",
)


def render(record: Record) -> str:
    """Return a bug report about the failure that stopped this run, as Markdown; nothing in it is secret.

    The first line is the title. Of several failures the one that most launches ended with is reported, else the last.
    What names the operator's machine (its host name, where its interpreter lies) is left out.
    """
    record = _public(shown(record))
    attempt = culprit(record)
    lines = [
        f"Title: {code(f'[Bug] {title(record, attempt)}')}",
        "",
        "### Checklist",
        "",
        *(f"- [ ] {c}" for c in _CHECKS),
    ]
    lines += ["", "### Describe the bug", "", *_described(record, attempt)]
    lines += ["", "### Reproduction", "", *_reproduction(record, attempt), *_tried(tell(record))]
    lines += ["", "### Environment", "", *_environment(record)]
    return "\n".join(lines).strip() + "\n"


def _public(record: Record) -> Record:
    return replace(record, environment={k: v for k, v in record.environment.items() if k not in _PRIVATE})


def culprit(record: Record) -> Attempt | None:
    """Return the last launch that failed as most launches did, else the last attempt with a cause; None if none has."""
    failed = [a for a in record.attempts if a.outcome not in {"healthy", None} and a.diagnosis and a.diagnosis.cause]
    launched = [a for a in failed if a.launched] or failed
    if not launched:
        return None
    times = Counter(map(_cause, launched))
    most = max(times.values())
    return next(a for a in reversed(launched) if times[_cause(a)] == most)


def _cause(attempt: Attempt) -> tuple[str, str]:
    cause = attempt.diagnosis.cause if attempt.diagnosis else None
    return (cause.kind, cause.summary or cause.text) if cause else ("", "")


def title(record: Record, attempt: Attempt | None) -> str:
    """Return what failed in which phase of which version, in one line."""
    cause = attempt.diagnosis.cause if attempt and attempt.diagnosis else None
    if attempt is None or cause is None:
        return f"{record.engine.name} {record.engine.version or ''}".strip()
    where = f" in {phase(cause.phase)}" if cause.phase else ""
    version = f" ({record.engine.name} {record.engine.version})" if record.engine.version else ""
    return f"{_short(cause.text or why_failed(attempt.diagnosis))}{where}{version}"


def _short(text: str) -> str:
    """Return the sentences of a message that make a title: as many as fit, at least the beginning of one."""
    if len(text) <= _TITLE:
        return text
    whole = text[:_TITLE].rpartition(". ")[0]
    return whole or text[:_TITLE].rpartition(" ")[0] or text[:_TITLE]


def _described(record: Record, attempt: Attempt | None) -> list[str]:
    if attempt is None:
        return ["Nothing failed in this run."]
    step = next(s for s in steps(record) if s.attempt.n == attempt.n)
    told = attempt_section(step, record)
    kept = [b for b in told.blocks if isinstance(b, Excerpt) or (isinstance(b, Para) and b.label in _TELLING)]
    return _set(kept)


_TELLING = {"cause", "raised at", "wanted", "values"}


def _set(blocks: Sequence[Block]) -> list[str]:
    return [line for i, part in enumerate(blocks) for line in ([""] if i else []) + block(part)]


def _reproduction(record: Record, attempt: Attempt | None) -> list[str]:
    if attempt is None or not attempt.argv:
        return ["There is no command to show."]
    made = launch_command(record, attempt)
    return block(Command(made.lines))


def _tried(story: Story) -> list[str]:
    """Tell what else was tried: it saves whoever reads the report the same round."""
    parts = [part for part in story.sections if part.id == "course"]
    rows = [table for part in parts for table in _tables(part) if len(table.rows) > 1]
    if not rows:
        return []
    said = count(len(rows[0].rows), "attempt")
    # The details that the table of a report points to are not in here.
    told = [re.sub(r",(?: each)? in detail below", "", line) for line in block(rows[0])]
    return ["", f"What was tried ({said}):", "", *told]


def _tables(part: Section) -> list[Table]:
    return [b for b in part.blocks if isinstance(b, Table)]


def _environment(record: Record) -> list[str]:
    known = environment_block(record)
    rows = known.rows if known else ()
    return [f"- {escape(name)}: {prose(held)}" for name, held in rows if words(held)] or ["It is not known."]
