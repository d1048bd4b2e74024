"""Conditions that the engine's own source says: held against any settings, and never wrong about healthy ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relight.journal.codec import from_json, to_json
from relight.planning.ground import ground_of
from relight.words.attempt import Nogood
from relight.words.condition import Condition
from relight.words.parser import HostParser, ParserFlag
from relight.words.playbook import Playbook
from relight.words.settings import Settings
from relight.words.step import Exhausted
from tests.planning.engine import Engine

FLAGS = HostParser(
    (
        ParserFlag(("model-path",), "model_path", required=True),
        ParserFlag(("page-size",), "page_size", "int", default=1),
        ParserFlag(("chunk",), "chunk", "int"),
        ParserFlag(("most",), "most", "int", default=48),
        ParserFlag(("fraction",), "fraction", "float", default=0.5),
        ParserFlag(("backend",), "backend", choices=("one", "two", "three"), default="one"),
        ParserFlag(("draft",), "draft"),
        ParserFlag(("mixed",), "mixed", "bool", nargs=0, action="store_true", default=False),
        ParserFlag(("overlap", "no-overlap"), "overlap", "bool", nargs=0, action="boolean_optional", default=True),
        ParserFlag(("no-cache",), "cache", "bool", nargs=0, action="store_false", default=True),
    ),
    "0.5.9",
)
CHECKS = {
    "a relation of two flags": "assert self.chunk is None or self.chunk % self.page_size == 0, 'chunk of pages'",
    "a bound": "if self.most > 16 or self.most < 2:\n    raise ValueError('at most 16')",
    "a bound by another flag": "if self.chunk is not None and self.chunk < self.most:\n    raise ValueError('few')",
    "one of some": "if self.backend not in ('one', 'two') and self.mixed:\n    raise ValueError('no such kernel')",
    "truth and lack": "if self.draft:\n    assert self.chunk is not None and not self.mixed",
    "switches": "if not self.overlap and self.cache:\n    raise ValueError('cache needs overlap')",
    "a variable": "if os.environ.get('ACME') == 'true' and self.fraction >= 0.5:\n    raise ValueError('no')",
    "a number of the environment": "assert int(os.getenv('ACME_N', '3')) <= self.page_size, 'pages'",
    "a field that is rewritten": "if self.mixed:\n    self.page_size = 4\nassert self.page_size != 4 or not self.draft",
    "a local name": "half = self.most // 2\nif self.mixed and half * 2 != self.most:\n    raise ValueError(f'{half}')",
    "what cannot be read": "assert self.page_size != 4 or os.getpid() < self.most",
}  # fmt: skip
GIVEN = st.builds(
    lambda flags, env: Settings({"model-path": "m", **flags}, env),
    st.fixed_dictionaries(
        {},
        optional={
            "page-size": st.integers(1, 5),
            "chunk": st.integers(1, 64),
            "most": st.integers(1, 20),
            "fraction": st.sampled_from([0.25, 0.5, 1.0]),
            "backend": st.sampled_from(["one", "two", "three"]),
            "draft": st.sampled_from(["a", ""]),
            "mixed": st.just(True),
            "overlap": st.booleans(),
            "no-cache": st.just(True),
        },
    ),
    st.fixed_dictionaries(
        {}, optional={"ACME": st.sampled_from(["1", "true", "0"]), "ACME_N": st.sampled_from(["1", "4"])}
    ),
)
GROUND = ground_of(Playbook("p", flags={"model-path": "m"}), Engine("pass", FLAGS).world)


def condition(engine: Engine, failed: Settings) -> Condition | None:
    found = engine.diagnosed(failed)
    return found.constraint.fails if found and found.constraint else None


@pytest.mark.parametrize("checks", CHECKS.values(), ids=CHECKS)
@given(failed=GIVEN, others=st.lists(GIVEN, min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_no_condition_ever_excludes_settings_that_the_engine_takes(
    checks: str, failed: Settings, others: list[Settings]
) -> None:
    engine = Engine(checks, FLAGS)
    read = condition(engine, failed)

    for other in others if read else ():
        excluded = read is not None and GROUND.broken(read, GROUND.names.view(other))
        assert not excluded or engine.refuses(other), (failed, other)


@pytest.mark.parametrize(
    ("checks", "failed", "as_well", "exact"),
    [
        ("a relation of two flags", {"chunk": 10, "page-size": 4}, {"chunk": 7, "page-size": 3}, True),
        ("a bound", {"most": 17}, {"most": 1}, True),
        ("one of some", {"backend": "three", "mixed": True}, {"backend": "three", "mixed": True, "chunk": 1}, True),
        ("truth and lack", {"draft": "a"}, {"draft": "b", "chunk": 3, "mixed": True}, True),
        ("a number of the environment", {"page-size": 2}, {"page-size": 1}, True),
        ("a field that is rewritten", {"mixed": True, "draft": "a"}, {"page-size": 4, "draft": "b"}, False),
    ],
)
def test_a_condition_excludes_what_breaks_it_in_other_ways(
    checks: str, failed: dict[str, int], as_well: dict[str, int], exact: bool
) -> None:
    read = condition(Engine(CHECKS[checks], FLAGS), Settings({"model-path": "m", **failed}))

    assert read
    assert read.exact is exact
    assert GROUND.broken(read, GROUND.names.view(Settings({"model-path": "m", **as_well})))


def test_values_that_the_engine_printed_are_those_that_were_given() -> None:
    engine = Engine(CHECKS["one of some"], FLAGS)
    printed = "server_args=ServerArgs(page_size=1, backend='three', mixed=True, most=48, cache=True)"

    found = engine.diagnosed(Settings({"model-path": "m", "backend": "three", "mixed": True}), before=printed)

    assert found
    assert found.constraint
    assert found.constraint.fails
    assert GROUND.broken(found.constraint.fails, GROUND.names.view(Settings({"backend": "three", "mixed": True})))
    assert not GROUND.broken(found.constraint.fails, GROUND.names.view(Settings({"backend": "three"})))


def test_what_cannot_be_read_is_no_condition() -> None:
    assert (
        condition(Engine(CHECKS["what cannot be read"], FLAGS), Settings({"model-path": "m", "page-size": 4})) is None
    )


def test_values_that_break_a_known_condition_are_not_launched() -> None:
    checks = "if self.most < 48:\n    raise ValueError('few')\nif self.chunk > self.most:\n    raise ValueError('more')"
    book = Playbook("p", flags={"model-path": "m", "most": 10, "chunk": 64})

    attempts, _ = Engine(checks, FLAGS).played(book)

    assert [a.outcome for a in attempts] == ["crashed", "crashed", "healthy"]
    assert attempts[-1].settings.flags["most"] == attempts[-1].settings.flags["chunk"] == 64


def test_a_condition_that_nothing_can_meet_is_proved_by_one_launch() -> None:
    book = Playbook("p", flags={"model-path": "m", "most": 10}, protect_flags=frozenset({"most"}))

    attempts, end = Engine("assert self.most % 3 == 0 or self.most > 30", FLAGS).played(book)

    assert isinstance(end, Exhausted)
    assert len(attempts) == 1


def test_a_nogood_says_the_condition_and_keeps_it() -> None:
    book = Playbook("p", flags={"model-path": "m", "chunk": 10, "page-size": 4})
    engine = Engine(CHECKS["a relation of two flags"], FLAGS)
    plan = engine.planned(book, engine.played(book)[0][:1])

    nogood = next(n for n in plan.nogoods if n.fails)

    assert nogood.when == "--chunk is given and --chunk is not a multiple of --page-size"
    assert nogood.hard
    assert from_json(Nogood, to_json(nogood)).fails == nogood.fails
