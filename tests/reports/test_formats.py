"""All formats, over all stories: complete, quiet about nothing, and alike."""

import itertools
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser

import pytest

from relight.reports import html, issue, markdown, text
from relight.reports.blocks import Section, words
from relight.reports.story import tell
from relight.words.attempt import Record
from tests.reports.more_stories import STORIES

FORMATS: dict[str, Callable[[Record], str]] = {
    "txt": text.render,
    "md": markdown.render,
    "html": html.render,
    "issue.md": issue.render,
}
EACH = pytest.mark.parametrize("name", STORIES)
IN_EACH_FORMAT = pytest.mark.parametrize("form", FORMATS)


class Page(HTMLParser):
    """What a browser would see: open tags, their attributes, text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "br", "line", "rect", "polygon"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.seen.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def sections(parts: tuple[Section, ...]) -> Iterator[Section]:
    for part in parts:
        yield part
        yield from sections(part.sections)


@EACH
@pytest.mark.parametrize("form", ["txt", "md", "issue.md"])
def test_a_story_in_a_format_is_the_golden_one(name: str, form: str, golden: Callable[[str, str], None]) -> None:
    golden(f"report-{name}.{form}", FORMATS[form](STORIES[name]()))


@EACH
@IN_EACH_FORMAT
def test_what_is_not_known_is_not_called_none(name: str, form: str) -> None:
    page = FORMATS[form](STORIES[name]())

    source = re.compile(r"is None|is None:")
    assert "None" not in source.sub("", re.sub(r"</?mark>", "", page))
    assert "()" not in re.sub(r"<script>.*</script>", "", page, flags=re.DOTALL)


@EACH
def test_no_section_is_empty(name: str) -> None:
    told = tell(STORIES[name]())

    for part in sections(told.sections):
        assert part.blocks or part.sections, part.id
        assert part.title


@EACH
def test_every_story_says_what_to_do_now_first(name: str) -> None:
    told = tell(STORIES[name]())

    assert told.sections[0].id == "now"
    assert words(told.verdict).endswith(".")


@EACH
def test_the_formats_tell_of_the_same_sections_and_attempts(name: str) -> None:
    record = STORIES[name]()
    titles = [part.title for part in sections(tell(record).sections)]

    pages = {form: FORMATS[form](record).lower() for form in ("txt", "md", "html")}

    for form, page in pages.items():
        assert [t for t in titles if t.lower() not in page] == [], form


@EACH
def test_two_screens_of_text_come_before_the_details(name: str) -> None:
    lines = text.render(STORIES[name](), width=100).splitlines()
    details = next((i for i, line in enumerate(lines) if line == "ATTEMPTS IN DETAIL"), len(lines))

    assert details <= 100


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@EACH
def test_only_what_cannot_be_broken_is_wider_than_asked(name: str, width: int) -> None:
    record = STORIES[name]()

    for line in text.render(record, width=width).splitlines():
        longest_word = max(map(len, line.split()), default=0)  # a path of the record, say
        kept = line.lstrip().startswith("--") or "relight " in line  # a flag, a command to paste
        assert len(line) <= max(width, 66, longest_word + 20) or kept, line


@EACH
def test_the_page_is_one_file_with_landmarks_and_captions(name: str) -> None:
    page = Page(html.render(STORIES[name]()))

    assert [page.all(tag) != [] for tag in ("header", "nav", "main", "footer")] == [True] * 4
    assert len(page.all("h1")) == 1
    assert len(page.all("caption")) == len(page.all("table"))
    outside = [a for tag in ("a", "link", "img", "script") for a in page.all(tag) if "src" in a or "href" in a]
    assert all(str(a.get("href", "")).startswith("#") for a in outside)


@EACH
def test_every_link_of_the_page_has_its_target(name: str) -> None:
    page = Page(html.render(STORIES[name]()))
    ids = [str(attrs["id"]) for _, attrs in page.tags if "id" in attrs]

    assert len(ids) == len(set(ids))
    assert {str(a["href"])[1:] for a in page.all("a")} <= set(ids)


@EACH
def test_headings_of_the_page_skip_no_level(name: str) -> None:
    page = Page(html.render(STORIES[name]()))
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]

    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


@EACH
def test_what_is_printed_after_a_run_is_short_and_says_how_to_see_the_rest(name: str) -> None:
    record = STORIES[name]()

    lines = text.render_short(record, width=100).splitlines()

    assert len(lines) <= 80
    assert lines[0] == text.render(record, width=100).splitlines()[0]
    assert {"WHAT TO DO NOW"} <= set(lines)
    assert not {"ATTEMPTS IN DETAIL", "OPTIONS", "ENVIRONMENT"} & set(lines)
    assert f"relight report --full {record.run}" in " ".join(lines[-3:])
