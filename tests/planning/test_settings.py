from relight.planning.settings import lever_states, put_together, unfit
from relight.words.attempt import LeverState
from relight.words.settings import Change, Repair, Settings
from tests.planning.situations import PARSER, lever, playbook, variant

SPEC = lever("spec", variant({"speculative-algo": "NEXTN", "speculative-num-steps": 3}, env={"V2": "1"}), "off", keep=3)
GRAPHS = lever("graphs", variant({"cuda-graph-max-bs": 64}), "off")
BOOK = playbook(SPEC, GRAPHS, flags={"cuda-graph-max-bs": 256}, env={"A": "book"})


def test_layers_are_laid_in_the_contracts_order_and_the_later_wins() -> None:
    settings = put_together(
        BOOK, {"spec": 1, "graphs": 1}, [Repair({"cuda-graph-max-bs": 8})], Change({"port": 1}, set_env={"A": "mine"}),
        {"A": "host", "B": "host"}, PARSER, "0.5.9",
    )  # fmt: skip

    assert settings.flags["cuda-graph-max-bs"] == 8
    assert settings.flags["port"] == 1
    assert settings.env == {"A": "mine", "B": "host", "V2": "1"}


def test_a_base_value_comes_back_when_its_lever_is_off() -> None:
    settings = put_together(BOOK, {"spec": None, "graphs": None}, parser=PARSER)

    assert settings.flags["cuda-graph-max-bs"] == 256
    assert "speculative-algo" not in settings.flags


def test_a_repair_under_another_name_changes_the_flag_and_keeps_the_playbooks_spelling() -> None:
    settings = put_together(
        BOOK, {"spec": 1}, [Repair({"tp": 4, "speculative-algorithm": "EAGLE"}, unset=("cuda-graph-max-bs",))],
        parser=PARSER,
    )  # fmt: skip

    assert settings.flags["tp-size"] == 4
    assert settings.flags["speculative-algo"] == "EAGLE"
    assert not {"tp", "speculative-algorithm", "cuda-graph-max-bs"} & set(settings.flags)


def test_a_flag_nobody_spelled_gets_the_parsers_shortest_long_name() -> None:
    book = playbook(flags={})

    assert "model" not in book.flags
    assert (
        "tp" in put_together(playbook().__class__("p"), {}, [Repair({"tensor-parallel-size": 2})], parser=PARSER).flags
    )


def test_needs_decides_and_versions_count_only_for_releases() -> None:
    assert unfit(variant({}, needs=("no-such-flag",)), PARSER, "0.5.9") == "needs --no-such-flag"
    assert unfit(variant({}, needs=("port",), versions=">=9"), PARSER, "0.5.9") == ""
    assert unfit(variant({}, versions=">=0.5.12"), PARSER, "0.5.9") == "needs version >=0.5.12"
    assert unfit(variant({}, versions=">=0.5.12"), PARSER, "0.5.10.dev3+g123") == ""
    assert unfit(variant({}, versions=">=0.5.12"), PARSER, None) == ""


def state(settings: Settings, position: int | None) -> LeverState:
    return lever_states(BOOK, {"spec": position}, settings, PARSER)[0]


def test_a_lever_is_kept_while_its_first_flag_keeps_its_value() -> None:
    settings = put_together(BOOK, {"spec": 1}, [Repair({"speculative-num-steps": 1}, unset_env=("V2",))], parser=PARSER)

    assert state(settings, 1) == LeverState("spec", 1, 1, ("speculative-num-steps", "V2"))


def test_a_lever_whose_first_flag_was_changed_is_off() -> None:
    settings = put_together(BOOK, {"spec": 1}, [Repair(unset=("speculative-algorithm",))], parser=PARSER)

    assert state(settings, 1).kept is None
    assert state(put_together(BOOK, {}, parser=PARSER), None) == LeverState("spec", 1, None)
