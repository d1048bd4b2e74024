"""A broken signature is refused with the place and what is allowed."""

import re
from pathlib import Path

import pytest

from relight.config.literals import literals
from relight.config.shipped import engine
from relight.config.signatures import load_signature, load_signatures
from relight.words.errors import UsageError

GOOD = 'title = "T"\nkind = "env.disk"\nany = ["the moon is full"]\n[[sample]]\nlog = "the moon is full"\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "moon.toml"
    path.write_text(text)
    return path


def test_a_good_file_is_a_signature_named_like_it(tmp_path: Path) -> None:
    found = load_signature(write(tmp_path, GOOD))

    assert (found.id, found.kind, found.literal) == ("moon", "env.disk", ("the moon is full",))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("title", "titel", "unknown key 'titel'"),
        ("env.disk", "env.disc", "is not known"),
        ("the moon is full", "[ab]", "no text of 6"),
        ("the moon is full", "the (moon", "does not compile"),
        ("[[sample]]", "[sample]", "is no list of tables"),
        ('log = "the moon is full"', 'log = "x"\nline = 2', "line = 2 names no text"),
        ('log = "the moon is full"', "log = [3]", "log must be a text"),
        ('kind = "env.disk"', "", "kind is missing"),
        ("[[sample]]", '[[remedy]]\nwhy = "w"\nadd = { a = "x" }\n[[sample]]', "add: a is 'x' (write a number)"),
        ("[[sample]]", '[[remedy]]\nwhy = "w"\nscale = { a = true }\n[[sample]]', "scale: a is True (write a number)"),
        ("[[sample]]", '[[remedy]]\nwhy = "w"\nbounds = { a = [1] }\n[[sample]]', "write [LOWEST, HIGHEST]"),
        ("[[sample]]", '[[remedy]]\nwhy = "w"\nbounds = { a = [1, "b"] }\n[[sample]]', "bounds: a is 'b'"),
        ("[[sample]]", '[[remedy]]\nwhy = "w"\nwait = "10s"\n[[sample]]', "wait is '10s'"),
        ("[[sample]]", '[[remedy]]\nwhy = "w"\ncost = "low"\n[[sample]]', "cost is 'low'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        load_signature(write(tmp_path, GOOD.replace(old, new, 1)))


def test_there_are_signatures_of_every_family() -> None:
    shipped = load_signatures(engine() / "signatures")

    families = {s.kind.split(".")[0] for s in shipped}
    assert len(shipped) >= 120
    assert {"args", "assertion", "oom", "kernel", "comm", "env", "model", "hang", "hardware", "numerics"} <= families


@pytest.mark.parametrize(
    ("regex", "expected"),
    [
        (r"^Killed now$", {"killed now"}),
        (r"(?:CUDA|HIP) out of memory", {"cuda out of memory", "hip out of memory"}),
        (r"\d+ [a-z]{3}", set()),
        (r"(?:exploded )?unexpectedly", {"exploded unexpectedly", "unexpectedly"}),
    ],
)
def test_literals_are_found_in_regexes(regex: str, expected: set[str]) -> None:
    assert literals(regex) == expected
