"""Whatever shape a record has, its report is complete: nothing empty, nothing unnamed, no word missing."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import jsonschema
import pytest

from relight.cli.schema import schema_of
from relight.journal.codec import dumps, from_json, to_json
from relight.reports import html, issue, markdown, page, text
from relight.reports.blocks import Bullets, Choices, Command, Edits, Excerpt, Pairs, Section, Sums, Table
from relight.reports.story import tell
from relight.words.attempt import Record
from tests.reports.shapes import diagnosis_of, record_of
from tests.reports.test_formats import Page, sections

FORMATS: dict[str, Callable[[Record], str]] = {
    "text": text.render,
    "short": text.render_short,
    "md": markdown.render,
    "html": html.render,
    "issue": issue.render,
}
SEEDS = pytest.mark.parametrize("seed", range(60))
PROGRAM = re.compile(r"assert self.tp_size == 1|is None|numerics\.nan")
MISSING = re.compile(r"\S {2,}\S| [,;.](?: |$)|\( *\)|\b(?:None|nan|inf)\b|``|: *\.|\.\.(?!\.)|, ,|  $")
RECORD = schema_of("record")


def prose_of(block: Any) -> Iterator[str]:
    """Yield every text a block holds that is a sentence of ours, not a line of a log, a source or a command."""
    if isinstance(block, str):
        yield block
    elif isinstance(block, tuple | list):
        parts = [p for p in block if isinstance(p, str)]
        whole = all(isinstance(p, str) or type(p).__name__ == "Code" for p in block) and len(block) > 0
        if whole:
            yield "".join(p if isinstance(p, str) else p.text for p in block)
        else:
            yield from parts
            for part in block:
                yield from prose_of(part) if not isinstance(part, str) else ()
    elif is_dataclass(block) and not isinstance(block, Excerpt | Command | Edits):
        for field in fields(block):
            yield from prose_of(getattr(block, field.name))


def empty(block: Any) -> bool:
    """Say whether a block would show as nothing."""
    inner = {Table: "rows", Pairs: "rows", Bullets: "items", Edits: "edits", Choices: "choices", Sums: "lines",
             Command: "lines", Excerpt: "rows"}  # fmt: skip
    name = inner.get(type(block))
    return bool(name) and not getattr(block, str(name))


@SEEDS
def test_no_section_and_no_block_is_empty(seed: int) -> None:
    told = tell(record_of(seed))

    for part in sections(told.sections):
        assert part.title
        assert part.blocks or part.sections, part.id
        for block in part.blocks:
            assert not empty(block), (part.id, block)


@SEEDS
def test_no_word_is_missing_from_a_sentence(seed: int) -> None:
    told = tell(record_of(seed))

    for part in (*sections(told.sections), Section("head", "head", (told.head,))):
        for block in part.blocks:
            for said in prose_of(block):
                assert not MISSING.search(PROGRAM.sub("", said)), (part.id, said)


@pytest.mark.parametrize("form", FORMATS)
@SEEDS
def test_nothing_is_called_none_or_nan(form: str, seed: int) -> None:
    shown_page = FORMATS[form](record_of(seed))

    seen = " ".join(Page(shown_page).seen) if form == "html" else shown_page
    assert not re.search(r"\b(?:None|nan)\b", PROGRAM.sub("", seen))


@SEEDS
def test_the_record_as_json_keeps_to_its_schema_and_comes_back(seed: int) -> None:
    drawn = record_of(seed)
    record = replace(drawn, attempts=tuple(replace(a, measured={}) for a in drawn.attempts))  # JSON has no NaN

    written = dumps(to_json(record))

    jsonschema.validate(json.loads(written), RECORD)
    assert FORMATS["text"](from_json(Record, json.loads(written))) == FORMATS["text"](record)


@SEEDS
def test_every_page_of_a_log_has_a_headline_and_no_word_is_missing(seed: int) -> None:
    diagnosis = diagnosis_of(seed)

    told = page.render(diagnosis)

    first, *rest = told.splitlines()
    assert re.match(r"(?:error\[[a-z_.]+\]|ok|starting|unknown): \S", first)
    assert not re.search(r"\b(?:None|nan)\b", PROGRAM.sub("", told))
    assert diagnosis.cause is None or any(line.startswith("help: ") for line in rest)
