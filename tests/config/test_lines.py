"""Lines of keys in TOML texts."""

import tomllib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relight.config.lines import KeyPath, key_lines

TEXT = '''# a comment with [brackets] = and "quotes"
name = "x"
text = """
[not.a.table]
key = 1
"""
"quoted key" = 'it''s'
[a.b]
c.d = 1
[[lever]]
name = "one"
variants = [
  { flags = { x = 1, w = [
    2, 3] } },  # }]
  "off",
]
[[lever]]
name = "two"
[lever.more]
z = 1
'''.replace("'it''s'", "'its'")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("name",), 2),
        (("text",), 3),
        (("quoted key",), 7),
        (("a", "b"), 8),
        (("a", "b", "c", "d"), 9),
        (("lever", 0), 10),
        (("lever", 0, "name"), 11),
        (("lever", 0, "variants", 0), 13),
        (("lever", 0, "variants", 0, "flags", "x"), 13),
        (("lever", 0, "variants", 0, "flags", "w", 0), 14),
        (("lever", 0, "variants", 1), 15),
        (("lever", 1, "name"), 18),
        (("lever", 1, "more", "z"), 20),
    ],
)
def test_finds_the_line_of_a_key(path: KeyPath, line: int) -> None:
    assert key_lines(TEXT)[path] == line


def paths(value: Any, at: KeyPath = ()) -> set[KeyPath]:
    found: set[KeyPath] = {at} if at else set()
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        found |= paths(each, (*at, key))
    return found


def test_every_key_of_a_text_has_a_line() -> None:
    assert paths(tomllib.loads(TEXT)) <= set(key_lines(TEXT))


KEYS = st.text(alphabet="abc-", min_size=1, max_size=6)
VALUES = st.one_of(
    st.integers().map(str),
    st.booleans().map(lambda b: str(b).lower()),
    st.text(alphabet="ab[]{}#,=.'", max_size=8).map(lambda s: f'"{s}"'),
    st.lists(st.integers(), max_size=3).map(str),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=6), st.integers(min_value=0, max_value=3))
def test_a_key_is_found_whatever_its_value_holds(rows: dict[str, str], gap: int) -> None:
    text = "\n" * gap + "\n".join(f"{key} = {value}" for key, value in rows.items())

    assert [key_lines(text)[key,] for key in rows] == [gap + n for n in range(1, len(rows) + 1)]
