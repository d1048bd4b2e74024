"""Text from elsewhere never becomes markup, an escape sequence, or a secret shown."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from relight.reports import html, issue, markdown, page, text
from relight.words.attempt import Exit, NodeEnd, Nogood, Record, Term
from relight.words.diagnosis import LogLine
from relight.words.text import names_a_secret, plain, redacted, shown
from tests.reports.stories import ALL_OR_NONE, healthy
from tests.reports.test_formats import Page

NASTY = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "]]></style><script>1</script>",
    "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[1;1Hgone",
    "\x9b31mred",
    "safe\u202egnihton",
    "`</code>` ``` | a | b |",
    "![x](http://evil/x.png) [y](javascript:1) <b>bold</b>",
    "```\n# heading\n```",
    "{{ 7 * 7 }} {% raw %}",
    "\ud800 lone",
    "a\rb\nc\u2028d",
    "</details><h1>",
    "--><!--",
    "www.evil.example http://evil.example",
]
TEXTS = st.one_of(
    st.sampled_from(NASTY), st.text(max_size=60), st.lists(st.sampled_from(NASTY), max_size=3).map("".join)
)
LONG = ("-" * 200_000, "\x9d" * 200_000, "\x1b]" * 100_000, "api_key" * 30_000, "a" * 200_000)
OWN_HTML = {"<details>", "</details>", "<br>"}
FORMATS: tuple[Callable[[Record], str], ...] = (text.render, markdown.render, html.render, issue.render)


def repr_start(hostile: str) -> str:
    return repr(hostile[:8])


def with_text(nasty: str) -> Record:
    """Put a text wherever text from elsewhere can stand."""
    base = healthy()
    second = base.attempts[1]
    assert second.diagnosis is not None
    assert second.diagnosis.cause is not None
    assert second.diagnosis.constraint is not None
    diagnosis = replace(
        second.diagnosis,
        cause=replace(second.diagnosis.cause, text=nasty, summary=nasty, rank=nasty, phase=nasty),
        evidence=(LogLine(25, nasty), LogLine(26, nasty)),
        memory=(nasty,),
        constraint=replace(
            second.diagnosis.constraint,
            operand=nasty,
            condition=nasty,
            values={nasty: nasty},
            excerpt=((3055, nasty), (3056, nasty)),
        ),
    )
    attempt = replace(
        second,
        diagnosis=diagnosis,
        judged=(nasty,),
        log=nasty,
        argv=("--served-model-name", nasty),
        outcome="sick",
        because=nasty,
        nodes=(NodeEnd(0, nasty, nasty, Exit(1), kind=nasty, text=nasty), NodeEnd(1, nasty, first=True)),
    )
    return replace(
        base,
        playbook=nasty,
        host=nasty,
        run=nasty,
        folder=nasty,
        reason=nasty,
        next=nasty,
        state="person",
        environment={"kernel": nasty, nasty: nasty, "levers": {"speculation": [nasty, nasty]}},
        nogoods=(
            *(replace(n, when=nasty, because=nasty) for n in base.nogoods),
            Nogood(nasty, "attempt 1", "oom.gpu.draft", terms=(Term(nasty, "=", [nasty]), Term(nasty, "!=", nasty))),
        ),
        options=tuple(replace(o, change=nasty, why=nasty) for o in base.options),
        attempts=(base.attempts[0], attempt, *base.attempts[2:]),
    )


CALM = Page(html.render(with_text("calm")))


def controls(page_text: str) -> list[str]:
    return [c for c in page_text if (c < " " and c != "\n") or "\x7f" <= c <= "\x9f" or c in "\u202e\u2066\ud800"]


@pytest.mark.parametrize("render", FORMATS)
@settings(max_examples=15, deadline=None)
@given(nasty=TEXTS)
def test_no_control_character_survives_in_any_format(render: Callable[[Record], str], nasty: str) -> None:
    shown_page = render(with_text(nasty))

    assert [c for c in controls(shown_page) if c != "\t"] == []
    shown_page.encode()


@settings(max_examples=15, deadline=None)
@given(nasty=TEXTS)
def test_hostile_text_adds_no_element_to_the_page(nasty: str) -> None:
    seen = Page(html.render(with_text(nasty)))

    assert {tag for tag, _ in seen.tags} <= {tag for tag, _ in CALM.tags}
    assert len(seen.all("script")) == 1
    assert {name for _, attrs in seen.tags for name in attrs} <= {name for _, attrs in CALM.tags for name in attrs}


@pytest.mark.parametrize("render", [markdown.render, issue.render])
@settings(max_examples=15, deadline=None)
@given(nasty=TEXTS)
def test_hostile_text_becomes_no_link_image_or_html_in_markdown(render: Callable[[Record], str], nasty: str) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(render(with_text(nasty)))
    inline = [child for token in tokens for child in token.children or ()]

    assert {t.type for t in inline} & {"link_open", "image"} == set()
    assert {t.content for t in inline if t.type == "html_inline"} <= OWN_HTML
    for token in tokens:
        if token.type == "html_block":
            assert token.content.split("\n")[0] in {"<details>", "</details>"}
            assert token.content.count("<") <= 6


@pytest.mark.parametrize("nasty", NASTY)
def test_the_page_of_a_log_keeps_hostile_text_to_its_line(nasty: str) -> None:
    assert ALL_OR_NONE.cause is not None
    hostile = replace(ALL_OR_NONE, cause=replace(ALL_OR_NONE.cause, text=nasty, summary=nasty), log=nasty)

    told = page.render(hostile, [LogLine(26, nasty)])

    assert controls(told) == []
    assert all(line.startswith((" ", "error[", "help:")) or not line for line in told.splitlines())


@given(st.text())
def test_plain_text_is_one_line_and_stays_as_it_is(any_text: str) -> None:
    once = plain(any_text)

    assert plain(once) == once
    assert len(once.splitlines()) <= 1
    assert "\x1b" not in once


def test_plain_text_keeps_words_and_tabs() -> None:
    assert plain("\x1b[1;33mwarning\x1b[0m:\tCafé 100 %") == "warning:\tCafé 100 %"


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("api_key='abc', tp_size=8", "api_key='***', tp_size=8"),
        ("api_key=None, admin_api_key=None", "api_key=None, admin_api_key=None"),
        ("--api-key s3cret --tp-size 8", "--api-key *** --tp-size 8"),
        ("--api-key=s3cret", "--api-key=***"),
        ('{"api_key": "abc", "tp": 8}', '{"api_key": "***", "tp": 8}'),
        ('["--api-key", "abc", "--tp-size", "8"]', '["--api-key", "***", "--tp-size", "8"]'),
        ("HF_TOKEN=abc", "HF_TOKEN=***"),
        ("Authorization: Bearer abcdefgh12345", "Authorization: Bearer ***"),
        ("token hf_abcdefghijklmnopqrst rejected", "token *** rejected"),
        ("https://user:secret@example.com/x", "https://***@example.com/x"),
        ("eos_token='</s>', max_total_num_tokens=8", "eos_token='</s>', max_total_num_tokens=8"),
    ],
)
def test_values_of_secrets_are_hidden_and_nothing_else(given_text: str, expected: str) -> None:
    assert redacted(given_text) == expected


@given(st.text(max_size=200))
def test_redacting_twice_changes_nothing_more(any_text: str) -> None:
    once = redacted(any_text)

    assert redacted(once) == once


def test_a_value_under_a_secret_name_is_hidden_wherever_it_stands() -> None:
    assert shown({"api-key": "abc", "env": {"HF_TOKEN": "x", "HF_HOME": "/data"}}) == {
        "api-key": "***",
        "env": {"HF_TOKEN": "***", "HF_HOME": "/data"},
    }
    assert shown(("--api-key", "abc", "--tp-size", "8")) == ("--api-key", "***", "--tp-size", "8")
    assert names_a_secret("HF_TOKEN")
    assert not names_a_secret("tokenizer-path")


@pytest.mark.parametrize("hostile", LONG, ids=repr_start)
def test_long_hostile_lines_cost_no_time(hostile: str) -> None:
    assert len(redacted(plain(hostile))) <= len(hostile)
