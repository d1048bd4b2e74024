"""The report of a run, told once for all formats: a record in, a Story out."""

from collections import Counter
from collections.abc import Sequence

from relight.reports.attempt import attempt_section
from relight.reports.blocks import Block, Pairs, Prose, Section, Story, Table
from relight.reports.choices import options_blocks
from relight.reports.commands import named
from relight.reports.edits import brief
from relight.reports.figures import figures_block, incidents_table
from relight.reports.learned import nogoods_blocks
from relight.reports.now import now_section
from relight.reports.price import in_flags
from relight.reports.prose import count, outcome, prose, sentence, tone, why_failed
from relight.reports.steps import Step, first_alike, steps
from relight.reports.tables import effective_blocks, environment_block, levers_blocks
from relight.reports.timeline import FIRST, LAST, LONG, timeline
from relight.reports.times import between, moment, span
from relight.reports.verdict import tone_of, verdict, word_of
from relight.reports.world import card_memory, gpus, hosts, kinds, place
from relight.words.attempt import Attempt, Outcome, Record
from relight.words.text import shown

_MANY = 4
"""Candidates refused in a row for one reason that are told in one line."""
_CHANGES = 4
"""Lines of a change that are shown in the course."""
_ENDINGS: dict[Outcome | None, str] = {
    "healthy": "It answers as it should.",
    "aborted": "It was stopped before it was over.",
    None: "It is not over yet.",
}


def tell(record: Record) -> Story:
    """Return the story of a run. All text in it is plain and redacted; nothing empty is in it."""
    record = named(shown(record))
    course = steps(record)
    details = tuple(attempt_section(step, record) for step in course)
    sections = (
        now_section(record),
        _timeline(record),
        Section("levers", "Levers", levers_blocks(record), long=True),
        _section("course", "What happened", _course(course), long=True),
        _section("incidents", "Died after it was healthy", incidents_table(record), long=True),
        Section("attempts", "Attempts in detail", sections=details),
        Section("options", "Options", options_blocks(record), folded=True),
        Section("effective", "Asked for and in effect", effective_blocks(record), folded=True),
        _section("measured", "How fast it was", figures_block(record), folded=True),
        Section("learned", "What was learned", nogoods_blocks(record), folded=True),
        _section("environment", "Environment", environment_block(record), folded=True),
    )
    return Story(
        record.run,
        f"{record.playbook} on {hosts(record)}",
        word_of(record),
        tone_of(record),
        verdict(record),
        _head(record),
        record.folder,
        tuple(s for s in sections if s),
    )


def _section(id: str, title: str, block: Block | None, *, folded: bool = False, long: bool = False) -> Section:  # noqa: A002
    return Section(id, title, (block,) if block else (), folded=folded, long=long)


def _head(record: Record) -> Pairs:
    launches = [a for a in record.attempts if a.launched]
    refused = len(record.attempts) - len(launches)
    tries = count(len(launches), "launch", "launches") if launches else "nothing was launched"
    what = ("other set of settings", "other sets of settings") if launches else ("set of settings", "sets of settings")
    tries += f", {count(refused, *what)} refused before a launch" if refused else ""
    took = span(between(record.started, record.ended))
    engine = " ".join(part for part in (record.engine.name, record.engine.version) if part)
    flags = in_flags(record)
    rows = (
        ("run", record.run),
        ("when", ", ".join(part for part in (moment(record.started), f"took {took}" if took else "") if part)),
        ("where", ", ".join(part for part in (place(record), kinds(gpus(record))) if part)),
        ("engine", engine),
        ("tried", tries),
        ("folder", record.folder),
    )
    price: tuple[tuple[str, Prose], ...] = (("changed", flags),) if flags else ()
    return Pairs((*price, *((name, (held,)) for name, held in rows if held)))


def _timeline(record: Record) -> Section:
    lanes = timeline(record.attempts, card_memory(gpus(record)))
    return Section("timeline", "How far each launch got", (lanes,) if lanes else (), long=True)


def _course(course: tuple[Step, ...]) -> Table | None:
    if not course:
        return None
    groups = _shortened(_alike(course))
    alone = [group[0].attempt for group in groups if len(group) == 1]
    rows = tuple(_row(group, alone) for group in groups)
    tones = tuple(tone(group[0].attempt) for group in groups)
    return Table("Every attempt, what it changed and how it ended", ("#", "changed", "ended", "because"), rows, tones)


def _alike(course: tuple[Step, ...]) -> list[list[Step]]:
    """Return the steps of a run, long sequences of candidates refused for one reason together."""
    groups: list[list[Step]] = []
    for step in course:
        last = groups[-1] if groups else []
        if last and step.attempt.outcome == "rejected" and _end(last[-1]) == _end(step):
            last.append(step)
        else:
            groups.append([step])
    return [part for group in groups for part in ([group] if len(group) >= _MANY else [[step] for step in group])]


def _shortened(groups: list[list[Step]]) -> list[list[Step]]:
    """Return the first and the last steps of a long run, those between together: each is told in detail."""
    if len(groups) <= LONG:
        return groups
    between = [step for group in groups[FIRST:-LAST] for step in group]
    return [*groups[:FIRST], between, *groups[-LAST:]]


def _end(step: Step) -> tuple[str, Prose]:
    return outcome(step.attempt), _why(step)


def _row(group: list[Step], alone: Sequence[Attempt]) -> tuple[Prose, ...]:
    """Return the row of a group; `alone` are the attempts that have one of their own."""
    first, last = group[0], group[-1]
    if first is last:
        return (str(first.attempt.n),), _changed(first), (outcome(first.attempt),), _why_again(first, alone)
    alike = all(_end(step) == _end(first) for step in group)
    what = "sets of settings" if all(step.attempt.outcome == "rejected" for step in group) else "attempts"
    together = f"{len(group)} {what}, each in detail below"
    ended = outcome(first.attempt) if alike else _ends(group)
    why = _why(first) if alike else ("Different causes.",)
    return (str(first.attempt.n), f" to {last.attempt.n}"), (together,), (ended,), why


def _ends(group: list[Step]) -> str:
    """Return how many of a group ended in which way: "4 crashed, 2 refused"."""
    words = Counter(outcome(step.attempt).partition(" before ")[0] for step in group)
    return ", ".join(f"{n} {word}" for word, n in words.items())


def _changed(step: Step) -> Prose:
    """Say what is new against the launch before, or against what was asked for where that is shorter."""
    if step.before is None and not step.edits:
        return ("as asked",)
    asked = brief(step.from_asked)
    if step.before and len(asked) < len(brief(step.edits)):
        return ("as asked, but\n", *_lines([f"`{line}`" for line in asked])) if asked else ("as asked",)
    return _lines(step.in_words.split("\n")) or ("the same again",)


def _lines(lines: Sequence[str]) -> Prose:
    more = len(lines) - _CHANGES
    if more > 1:
        return (*prose("\n".join(lines[:_CHANGES])), f"\nand {more} more, in detail below")
    return prose("\n".join(lines))


def _why_again(step: Step, alone: Sequence[Attempt]) -> Prose:
    """Say why an attempt failed, in few words where an earlier row says it."""
    first = first_alike(step.attempt, [a for a in alone if a.n < step.attempt.n])
    return (f"The failure of attempt {first.n} again.",) if first else _why(step)


def _why(step: Step) -> Prose:
    said = why_failed(step.attempt.diagnosis)
    if said and step.attempt.outcome != "healthy":
        return sentence(said)
    if step.attempt.judged:
        return sentence(step.attempt.judged[0])
    return (_ENDINGS.get(step.attempt.outcome, "No cause is known."),)
