"""The bound of a remedy that moves a number: it ends the move, and is no reason for one the other way."""

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis.given import Given
from relight.diagnosis.remedies import repairs_from
from relight.words.parser import HostParser, ParserFlag
from relight.words.settings import FlagValue
from relight.words.signature import Remedy, Way

PARSER = HostParser((ParserFlag(("watchdog-timeout",), "watchdog_timeout", "float"),), "0.5.9")
LONGER = Remedy(set={"watchdog-timeout": 1200}, scale={"watchdog-timeout": 4}, bounds={"watchdog-timeout": (1, 1200)})


@pytest.mark.parametrize(
    ("given", "wanted"), [(None, [1200]), (100, [400]), (300, [1200]), (600, [1200]), (1200, []), (3600, [])]
)
def test_a_number_is_moved_up_to_the_bound_and_never_back_to_it(given: FlagValue | None, wanted: list[int]) -> None:
    flags: dict[str, FlagValue] = {"model-path": "m"} | ({} if given is None else {"watchdog-timeout": given})

    found = repairs_from([LONGER], {}, Given(flags, parser=PARSER), None)

    assert [r.set["watchdog-timeout"] for r in found] == wanted


EXCHANGE = "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK"
WIDER = Remedy(set_env={EXCHANGE: "512"}, scale={EXCHANGE: 2}, bounds={EXCHANGE: (1, 1024)})


@pytest.mark.parametrize(
    ("given", "wanted"), [(None, ["512"]), ("128", ["256"]), ("512", ["1024"]), ("1024", []), ("2048", [])]
)
def test_a_variable_is_moved_from_the_value_in_use_like_a_flag(given: str | None, wanted: list[str]) -> None:
    env = {} if given is None else {EXCHANGE: given}

    found = repairs_from([WIDER], {}, Given({"model-path": "m"}, env, parser=PARSER), None)

    assert [r.set_env[EXCHANGE] for r in found] == wanted


@pytest.mark.parametrize(
    ("way", "given", "wanted"),
    [
        ("up", None, [600]),
        ("up", 300, [600]),
        ("up", 900, []),
        ("down", 900, [600]),
        ("down", 300, []),
        ("up", 600, []),
    ],
)
def test_a_number_that_moves_one_way_only_is_left_alone_where_it_is_beyond(
    way: Way, given: FlagValue | None, wanted: list[int]
) -> None:
    remedy = Remedy(set={"watchdog-timeout": 600}, only={"watchdog-timeout": way})
    flags: dict[str, FlagValue] = {"model-path": "m"} | ({} if given is None else {"watchdog-timeout": given})

    found = repairs_from([remedy], {}, Given(flags, parser=PARSER), None)

    assert [r.set["watchdog-timeout"] for r in found] == wanted


def test_what_is_set_where_no_value_is_known_is_no_reason_to_move_a_printed_one_back() -> None:
    lower = Remedy(
        set={"watchdog-timeout": 600}, scale={"watchdog-timeout": 0.5}, bounds={"watchdog-timeout": (400, 900)}
    )

    assert repairs_from([lower], {}, Given({}, fields={"watchdog_timeout": 300}, parser=PARSER), None) == []


SHIPPED = load_knowledge(())
REMEDIES = [
    *((s.id, r) for s in SHIPPED.signatures for r in s.remedies),
    *((a.name, r) for a in SHIPPED.areas.all for r in a.remedies),
]
SIZES = {
    "dist-timeout", "watchdog-timeout", "mem-fraction-static", "hicache-ratio", "hicache-size", "max-running-requests",
    "max-total-tokens", "max-mamba-cache-size", "cuda-graph-max-bs", "swa-full-tokens-ratio", "mamba-full-memory-ratio",
    "NCCL_BUFFSIZE", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", EXCHANGE, "SGLANG_FLASHINFER_WORKSPACE_SIZE",
}  # fmt: skip
"""Numbers of which more, or less, is what helps: a remedy must say which."""


def test_every_shipped_remedy_says_which_way_it_moves_a_size() -> None:
    silent = [(w, n) for w, r in REMEDIES for n in {*r.set, *r.set_env} & SIZES if r.way(n) is None]

    assert silent == []


@pytest.mark.parametrize("now", [0.02, 0.5, 0.97, 1, 48, 999, 5000, 1 << 33])
def test_no_shipped_remedy_moves_a_number_the_other_way(now: float) -> None:
    assert [(where, names) for where, remedy in REMEDIES if (names := _moved_back(remedy, now))] == []


def _moved_back(remedy: Remedy, now: float) -> list[str]:
    """Return the names that a remedy moves the wrong way from `now`."""
    ways = {n: way for n in {*remedy.set, *remedy.set_env, *remedy.scale, *remedy.add} if (way := remedy.way(n))}
    flags: dict[str, FlagValue] = {"model-path": "m", **{n: now for n in ways if not n.isupper()}}
    env = {n: str(now) for n in ways if n.isupper()}
    made = [{**r.set, **r.set_env} for r in repairs_from([remedy], {}, Given(flags, env), None)]
    moved = [(n, float(str(value))) for changes in made for n, value in changes.items() if n in ways]
    return [n for n, value in moved if (value <= now if ways[n] == "up" else value >= now)]
