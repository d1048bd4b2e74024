"""Small words: near names, secrets, errors."""

from relight.words.errors import BusyError, PersonError, RelightError, UnreachableError, UsageError
from relight.words.near import meant, near
from relight.words.secret import Secret
from relight.words.settings import Change, Settings, WrittenFloat


def test_names_that_were_probably_meant_come_best_first() -> None:
    assert near("tp-sise", ["tp-size", "dp-size", "port"])[0] == "tp-size"
    assert near("zzz", ["tp-size"]) == ()


def test_a_hint_is_a_question_or_nothing() -> None:
    assert meant("prot", ["port"]) == "did you mean 'port'?"
    assert meant("zzz", ["port"]) == ""


def test_a_secret_never_shows_itself() -> None:
    secret = Secret("planted")

    assert f"{secret} {secret!r} {secret!s} {[secret]} {secret:>10}".count("planted") == 0
    assert secret.reveal() == "planted"


def test_an_error_says_where_what_and_what_next() -> None:
    assert str(UsageError("wrong", place="a.toml:3", next="mend it")) == "a.toml:3: wrong (mend it)"
    assert str(RelightError("wrong")) == "wrong"


def test_every_error_has_its_status() -> None:
    kinds = (RelightError, UsageError, UnreachableError, PersonError, BusyError)

    assert [kind.exit_status for kind in kinds] == [1, 2, 3, 5, 6]


def test_a_written_float_is_a_number_that_prints_as_written() -> None:
    value = WrittenFloat("0.90")

    assert (str(value), value, value + 0.1) == ("0.90", 0.9, 1.0)


def test_a_change_sets_unsets_and_keeps_the_place_of_what_stays() -> None:
    settings = Settings({"a": 1, "b": 2, "c": 3}, {"X": "1", "Y": "2"})

    changed = settings.changed(Change({"a": 9, "d": 4}, ("b",), {"Z": "3"}, ("X",)))

    assert list(changed.flags.items()) == [("a", 9), ("c", 3), ("d", 4)]
    assert changed.env == {"Y": "2", "Z": "3"}
    assert (bool(Change()), bool(Change(unset=("a",)))) == (False, True)
