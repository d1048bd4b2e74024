"""The end of a run in a few lines: what a phone shows of it."""

from relight.reports.blocks import words
from relight.reports.commands import about, named
from relight.reports.verdict import verdict, word_of
from relight.reports.world import hosts
from relight.words.attempt import Record
from relight.words.text import shown


def notice(record: Record) -> tuple[str, str]:
    """Return the title and the text of a notice: the verdict, the one thing to do, where the report is."""
    record = named(shown(record))
    lines = (words(verdict(record)), record.next.strip(), f"Report: {about(record, 'report')}")
    return f"{word_of(record)}: {record.playbook} on {hosts(record)}", "\n".join(line for line in lines if line)
