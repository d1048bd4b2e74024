"""The report as plain text: ASCII of our own, no colour, two screens before the details."""

from dataclasses import replace

from relight.reports.blocks import Block, Command, Excerpt, Section, Story, words
from relight.reports.commands import about
from relight.reports.price import price
from relight.reports.prose import capital, listed
from relight.reports.story import tell
from relight.reports.textblocks import block, compact, pairs, wrap
from relight.words.attempt import Record

_FIRST = ("now", "course", "levers")
_DETAILS = "attempts"


def render(record: Record, *, width: int = 100) -> str:
    """Return the post-mortem of a run as text, `width` columns wide where its content can be broken."""
    lines = _story(tell(record), width)
    return "\n".join(line.rstrip() for line in lines).strip() + "\n"


def render_first(record: Record, *, width: int = 100) -> str:
    """Return the report up to its details, then the verdict again and how to see the rest: what a terminal shows."""
    story = tell(record)
    at = next((i for i, part in enumerate(story.sections) if part.id == _DETAILS), len(story.sections))
    rest = [part.title.lower() for part in story.sections[at:]]
    page = replace(story, sections=story.sections[:at])
    lines = [*_story(page, width), "", *wrap(f"{story.word.upper()}: {words(story.verdict)}", width)]
    if rest:
        lines += [*wrap(f"{capital(listed(rest))}:", width), f"    {about(record, 'report', '--full')}"]
    lines += ["For a browser:", f"    {about(record, 'report', '--format', 'html', '-o', 'report.html')}"]
    return "\n".join(line.rstrip() for line in lines).strip() + "\n"


def render_short(record: Record, *, width: int = 100) -> str:
    """Return what is worth reading first: verdict, what to do now, what happened, levers; then how to see the rest."""
    story = tell(record)
    first = replace(story, sections=tuple(s for s in story.sections if s.id in _FIRST))
    rest = ["Causes, log lines and every command:", f"    {about(record, 'report', '--full')}"]
    costs = price(record) if record.state == "healthy" else ()
    rest += wrap(f"{story.word}: {'; '.join(costs)}.".replace("`", ""), width, rest="  ") if costs else []
    return "\n".join(line.rstrip() for line in [*_story(first, width), "", *rest]).strip() + "\n"


def _story(story: Story, width: int) -> list[str]:
    lines = wrap(f"{story.word.upper()}: {story.title}", width)
    lines += wrap(words(story.verdict), width)
    lines += ["", *pairs(story.head, width)]
    for section in story.sections:
        lines += ["", section.title.upper(), *_body(section, width, 0)]
    return lines


def _body(section: Section, width: int, indent: int) -> list[str]:
    lines: list[str] = []
    for i, part in enumerate(section.blocks):
        lines += [*([""] if i and _apart(section.blocks[i - 1], part) else []), *_set(part, width, indent)]
    for inner in section.sections:
        if inner.spare:
            continue
        lines += ["", *_indented([f"{inner.title}{_rung(inner)}"], indent), *_body(inner, width, indent + 2)]
    return lines


def _rung(section: Section) -> str:
    return f"   ({section.tag})" if section.tag else ""


def _apart(before: Block, now: Block) -> bool:
    """Say whether a blank line stands between two blocks: always, but between labelled lines of one kind."""
    if isinstance(now, Excerpt):
        return True
    labelled = [getattr(part, "label", "") not in {"", None} for part in (before, now)]
    return not all(labelled) or type(before) is not type(now)


def _set(part: Block, width: int, indent: int) -> list[str]:
    setter = compact if isinstance(part, Command) and indent else block
    return _indented(setter(part, width - indent), indent)  # type: ignore[arg-type]


def _indented(lines: list[str], indent: int) -> list[str]:
    return [" " * indent + line for line in lines]
