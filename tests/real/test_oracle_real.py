"""The real SGLang's own argument validation, asked without a GPU; the story's refusals, repaired before any launch."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from relight.diagnosis.source.read import Reading, read_failure
from relight.diagnosis.source.solve import Wishes, repairs
from relight.diagnosis.source.values import Values
from relight.hosts import oracle
from relight.hosts.parser_answer import read_parser
from relight.hosts.parser_source import parser_script
from relight.hosts.values import Ran
from relight.words.parser import HostParser
from relight.words.settings import Settings
from relight.words.step import Answer
from tests.real.cards import install_cards

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]
VERSIONS = ("0.5.10", "0.5.23")


class RealHost:
    """An interpreter with the real engine, and eight cards that only answer questions."""

    def __init__(self, version: str, folder: Path) -> None:
        self.python = str(Path(os.environ.get("RELIGHT_REAL", ""), version, "bin", "python"))
        if not Path(self.python).exists():
            pytest.skip(f"SGLang {version} is not installed below $RELIGHT_REAL")
        self.env = {**os.environ, **install_cards(folder, os.environ["PATH"])}
        self.model = str(folder / "model")

    def run(self, argv: Sequence[str], stdin: bytes = b"") -> Ran:
        done = subprocess.run(argv, input=stdin, capture_output=True, check=False, env=self.env, timeout=500)
        return Ran(done.returncode, done.stdout, done.stderr)

    def parser(self) -> HostParser:
        return read_parser(self.run([self.python, "-c", parser_script()]).stdout)

    def ask(self, candidates: Sequence[Settings], parser: HostParser) -> tuple[Answer, ...]:
        ran = self.run(oracle.command(self.python), oracle.request(candidates, parser))
        said = oracle.answers(ran, candidates)
        assert said.asked, said.why
        return said.answers


def read(answer: Answer) -> Reading:
    """Read a refusal from the files the answer names, and once more with those the reading wants."""
    files = {f.file for f in answer.frames} | {answer.file}
    callers = [(f.file, f.line) for f in answer.frames[:-1]]
    found = Reading(answer.file, answer.line)
    for _ in range(2):
        texts = {f: Path(f).read_text() for f in files if Path(f).is_file()}
        found = read_failure(
            texts[answer.file], answer.file, answer.line,
            message=answer.message, type=answer.type, others=texts, callers=callers,
        )  # fmt: skip
        files |= set(found.wants)
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_the_parser_of_a_real_release_is_described(version: str, tmp_path: Path) -> None:
    parser = RealHost(version, tmp_path).parser()

    size = parser.find("tp-size")
    assert size
    assert (size.dest, size.type, size.default) == ("tp_size", "int", 1)
    assert parser.version == version
    assert len(list(parser)) > 300


def test_the_story_is_repaired_before_any_launch(tmp_path: Path) -> None:
    host = RealHost("0.5.10", tmp_path)
    parser = host.parser()
    now = Settings(
        {
            "model-path": host.model, "tp-size": 8, "speculative-algorithm": "NEXTN",
            "speculative-num-draft-tokens": 2, "speculative-eagle-topk": 1,
        },
        {"SGLANG_ENABLE_SPEC_V2": "1"},
    )  # fmt: skip
    wishes = Wishes(
        keep={"speculative-algorithm": 3, "SGLANG_ENABLE_SPEC_V2": 3}, firsts=frozenset({"speculative-algorithm"})
    )
    refusals: list[str] = []
    (answer,) = host.ask([now], parser)
    while not answer.passed and len(refusals) < 5:
        refusals.append(answer.type)
        found = [now.changed(r) for r in repairs(read(answer), Values.of(now), parser, wishes)]
        said = host.ask(found, parser)
        place = (answer.file, answer.line)
        now, answer = next((s, a) for s, a in zip(found, said, strict=True) if a.passed or (a.file, a.line) != place)

    assert answer.passed
    assert refusals == ["ValueError", "AssertionError"]
    assert now.flags["speculative-algorithm"] == "NEXTN"
    assert now.env == {"SGLANG_ENABLE_SPEC_V2": "1"}
    assert now.flags["mamba-scheduler-strategy"] == "extra_buffer"
