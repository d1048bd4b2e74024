"""Every sentence of the contract that is listed names tests that exist."""

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SENTENCES = tomllib.loads((TESTS / "contract.toml").read_text())["sentence"]


@cache
def functions(file: Path) -> frozenset[str]:
    return frozenset(n.name for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.FunctionDef))


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda s: s["says"][:60])
def test_a_sentence_of_the_contract_has_tests(sentence: dict[str, list[str]]) -> None:
    assert sentence["tests"]
    for name in sentence["tests"]:
        file, _, function = name.partition("::")
        assert function in functions(TESTS / file), name


def test_no_sentence_stands_twice() -> None:
    says = [sentence["says"] for sentence in SENTENCES]

    assert len(says) == len(set(says))
