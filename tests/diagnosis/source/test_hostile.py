"""Whatever a file holds, reading it neither fails nor runs it."""

import ast
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relight.diagnosis.source.explain import constraint
from relight.diagnosis.source.read import read_failure
from relight.diagnosis.source.solve import repairs
from relight.diagnosis.source.values import Values
from relight.words.parser import HostParser, ParserFlag

FLAGS = HostParser(tuple(ParserFlag((n,), n, "int", default=1) for n in ("a", "b", "c")), "1")
NAMES = st.sampled_from(["self.a", "cfg.b", "server_args.c", "x", "LIMIT", "None", "0", "7", "'t'", "f(self)", "[]"])
EXPRESSIONS = st.recursive(
    NAMES,
    lambda inner: st.one_of(
        st.tuples(
            inner, st.sampled_from([" and ", " or ", " < ", " in ", " % ", " * ", " ** ", " == ", " is "]), inner
        ).map(lambda t: f"({t[0]}{t[1]}{t[2]})"),
        inner.map(lambda t: f"(not {t})"),
        inner.map(lambda t: f"len({t})"),
        inner.map(lambda t: f"any(y for y in ({t},))"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
    ),
    max_leaves=12,
)
STATEMENTS = st.sampled_from([
    "self.a = {}", "x = {}", "if {}: return", "for x in ({}, 1): self.b = x", "while {}: break",
    "try:\n      x = {}\n    except E: pass", "x, y = {}", "with {}: pass", "self.b += {}", "del x", "if {}: raise E",
])  # fmt: skip


def everything(text: str, line: int) -> None:
    reading = read_failure(text, "/e/f.py", line, message="text 1", type="AssertionError")
    values = Values({"a": "3", "b": "x"}, {"E": "1"})
    constraint(reading, values, FLAGS)
    assert len(repairs(reading, values, FLAGS)) <= 12


@given(st.text(max_size=300), st.integers(-2, 12))
def test_any_text_is_read_without_an_error(text: str, line: int) -> None:
    everything(text, line)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(STATEMENTS, EXPRESSIONS), max_size=4), EXPRESSIONS)
def test_any_program_is_read_and_solved_without_an_error(body: list[tuple[str, str]], condition: str) -> None:
    rows = ["LIMIT = 4", "def f(self):", "  return self.c", "def g(self):"]
    rows += ["    " + statement.format(expression) for statement, expression in body]
    text = "\n".join([*rows, f"    assert {condition}"])
    ast.parse(text)

    everything(text, text.count("\n") + 1)


@pytest.mark.parametrize(
    "bad", ["__import__('pathlib').Path({0!r}).touch()", "open({0!r}, 'w')", "exec('open({0!r}, 1)')"]
)
def test_code_is_never_run(bad: str, tmp_path: Path) -> None:
    target = str(tmp_path / "touched")
    call = bad.format(target)

    everything(f"{call}\nX = {call}\ndef f(self):\n  assert {call} and X and self.a == 1", 4)

    assert not Path(target).exists()


def test_a_power_tower_is_not_computed() -> None:
    everything("def f(self):\n  assert self.a == 9**9**9**9 and 'x' * 10**12 == self.b", 2)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def f(self):\n  assert self.a\n" * 20_000, 39_999),
        ("def f(self):\n" + "  x = self.a\n" * 100_000 + "  assert x\n", 100_002),
        ("def f(self):\n  assert self.a\n", 50),
        ("assert self" + ".a" * 20_000, 1),
        ("x = 1\0\nassert x", 2),
        ("#" * (5 << 20), 1),
    ],
)
def test_what_cannot_be_read_says_why(text: str, line: int) -> None:
    found = read_failure(text, "server_args.py", line)

    assert found.kind == "unread"
    assert found.why.startswith("cannot read server_args.py: ")


@pytest.mark.parametrize(
    "text",
    [
        "def f(self):\n  assert " + " or ".join(f"self.{'abc'[n % 3]} == {n + 9}" for n in range(3000)),
        "def f(self):\n  assert " + " and ".join(f"self.{'abc'[n % 3]} != {n}" for n in range(1000)),
        "def f(self):\n  assert " + "(" * 90 + "self.a == 2" + ")" * 90,
        "def f(self):\n  if self.a == 0: pass\n"
        + "".join(f"  elif self.a == {n}: self.b = {n}\n" for n in range(1, 80))
        + "  assert self.b == 5",
        "def f(self):\n  x = self.a\n" + "  x = (x, x)\n" * 200 + "  assert x",
        "def f(self):\n"
        + "".join("  " * (n + 1) + f"for v{n} in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10):\n" for n in range(15))
        + "  " * 16
        + "assert self.a != v0",
        "X = " + repr(list(range(20_000))) + "\ndef f(self):\n  assert self.a in X",
        "".join(f"def f{n}(self):\n  return f{n + 1}(self) and f{n + 1}(self)\n" for n in range(30))
        + "def f30(self):\n  return self.a\ndef h(self):\n  assert f0(self)",
    ],
)
def test_reading_and_solving_are_bounded(text: str) -> None:
    before = time.process_time()

    everything(text, text.count("\n") + 1)

    # Well under a second of an idle processor; a busy one is slower.
    assert time.process_time() - before < 4
