"""The JSON Schemas hold of the files there are, and refuse what the loaders refuse."""

import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from relight.cli.schema import SCHEMAS, schema_of
from relight.config import shipped
from relight.config.signatures import read_signature
from relight.words.errors import UsageError

ROOT = Path(__file__).parents[2]
GOOD: dict[str, Any] = {
    "title": "t",
    "kind": "env.disk",
    "any": ["the moon is full"],
    "sample": [{"log": "the moon is full"}],
}


def valid(name: str, value: object) -> bool:
    return bool(jsonschema.Draft202012Validator(schema_of(name)).is_valid(value))


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_every_schema_is_one(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema_of(name))


def test_every_signature_that_comes_with_relight_is_valid() -> None:
    validator = jsonschema.Draft202012Validator(schema_of("signature"))
    files = sorted((shipped.engine() / "signatures").glob("*.toml"))

    assert files
    assert [f.name for f in files if not validator.is_valid(tomllib.loads(f.read_text(encoding="utf-8")))] == []


def test_every_playbook_and_the_example_of_hosts_are_valid() -> None:
    playbooks = sorted(shipped.folder().glob("*.toml"))

    assert [f.name for f in playbooks if not valid("playbook", tomllib.loads(f.read_text()))] == []
    assert valid("hosts", tomllib.loads((ROOT / "hosts.example.toml").read_text()))


@pytest.mark.parametrize(
    "change",
    [
        {"titel": "t"},
        {"kind": "env.disc"},
        {"fatal": "yes"},
        {"any": [3]},
        {"sample": {"log": "the moon is full"}},
        {"sample": [{"log": [3]}]},
        {"sample": [{"log": "the moon is full", "line": "1"}]},
        *({"remedy": [{"why": "w", **wrong}]} for wrong in (
            {"add": {"a": "x"}}, {"bounds": {"a": [1]}}, {"wait": "10s"}, {"cost": "low"}, {"unset": 3}, {"set": 3},
        )),
    ],
)  # fmt: skip
def test_schema_and_loader_refuse_the_same(change: dict[str, Any]) -> None:
    assert valid("signature", GOOD)
    read_signature(GOOD, "good", "good.toml")

    assert not valid("signature", GOOD | change)
    with pytest.raises(UsageError):
        read_signature(GOOD | change, "wrong", "wrong.toml")
