"""Whole runs over a scripted host."""

from dataclasses import replace

import pytest

from relight.hosts.values import HttpAnswer, HttpRequest, LaunchOrder, Stopped
from relight.journal.journal import Journal
from relight.testing import Act
from relight.words.errors import BusyError, UsageError
from relight.words.host import Gpu, GpuProcess, Listener
from relight.words.playbook import Variant
from tests.attempts.conftest import PORT, Bench, book, crashed, generated, healthy, lever, sound

BACKEND = (
    "[2026-11-29 10:00:01 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
    '  File "/opt/e/sglang/srt/layers/attention/attention_registry.py", line 9, in build\n'
    "    raise ValueError(text)\n"
    "ValueError: TRTLLM MHA backend is only supported on Blackwell GPUs (SM100). Please use a different backend.\n"
    "[2026-11-29 10:00:01] Received sigquit from a child process. It usually means the child failed.\n"
)
NOT_FOUND = (
    "Traceback (most recent call last):\n"
    '  File "/opt/e/sglang/srt/utils/hf_transformers_utils.py", line 9, in get_config\n'
    "    config = AutoConfig.from_pretrained(model)\n"
    "OSError: /data/m does not appear to have a file named config.json.\n"
)


def without_trtllm(order: LaunchOrder) -> Act:
    """Play an engine on which only trtllm_mha fails."""
    return crashed(BACKEND, code=None, signal=9) if "trtllm_mha" in order.argv else healthy()


def test_a_server_that_starts_is_healthy_after_one_launch(bench: Bench) -> None:
    record = bench.run(book(), lambda _: healthy())

    assert (record.state, len(record.attempts)) == ("healthy", 1)
    assert record.final
    assert record.final.argv == ("--model-path", "m", "--port", str(PORT))
    assert bench.host.played[f"{record.run}.1"].settled


def test_a_failing_variant_is_replaced_by_the_next_one(bench: Bench) -> None:
    attention = lever(
        "attention", Variant({"attention-backend": "trtllm_mha"}), Variant({"attention-backend": "triton"}), keep=2
    )

    record = bench.run(book(levers=(attention,)), without_trtllm)

    assert record.state == "healthy"
    assert [a.outcome for a in record.attempts if a.launched] == ["crashed", "healthy"]
    assert record.final
    assert record.final.levers[0].kept == 2


def test_a_healthy_run_tells_what_became_of_every_option(bench: Bench) -> None:
    attention = lever(
        "attention", Variant({"attention-backend": "trtllm_mha"}), Variant({"attention-backend": "triton"}), keep=2
    )

    record = bench.run(book(levers=(attention,)), without_trtllm)

    status = {option.change: (option.status, option.why) for option in record.options}
    assert status["attention: variant 1"] == ("tried", "attempt 1: args.conflict")
    assert status["attention: variant 2"] == ("tried", "in the healthy settings, since attempt 2")
    assert status["--model-path"] == ("protected", "never changed")


def test_the_stored_log_is_the_host_s_log_to_the_byte(bench: Bench) -> None:
    record = bench.run(book(), lambda _: healthy())

    stored = (bench.folder / record.attempts[0].log).read_bytes()

    assert stored == bench.host.log_of(f"{record.run}.1")


def test_a_missing_model_needs_a_person_and_leaves_nothing_running(bench: Bench) -> None:
    record = bench.run(book(), lambda _: crashed(NOT_FOUND))

    assert record.state == "person"
    assert not [p for p in bench.host.processes() if p.ours]
    assert bench.host.locks == {}


def test_a_server_that_answers_nonsense_is_not_healthy(bench: Bench) -> None:
    def nonsense(request: HttpRequest) -> HttpAnswer:
        return generated(request, "!!!!", float("nan")) if request.url.endswith("/generate") else sound(request)

    def play(order: LaunchOrder) -> Act:
        return healthy() if "triton" in order.argv else replace(healthy(), answers=nonsense)

    record = bench.run(book(flags={"model-path": "m", "port": PORT, "attention-backend": "flashinfer"}), play)

    assert record.attempts[0].outcome == "sick"
    assert record.attempts[0].diagnosis
    assert record.attempts[0].diagnosis.cause
    assert record.attempts[0].diagnosis.cause.kind == "numerics.nan"
    assert record.state == "healthy"


def test_deploy_launches_once_and_says_what_it_would_do_next(bench: Bench) -> None:
    bench.order = {"mode": "deploy"}

    record = bench.run(book(flags={"model-path": "m", "port": PORT, "attention-backend": "trtllm_mha"}), without_trtllm)

    assert (record.state, len(record.attempts)) == ("failed", 1)
    assert record.next.startswith("launch")


def test_a_typo_is_refused_before_anything_is_launched(bench: Bench) -> None:
    with pytest.raises(UsageError, match="attenton-backend"):
        bench.run(book(flags={"model-path": "m", "port": PORT, "attenton-backend": "trtllm_mha"}), lambda _: healthy())

    assert bench.host.orders == ()


def test_a_held_port_is_busy_and_names_the_run(bench: Bench) -> None:
    first = bench.run(book(), lambda _: healthy())

    with pytest.raises(BusyError, match=first.run):
        bench.run(book())

    assert len(bench.host.orders) == 1


def test_replace_stops_the_earlier_server_and_says_so_in_its_record(bench: Bench) -> None:
    first = bench.run(book(), lambda _: healthy())
    earlier = bench.folder
    bench.order = {"replace": True}

    second = bench.run(book())

    assert second.state == "healthy"
    assert bench.host.played[f"{first.run}.1"].stopped is not None
    with Journal(earlier) as journal:
        assert journal.record.state == "replaced"


def test_replace_stops_no_server_of_a_run_on_which_another_relight_works(bench: Bench) -> None:
    first = bench.run(book(), lambda _: healthy())
    bench.order = {"replace": True}

    with Journal(bench.folder), pytest.raises(BusyError, match="another relight"):
        bench.run(book())

    assert bench.host.played[f"{first.run}.1"].stopped is None


def test_what_strangers_took_of_a_card_is_known_beside_a_server_that_was_replaced(bench: Bench) -> None:
    """The first look saw the earlier server's process; it is no stranger that went away."""
    first = bench.run(book(), lambda _: healthy())
    host, card = bench.host, Gpu(0, "card", 96_000, 80_000)
    ours, stranger = GpuProcess(host.played[f"{first.run}.1"].pid, 80_000), GpuProcess(7, 20_000, "stranger")
    stop = host.stop

    def stopped(attempt_id: str, **more: float) -> Stopped:
        host.cards = (replace(card, memory_used=20_000, processes=(stranger,)),)
        return stop(attempt_id, **more)

    host.cards, bench.order = (replace(card, processes=(ours,)),), {"replace": True}
    host.stop = stopped  # type: ignore[method-assign]
    record = bench.run(book())

    assert (record.state, record.reason) == ("healthy", "the server answers correctly")


def test_a_model_whose_path_is_not_on_the_host_needs_a_person_before_any_launch(bench: Bench) -> None:
    record = bench.run(book(flags={"model-path": "/models/away", "port": PORT}), lambda _: healthy())

    assert (record.state, record.attempts[0].outcome) == ("person", "rejected")
    assert bench.host.orders == ()
    assert record.attempts[0].diagnosis
    assert record.attempts[0].diagnosis.cause
    assert record.attempts[0].diagnosis.cause.kind == "model.not_found"
    assert "/models/away" in record.reason + record.next + record.attempts[0].diagnosis.cause.text


def test_a_model_whose_path_is_on_the_host_is_launched(bench: Bench) -> None:
    host = bench.scripted(lambda _: healthy())
    host.files["/models/here/config.json"] = b"{}"

    record = bench.run(book(flags={"model-path": "/models/here", "port": PORT}))

    assert record.state == "healthy"


def test_a_protected_port_that_a_stranger_holds_needs_a_person(bench: Bench) -> None:
    host = bench.scripted(lambda _: healthy())
    host.foreign_listeners = (Listener(PORT, "0.0.0.0", 77, "nginx"),)  # noqa: S104  what a probe reports

    record = bench.run(book())

    assert record.state == "person"
    assert "nginx (pid 77)" in record.reason
    assert host.orders == ()


def test_with_port_allowed_another_port_is_used(bench: Bench) -> None:
    host = bench.scripted(lambda _: healthy())
    host.foreign_listeners = (Listener(PORT, "0.0.0.0", 77, "nginx"),)  # noqa: S104  what a probe reports

    record = bench.run(book(allow_flags=frozenset({"port"})))

    assert record.state == "healthy"
    assert record.final
    assert record.final.argv[-1] != str(PORT)


def test_a_run_broken_off_in_mid_start_goes_on_with_the_same_server(bench: Bench) -> None:
    host = bench.scripted(lambda _: healthy())
    pulled = host.follow

    def interrupted(*_: object) -> object:
        host.follow = pulled  # type: ignore[method-assign]
        raise KeyboardInterrupt

    host.follow = interrupted  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        bench.run(book())
    with Journal(bench.folder) as journal:
        state = journal.record.state
        record = bench.go_on(book(), journal)

    assert state == "interrupted"
    assert (record.state, len(record.attempts), len(host.orders)) == ("healthy", 1, 1)


def test_a_second_run_of_the_same_playbook_knows_what_works(bench: Bench) -> None:
    attention = lever(
        "attention", Variant({"attention-backend": "trtllm_mha"}), Variant({"attention-backend": "triton"})
    )
    bench.run(book(levers=(attention,)), without_trtllm)
    bench.order = {"replace": True}

    second = bench.run(book(levers=(attention,)))

    assert second.state == "healthy"
    assert len([a for a in second.attempts if a.launched]) == 1


def test_a_run_that_found_the_host_busy_holds_nothing(bench: Bench) -> None:
    bench.run(book(), lambda _: healthy())

    with pytest.raises(BusyError):
        bench.run(book())

    assert bench.host.locks == {}
