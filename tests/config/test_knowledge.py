"""The tables of flags, renames and facts that come with relight."""

from pathlib import Path

import pytest

from relight.config import shipped
from relight.config.facts import flag_facts, load_renames
from relight.config.flag_tables import load_env, load_env_names, load_versions
from relight.config.knowledge import load_knowledge
from relight.config.memory import load_memory
from relight.words.errors import UsageError
from relight.words.knowledge import version_key

FOLDER = shipped.engine()
VERSIONS = load_versions(FOLDER)
FACTS = flag_facts()
NAMES = {name for parser in VERSIONS.values() for flag in parser for name in flag.names}
# CONTRACT.md section 3
ALWAYS = (
    "model-path", "tokenizer-path", "revision", "served-model-name", "host", "port", "api-key", "admin-api-key",
    "ssl-keyfile", "ssl-certfile", "ssl-ca-certs", "ssl-keyfile-password", "trust-remote-code", "chat-template",
)  # fmt: skip
ALTERS = ("quantization", "dtype", "kv-cache-dtype", "mamba-ssm-dtype", "context-length")


def test_loads_everything_that_ships() -> None:
    knowledge = load_knowledge()

    assert knowledge.signatures
    assert knowledge.phases
    assert list(knowledge.versions) == sorted(knowledge.versions, key=version_key)


@pytest.mark.parametrize("name", ALWAYS)
def test_the_always_protected_flags_are_those_of_the_contract(name: str) -> None:
    assert FACTS[name].always_protected


def test_nothing_else_is_always_protected() -> None:
    others = {fact.name for fact in FACTS.values() if fact.always_protected}

    assert {n for n in others if not n.startswith("ssl-")} == {n for n in ALWAYS if not n.startswith("ssl-")}


def test_an_alias_shares_the_fact_of_its_flag() -> None:
    assert FACTS["model"] == FACTS["model-path"]
    assert FACTS["tensor-parallel-size"].name == "tp-size"


@pytest.mark.parametrize("name", ALTERS)
def test_a_change_that_can_alter_answers_costs_most(name: str) -> None:
    most = max(fact.cost for fact in FACTS.values())

    assert FACTS[name].alters_answers
    assert FACTS[name].cost >= most - 1


def test_switching_a_check_off_can_alter_answers() -> None:
    assert FACTS["SGLANG_SKIP_SGL_KERNEL_VERSION_CHECK"].alters_answers


def test_every_number_that_is_moved_has_bounds() -> None:
    assert FACTS["mem-fraction-static"].bounds == (0.3, 0.97)
    assert all(f.bounds[0] <= min(map(float, _numbers(f.ladder))) for f in FACTS.values() if f.bounds and f.ladder)


def _numbers(ladder: tuple[object, ...]) -> list[str]:
    return [str(step) for step in ladder]


def test_a_version_has_its_own_flags() -> None:
    old, new = VERSIONS["0.5.9"], VERSIONS["0.5.23"]

    assert "mamba-scheduler-strategy" in old
    assert "mamba-scheduler-strategy" not in new
    assert "mamba-radix-cache-strategy" in new


def test_a_flag_keeps_its_aliases_type_and_default() -> None:
    flag = VERSIONS["0.5.9"].find("tensor-parallel-size")

    assert flag
    assert (flag.name, flag.type, flag.default, flag.dest) == ("tp-size", "int", 1, "tp_size")


def test_a_required_flag_has_no_default() -> None:
    flag = VERSIONS["0.5.23"].find("model-path")

    assert flag
    assert (flag.required, flag.default) == (True, None)


def test_a_list_takes_several_words() -> None:
    flag = VERSIONS["0.5.23"].find("cuda-graph-bs-decode")

    assert flag
    assert flag.nargs == "+"


def test_choices_follow_the_version() -> None:
    old, new = (VERSIONS[v].find("kv-cache-dtype") for v in ("0.5.9", "0.5.23"))

    assert old
    assert new
    assert "fp4_e2m1" in old.choices
    assert "fp4_e2m1" not in new.choices


def test_every_flag_that_went_away_has_a_rename_or_a_removal() -> None:
    gone = {name for name in NAMES if name not in VERSIONS["0.5.23"]}

    assert gone <= {rename.old for rename in load_renames(FOLDER, VERSIONS)}


def test_a_rename_leads_to_a_flag_that_some_version_has() -> None:
    targets = {name for r in load_renames(FOLDER, VERSIONS) if not r.env for name in r.set}

    assert targets <= NAMES


def test_variables_have_their_defaults_by_version() -> None:
    env = load_env(FOLDER)

    assert set(env) == {"0.5.9", "0.5.23"}
    assert env["0.5.9"]["SGLANG_LOG_MS"] == "False"


def test_variables_that_went_away_are_known_for_the_versions_that_read_them() -> None:
    names = load_env_names(FOLDER)

    assert set(names) == {"0.5.9", "0.5.10", "0.5.23"}
    assert "SGLANG_ENABLE_SPEC_V2" in names["0.5.10"] - names["0.5.23"]


def test_the_flags_of_memory_are_those_of_the_engine() -> None:
    found = load_memory(FOLDER / "memory.toml", NAMES)

    assert {found.fraction, found.offload, found.draft} <= NAMES


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('offload = "cpu-offload-gb"', "no 'fraction'"),
        ('fraction = "mem-fraction-statik"', "did you mean 'mem-fraction-static'"),
        ('fraction = "mem-fraction-static"\nspill = 3', "unknown key 'spill'"),
        ('fraction = "mem-fraction-static"\ndraftless = 1', "draftless"),
    ],
)
def test_a_wrong_file_of_memory_says_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "memory.toml"
    file.write_text(text)

    with pytest.raises(UsageError) as caught:
        load_memory(file, NAMES)

    assert said in str(caught.value)
