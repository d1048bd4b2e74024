"""Words to JSON and back."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relight.journal.codec import dumps, from_json, json_schema, to_json
from relight.journal.files import locked, write_json
from relight.journal.learned import Learned, Place, add, forget, load, path_of
from relight.journal.redact import redact_json, redact_text
from relight.words.attempt import Attempt, Exit, Nogood, Phase, Record, Term
from relight.words.diagnosis import Cause, Diagnosis
from relight.words.errors import BusyError, RelightError
from relight.words.secret import Secret
from relight.words.settings import Settings

NAMES = st.text(alphabet="abc-", min_size=1, max_size=6)
SCALARS = st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5))
FLAGS = st.dictionaries(NAMES, st.one_of(SCALARS, st.lists(SCALARS, max_size=3).map(tuple)), max_size=4)
SETTINGS = st.builds(Settings, FLAGS, st.dictionaries(NAMES, st.text(max_size=4), max_size=3))
ATTEMPTS = st.builds(
    Attempt,
    st.integers(min_value=1, max_value=99),
    st.sampled_from(["parse", "validate", "dummy", "real"]),
    SETTINGS,
    outcome=st.sampled_from([None, "healthy", "crashed"]),
    phases=st.lists(st.builds(Phase, NAMES, NAMES), max_size=2).map(tuple),
    exit=st.one_of(st.none(), st.builds(Exit, st.none(), st.integers(1, 31))),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ATTEMPTS, max_size=3))
def test_a_record_survives_json(attempts: list[Attempt]) -> None:
    record = Record("r", "f", "p", "h", ("h",), attempts=tuple(attempts))

    assert from_json(Record, json.loads(dumps(record))) == record


def test_a_diagnosis_survives_json() -> None:
    cause = Cause("oom", "oom.host", None, "f", 3, "t", None, "args", 0.5, "s", {"a": 1})

    assert from_json(Diagnosis, to_json(Diagnosis("log", "failed", cause=cause))).cause == cause


def test_a_secret_is_never_written() -> None:
    assert dumps({"a": Secret("planted")}) == '{"a": "***"}'


def test_json_is_ascii_and_holds_no_control_characters() -> None:
    text = dumps({"a": "\x1b[31m\u202e\u00e9", "nan": float("nan")})

    assert text.isascii()
    assert text.isprintable()


def test_data_of_another_shape_is_refused_with_its_place() -> None:
    with pytest.raises(RelightError, match="state"):
        from_json(Record, to_json(Record("r", "f", "p", "h", ("h",))) | {"state": "sleeping"})


def test_fields_of_a_newer_release_are_skipped() -> None:
    record = Record("r", "f", "p", "h", ("h",))

    assert from_json(Record, to_json(record) | {"from_the_future": 1}) == record


def test_the_schema_names_every_state() -> None:
    assert "exhausted" in json.dumps(json_schema(Record))


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("server_args=ServerArgs(api_key='planted', tp_size=8)", "planted"),
        ("Authorization: Bearer planted-token-1234", "planted-token-1234"),
        ("https://me:planted@example.com/x", "planted"),
        ("token hf_plantedplantedplanted", "hf_plantedplantedplanted"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str, hidden: str) -> None:
    assert hidden not in redact_text(text)


def test_known_values_are_hidden_wherever_they_stand() -> None:
    data: Any = {"a": ["x planted y"], "HF_TOKEN": "whatever", "n": 1}

    assert redact_json(data, ["planted"]) == {"a": ["x *** y"], "HF_TOKEN": "***", "n": 1}


PLACE = Place("RTX PRO 6000 x8", "0.5.9", "nvidia/Qwen3.5")
NOGOOD = Nogood("a = 1", "attempt 1", "oom.host", terms=(Term("a", "=", [1]),))


def test_what_is_learned_is_kept_once_and_for_its_place_only(tmp_path: Path) -> None:
    add(tmp_path, Learned(PLACE, (NOGOOD,), (Settings({"a": 1}),), {"load_weights": 60.0}))
    add(tmp_path, Learned(PLACE, (NOGOOD,), (Settings({"a": 2}),), {"init": 5.0}))

    known = load(tmp_path, PLACE)

    assert known.nogoods == (NOGOOD,)
    assert known.healthy == (Settings({"a": 2}), Settings({"a": 1}))
    assert known.phases == {"load_weights": 60.0, "init": 5.0}
    assert load(tmp_path, Place("other", "0.5.9", "m")).nogoods == ()


def test_what_is_learned_can_be_forgotten(tmp_path: Path) -> None:
    add(tmp_path, Learned(PLACE, (NOGOOD,)))

    assert (forget(tmp_path, PLACE), forget(tmp_path, PLACE)) == (True, False)
    assert load(tmp_path, PLACE) == Learned(PLACE)


def test_places_that_look_alike_have_files_of_their_own(tmp_path: Path) -> None:
    assert path_of(tmp_path, Place("a b", "1", "m")) != path_of(tmp_path, Place("a-b", "1", "m"))


def test_a_broken_file_of_knowledge_is_nothing_known(tmp_path: Path) -> None:
    path_of(tmp_path, PLACE).parent.mkdir()
    path_of(tmp_path, PLACE).write_text("{")

    assert load(tmp_path, PLACE) == Learned(PLACE)


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"a": 1})
    write_json(tmp_path / "a.json", {"a": 2})

    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": 2}


def test_a_lock_names_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / ".lock"

    with (
        locked(path, wait=False, what="it"),
        pytest.raises(BusyError, match="pid"),
        locked(path, wait=False, what="it"),
    ):
        pass
