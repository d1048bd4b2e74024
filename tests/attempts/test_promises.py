"""What a run promises: what it leaves running, which time counts, what it refuses."""

from dataclasses import replace
from pathlib import Path

import pytest

from relight.hosts.values import HostError, HttpAnswer, HttpRequest, LaunchOrder
from relight.testing import Act
from relight.words.errors import UsageError
from relight.words.host import SecretSource
from relight.words.playbook import Budget, Health, Variant
from tests.attempts.conftest import PORT, READY, Bench, book, crashed, healthy, lever, sound
from tests.attempts.test_loop import BACKEND

FLAGS = {"model-path": "m", "port": PORT, "attention-backend": "trtllm_mha"}
DOWNLOAD = "Downloading shards:  {}%|###       | {}/4 [00:10<00:30, 10.0s/it]\n"


def failing(order: LaunchOrder) -> Act:  # noqa: ARG001  every launch fails alike
    return crashed(BACKEND, code=None, signal=9)


def running(bench: Bench) -> list[str]:
    return [p.command for p in bench.host.processes() if p.ours]


def test_nothing_runs_after_every_option_has_been_tried(bench: Bench) -> None:
    record = bench.run(book(flags=FLAGS, protect_flags=frozenset({"attention-backend"}), protect_others=True), failing)

    assert (record.state, record.final) == ("exhausted", None)
    assert running(bench) == []
    assert bench.host.locks == {}


def test_nothing_runs_after_the_budget_is_spent_and_options_are_left(bench: Bench) -> None:
    record = bench.run(book(flags=FLAGS, budget=Budget(attempts=1)), failing)

    assert (record.state, record.final, sum(a.launched for a in record.attempts)) == ("budget", None, 1)
    assert running(bench) == []
    assert bench.host.locks == {}


def test_a_healthy_state_is_restored_when_winning_a_lever_back_fails(bench: Bench) -> None:
    graphs = lever("graphs", Variant({"attention-backend": "trtllm_mha"}), Variant(off=True))

    def play(order: LaunchOrder) -> Act:
        return failing(order) if "trtllm_mha" in order.argv else healthy()

    record = bench.run(book(levers=(graphs,), budget=Budget(win_back=2)), play)

    assert record.state == "healthy"
    assert record.attempts[-1].outcome == "healthy"
    assert "trtllm_mha" not in bench.host.orders[-1].argv
    assert running(bench)


def test_a_download_does_not_count_for_the_deadline_of_a_start(bench: Bench) -> None:
    steps = tuple((60.0 * n, DOWNLOAD.format(n * 25, n)) for n in range(1, 5))
    log = "[2026-11-29 10:00:00] Load weight begin. avail mem=94.60 GB\n"
    slow = Act(DOWNLOAD.format(0, 0), later=(*steps, (250.0, log), (260.0, f"[2026-11-29 10:00:03] {READY}")),
               listens=255.0, answers=sound)  # fmt: skip

    record = bench.run(book(health=Health(judge="shape", soak=0.0, deadline=120.0)), lambda _: slow)

    assert record.state == "healthy"
    assert "download" in {phase.name for phase in record.attempts[0].phases}


BLOBS = "/home/tester/.cache/huggingface/hub/models--owner--m/blobs"


@pytest.mark.parametrize(
    ("growing", "outcome"),
    [({f"{BLOBS}/ab12.incomplete": 1e6}, "healthy"), ({f"{BLOBS}/ab12": 1e6}, "hung"), ({}, "hung")],
)
def test_a_fetch_that_shows_no_bar_is_seen_by_its_growing_files(
    bench: Bench, growing: dict[str, float], outcome: str
) -> None:
    log = "[2026-11-29 10:00:00] Load weight begin. avail mem=94.60 GB\n"
    slow = Act(log, later=((300.0, f"[2026-11-29 10:00:03] {READY}"),), listens=300.0, answers=sound)
    bench.scripted(lambda _: slow).growing = growing
    asked = book(
        flags={"model-path": "owner/m", "port": PORT},
        health=Health(judge="shape", soak=0.0, deadline=120.0),
        budget=Budget(attempts=1),
    )

    record = bench.run(asked)

    assert record.attempts[0].outcome == outcome
    assert ("download" in {phase.name for phase in record.attempts[0].phases}) == (outcome == "healthy")


def test_a_download_has_a_limit_of_its_own(bench: Bench) -> None:
    steps = tuple((60.0 * n, DOWNLOAD.format(n, 1)) for n in range(1, 50))
    short = Health(judge="shape", soak=0.0, download=300.0)

    record = bench.run(book(health=short, budget=Budget(attempts=1)), lambda _: Act("", later=steps, listens=9e9))

    assert record.attempts[0].outcome == "hung"
    assert "not fetched within 300 s" in " ".join(record.attempts[0].remarks)


def test_a_start_that_takes_longer_than_the_deadline_is_hung(bench: Bench) -> None:
    log = "[2026-11-29 10:00:00] Load weight begin. avail mem=94.60 GB\n"
    slow = Act(log, later=tuple((30.0 * n, f"[2026-11-29 10:00:00] step {n}\n") for n in range(1, 99)), listens=9e9)
    late = book(health=Health(judge="shape", soak=0.0, deadline=120.0), budget=Budget(attempts=1))

    record = bench.run(late, lambda _: slow)

    assert record.attempts[0].outcome == "hung"
    assert running(bench) == []


def test_the_first_event_is_the_start_and_the_last_the_end(bench: Bench) -> None:
    bench.run(book(), lambda _: healthy())

    assert (bench.events[0].event, bench.events[-1].event) == ("run_started", "run_ended")


def test_secret_flags_are_refused_before_anything_is_launched_where_no_file_can_carry_them(bench: Bench) -> None:
    host = bench.scripted(lambda _: healthy())
    host.spec = replace(host.spec, secret_flags={"api-key": SecretSource("env", "ANY")})
    host.version = "0.5.4"

    with pytest.raises(UsageError, match=r"0\.5\.5\.post3"):
        bench.run(book())

    assert host.orders == ()


def test_the_key_of_the_server_goes_with_every_question(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("planted-key")
    tokens: set[str] = set()

    def answers(request: HttpRequest) -> HttpAnswer:
        tokens.add(request.token.reveal() if request.token else "")
        return sound(request)

    host = bench.scripted(lambda _: replace(healthy(), answers=answers))
    host.spec = replace(host.spec, secret_flags={"api-key": SecretSource("file", str(tmp_path / "key"))})

    assert bench.run(book()).state == "healthy"
    assert tokens == {"planted-key"}


def test_a_host_that_cannot_be_asked_before_any_launch_needs_a_person(bench: Bench) -> None:
    host = bench.scripted(lambda _: healthy())

    def refused(*_: object, **__: object) -> None:
        raise HostError("the work folder cannot be made", place="box")

    host.gpus = refused  # type: ignore[method-assign,assignment]

    record = bench.run(book())

    assert (record.state, record.reason) == ("person", "the work folder cannot be made")
    assert host.orders == ()
