"""Every sentence of the threat model on what is done names tests that exist."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.test_contract import TESTS, functions

PAGE = (TESTS.parent / "docs" / "threat-model.md").read_text()
CLAIMS: dict[str, list[str]] = tomllib.loads((TESTS / "threats.toml").read_text())["claims"]
SOURCE = TESTS.parent / "src" / "relight"


def sentences() -> list[str]:
    """Return the sentences of the section, the bold words that open its paragraphs left out."""
    section = PAGE.partition("## What is done")[2].partition("\n## ")[0]
    paragraphs = (re.sub(r"^\*\*.*?\*\*\s*", "", p.strip()) for p in section.strip().split("\n\n"))
    return [s for p in paragraphs for s in re.split(r"(?<=\.)\s+", p) if s]


@pytest.mark.parametrize("sentence", sentences(), ids=lambda s: s[:50])
def test_a_sentence_of_the_threat_model_has_tests(sentence: str) -> None:
    (begin,) = (begin for begin in CLAIMS if sentence.startswith(begin))

    assert CLAIMS[begin]
    for name in CLAIMS[begin]:
        file, _, function = name.partition("::")
        assert function in functions(TESTS / file), name


def test_every_claim_stands_on_the_page() -> None:
    assert [begin for begin in CLAIMS if not any(s.startswith(begin) for s in sentences())] == []


def test_nothing_asks_for_more_rights() -> None:
    words = {
        node.value
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(Path(path).read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value
    }

    assert not words & {"sudo", "su", "doas", "pkexec", "run0"}
