"""Scenario files."""

import pytest

from relight.lab.scenario import load_scenario, names, read_scenario
from relight.words.errors import UsageError


@pytest.mark.parametrize("name", names())
def test_every_shipped_scenario_is_well_formed_and_has_a_title_of_its_own(name: str) -> None:
    scenario = load_scenario(name)

    assert scenario.title
    assert [n for n in names() if load_scenario(n).title == scenario.title] == [name]


def test_the_story_is_among_many() -> None:
    assert "story" in names()
    assert len(names()) >= 12


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("titel = 'x'", "unknown key 'titel'"),
        ("[model]\nweight = 3", "unknown key 'weight'"),
        ("[[fault]]\nphase = 'sleep'", "phase 'sleep'"),
        ("[[fault]]\nphase = 'moe'\nshape = 'melt'", "shape 'melt'"),
        ("[[fault]]\nphase = 'moe'\nwhen = ['tp-size=8']", "not a condition: 'tp-size=8'"),
        ("[[sickness]]\nshape = 'cold'", "shape 'cold'"),
        ("[[foreign]]\ngpu = 1", "unknown key 'gpu'"),
        ("peer = 'wave'", "peer 'wave'"),
        ("title = ", "not TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=r"mine\.toml") as caught:
        read_scenario(text, "mine", "mine.toml")

    assert said in str(caught.value)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="exhausted"):
        load_scenario("nothing-of-that-name")


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: object) -> None:
    with pytest.raises(UsageError, match="no such scenario file"):
        load_scenario(f"{tmp_path}/gone.toml")
