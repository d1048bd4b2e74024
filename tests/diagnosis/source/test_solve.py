"""Repairs: all the small ways out, the kindest first."""

from collections.abc import Callable, Mapping

import pytest

from relight.diagnosis.source.read import Reading
from relight.diagnosis.source.solve import Wishes, repairs
from relight.diagnosis.source.values import Values
from relight.words.parser import HostParser
from relight.words.settings import Repair

Read = Callable[..., Reading]
STORY = """
class Args:
    def check(self):
        if self.algorithm == "NEXTN":
            self.algorithm = "EAGLE"
        if self.algorithm == "EAGLE":
            if self.draft_steps is None:
                assert (
                    self.draft_topk is None
                    and self.draft_tokens is None  # here
                )
            if self.draft_topk == 1 and self.draft_tokens != self.draft_steps + 1:
                self.draft_tokens = self.draft_steps + 1
"""
GIVEN = {"algorithm": "NEXTN", "draft-topk": "1", "draft-tokens": "4"}


def edits(found: tuple[Repair, ...]) -> list[tuple[dict[str, object], tuple[str, ...]]]:
    return [(dict(r.set), r.unset) for r in found]


def solved(
    reading: Reading, flags: HostParser, given: Mapping[str, object], wishes: Wishes | None = None, **env: str
) -> tuple[Repair, ...]:
    return repairs(reading, Values(given, env), flags, wishes)  # type: ignore[arg-type]


def test_the_story_has_both_ways_out(read: Read, flags: HostParser) -> None:
    found = solved(read(STORY), flags, GIVEN)

    assert ({"draft-steps": 3}, ()) in edits(found), "the count that fits the tokens given"
    assert ({}, ("draft-topk", "draft-tokens")) in edits(found)
    assert all(r.origin == "source" and r.why and not r.confirmed for r in found)


def test_fewest_edits_come_first_and_all_are_minimal(read: Read, flags: HostParser) -> None:
    found = solved(read(STORY), flags, GIVEN)

    sizes = [len(r.set) + len(r.unset) for r in found]
    assert sizes == sorted(sizes)
    assert edits(found)[0] == ({"draft-steps": 3}, ())
    names = [r.names for r in found]
    assert not any(a < b for a in names for b in names)


def test_what_is_protected_is_never_touched(read: Read, flags: HostParser) -> None:
    found = solved(read(STORY), flags, GIVEN, Wishes(protected=frozenset({"draft-steps", "algorithm"})))

    assert edits(found) == [({}, ("draft-topk", "draft-tokens"))]


def test_flags_nobody_gave_stay_out_where_that_is_wanted(read: Read, flags: HostParser) -> None:
    found = solved(read(STORY), flags, GIVEN, Wishes(others=True))

    assert all("draft-steps" not in r.names for r in found)
    assert found


def test_losing_a_lever_costs_more_than_bending_it(read: Read, flags: HostParser) -> None:
    wishes = Wishes(keep={"algorithm": 3.0, "draft-topk": 3.0, "draft-tokens": 3.0}, firsts=frozenset({"algorithm"}))

    found = solved(read(STORY), flags, GIVEN, wishes)

    cost = {tuple(sorted(r.names)): r.cost for r in found if r.unset}
    assert cost[("algorithm",)] > cost[("draft-tokens", "draft-topk")] - 3
    lost = next(r for r in found if r.unset == ("algorithm",))
    assert lost.gives_up == "what was asked with algorithm"


@pytest.mark.parametrize(
    ("check", "given", "expected"),
    [
        ("assert self.tp_size % self.nnodes == 0", {"tp-size": "8", "nnodes": "3"}, {"nnodes": 2}),
        ("assert self.chunk % self.page_size == 0", {"chunk": "100", "page-size": "64"}, {"chunk": 128}),
        ("assert self.backend in ('fa3', 'flash')", {"backend": "torch"}, {"backend": "fa3"}),
        ("assert self.backend not in BAD", {"backend": "torch"}, {"backend": "flash"}),
        ("assert self.chunk > 0", {"chunk": "-5"}, {"chunk": 1}),
        ("assert self.chunk >= self.draft_tokens * 2", {"chunk": "3", "draft-tokens": "4"}, {"chunk": 8}),
        ("assert 0 < self.fraction < 1", {"fraction": "1.5"}, {"fraction": 0.75}),
        ("assert not (self.mixed and self.tp_size > 1)", {"mixed": True, "tp-size": "2"}, {"tp-size": 1}),
        ("assert self.disable_cache", {}, {"disable-cache": True}),
        ("assert self.policy in {'fcfs', 'lof'}", {"policy": "lpm"}, {"policy": "fcfs"}),
    ],
)
def test_a_condition_is_met_with_the_nearest_value(
    check: str, given: dict[str, object], expected: dict[str, object], read: Read, flags: HostParser
) -> None:
    found = solved(read(f"BAD = ['torch', 'triton']\ndef f(self):\n  {check}  # here"), flags, given)

    assert expected in [dict(r.set) for r in found]


def test_an_edit_that_would_break_an_earlier_check_is_not_proposed(read: Read, flags: HostParser) -> None:
    text = """
def f(self):
    if self.page_size > 64:
        raise ValueError("too large")
    assert self.chunk % self.page_size != 0 or self.page_size >= 128  # here
"""
    found = solved(read(text), flags, {"chunk": "128", "page-size": "64"})

    assert all(r.set.get("page-size", 0) != 128 for r in found)
    assert found


def test_a_variable_is_unset_or_switched_off(read: Read, flags: HostParser) -> None:
    text = "def f(self):\n  if envs.FAST.get() and self.draft_topk > 1:\n    raise ValueError('one only')  # here"

    found = solved(read(text), flags, {"draft-topk": "4"}, FAST="1")

    assert ({"draft-topk": 1}, ()) in edits(found)
    assert any(r.unset_env == ("FAST",) for r in found)


def test_what_the_message_names_comes_first(read: Read, flags: HostParser) -> None:
    text = """
def f(self):
    if not self.disable_cache and self.backend != "fa3":
        raise ValueError("use --backend fa3")  # here
"""
    found = solved(read(text, message="use --backend fa3"), flags, {"backend": "torch"})

    assert dict(found[0].set) == {"backend": "fa3"}


def test_a_value_the_engine_set_by_itself_is_given_openly(read: Read, flags: HostParser) -> None:
    text = 'def f(self):\n  assert self.page_size == 1, f"page {self.page_size}"  # here'

    found = solved(read(text, message="page 64"), flags, {})

    assert dict(found[0].set) == {"page-size": 1}


def test_flags_keep_the_spelling_of_the_command_line(read: Read, flags: HostParser) -> None:
    found = solved(read("def f(self):\n  assert self.tp_size < 4  # here"), flags, {"tensor-par": "8"})

    assert all(r.names == {"tensor-par"} for r in found)
    assert found


def test_a_type_error_is_repaired_by_giving_the_value(read: Read, flags: HostParser) -> None:
    reading = read(
        "def f(self):\n  if self.draft_steps is not None:\n    x = self.draft_topk > 1  # here",
        type="TypeError", message="'>' not supported between instances of 'NoneType' and 'int'",
    )  # fmt: skip

    found = solved(reading, flags, {"draft-steps": "2"})

    assert ({"draft-topk": 1}, ()) in edits(found)
    assert ({}, ("draft-steps",)) in edits(found)


def test_values_from_the_message_solve_a_check_deep_in_a_model(read: Read, flags: HostParser) -> None:
    text = """
def build(config, tp_size):
    heads = config.num_heads
    assert heads % tp_size == 0, f"{heads} heads over {tp_size} ranks"  # here
"""
    found = solved(read(text, message="12 heads over 8 ranks"), flags, {"tp-size": "8"})

    assert found[0].set == {"tp-size": 4}


def test_what_no_flag_can_change_has_no_repair(read: Read, flags: HostParser) -> None:
    assert solved(read("def f(self):\n  assert has_card()  # here"), flags, {}) == ()
    assert solved(read("def f(self):\n  raise ValueError('always')  # here"), flags, {}) == ()


def test_values_that_do_not_explain_the_failure_do_not_make_any_edit_a_repair(read: Read, flags: HostParser) -> None:
    text = "def f(self):\n  if self.mixed:\n    return\n  assert self.tp_size % self.nnodes == 0  # here"

    found = solved(read(text), flags, {"tp-size": "2", "nnodes": "2"})

    assert not any(r.names == {"mixed"} for r in found)


def test_no_count_is_proposed_that_is_not_positive_unless_the_code_names_it(read: Read, flags: HostParser) -> None:
    bounded = solved(read("def check(self):\n    assert self.nnodes >= 1  # here\n"), flags, {"nnodes": "0"})
    named = solved(read("def check(self):\n    assert self.chunk == -1  # here\n"), flags, {})

    assert [r.set.get("nnodes") for r in bounded] == [1, 2, None]
    assert named[0].set == {"chunk": -1}


def test_powers_of_two_stay_powers_of_two(read: Read, flags: HostParser) -> None:
    found = solved(
        read("def check(self):\n    assert self.chunk % self.page_size == 0  # here\n"),
        flags,
        {"chunk": "100", "page-size": "64"},
    )

    assert [r.set["page-size"] for r in found if list(r.set) == ["page-size"]] == [4, 2]


def test_a_switch_that_is_on_is_left_out_once(read: Read, flags: HostParser) -> None:
    found = solved(read("def check(self):\n    assert not self.mixed  # here\n"), flags, {"mixed": True})

    assert [r.unset for r in found] == [("mixed",)]


def test_no_repair_makes_of_a_server_what_nobody_asked_for(read: Read, flags: HostParser) -> None:
    reading = read("def check(self):\n    if self.policy != 'decode':\n        assert self.chunk > 8192  # here\n")
    wishes = Wishes(purposes=frozenset({"policy"}))

    assert all("policy" not in r.set for r in solved(reading, flags, {}, wishes=wishes))
    assert any(r.set == {"policy": "decode"} for r in solved(reading, flags, {"policy": "lpm"}, wishes=wishes))


def test_values_that_nothing_speaks_for_come_after_what_can_be_left_out(read: Read, flags: HostParser) -> None:
    text = "def check(self):\n    if self.mixed:\n        assert self.backend is not None  # here\n"

    found = solved(read(text), flags, {"mixed": True})

    assert found[0].unset == ("mixed",)
    assert found[1].set == {"backend": "triton"}


def test_a_flag_whose_default_the_engine_replaced_is_not_reckoned_with(read: Read, flags: HostParser) -> None:
    text = "def check(self):\n    assert self.tp_size % self.nnodes == 0  # here\n"

    found = solved(read(text), flags, {"tp-size": "8"})

    assert [r.set for r in found if r.set.keys() == {"tp-size"}] == []
    assert found[0].set.keys() == {"nnodes"}


def test_what_an_unknown_guard_contradicts_does_not_hide_the_condition(read: Read, flags: HostParser) -> None:
    text = "def check(self):\n    if self.page_size == 64:\n        assert self.mixed  # here\n"

    assert any(r.set == {"mixed": True} for r in solved(read(text), flags, {"page-size": "1"}))


def test_both_halves_of_what_a_condition_asks_for_are_given_together(read: Read, flags: HostParser) -> None:
    text = "def check(self):\n    assert self.backend and self.draft_steps  # here\n"

    assert solved(read(text), flags, {})[0].set.keys() == {"backend", "draft-steps"}


@pytest.mark.parametrize(
    "check",
    [
        "assert self.chunk % (self.page_size or 1) == 0",
        "page = self.page_size or 1\n        assert self.chunk % page == 0",
        "assert self.chunk % (self.page_size and self.page_size) == 0",
        "assert not self.chunk or not self.chunk % (self.page_size or 1)",
    ],
)
def test_a_value_in_place_of_a_missing_one_is_reckoned_with_as_a_value(
    read: Read, flags: HostParser, check: str
) -> None:
    reading = read(f"class Args:\n    def check(self):\n        {check}  # here\n")

    found = solved(reading, flags, {"chunk": 4000, "page-size": 64}, Wishes(protected=frozenset({"page-size"})))

    values = [r.set["chunk"] for r in found if "chunk" in r.set]
    assert values
    assert all(isinstance(v, int) and v % 64 == 0 for v in values)
    assert not any(" is on" in r.why for r in found)
