"""The double behaves like a host would, in no time at all."""

import pytest

from relight.hosts.interface import HostError, HttpAnswer, HttpRequest, LaunchOrder, Leftover, Owner
from relight.testing import Act, ManualClock, ScriptedHost, TooManyQuestionsError
from relight.words.attempt import Exit

ME, YOU = Owner("a", "ada", "laptop", 1), Owner("b", "bob", "desk", 2)


def order(attempt: str = "run-1", port: int | None = 30000) -> LaunchOrder:
    return LaunchOrder(attempt, ["--tp-size", "8"], run="run", port=port)


def test_a_launch_plays_its_act_once_however_often_it_is_sent() -> None:
    host = ScriptedHost(lambda _: Act("begin\n"))

    first, second = host.launch(order()), host.launch(order())

    assert (first.again, second.again, first.pid) == (False, True, second.pid)
    assert [o.attempt_id for o in host.orders] == ["run-1"]


def test_an_act_may_depend_on_the_settings() -> None:
    host = ScriptedHost(lambda o: Act(exit=Exit(1)) if "--tp-size" in o.argv else Act())

    host.launch(order())
    host.launch(LaunchOrder("run-2", []))

    assert [host.status(n).state for n in ("run-1", "run-2", "run-3")] == ["ended", "running", "none"]


def test_a_log_grows_with_the_clock_and_reading_it_lets_time_pass() -> None:
    host = ScriptedHost(lambda _: Act("one\n", later=((5.0, "two\n"), (9.0, "never\n")), exit=Exit(None, 9), ends=7.0))
    host.launch(order())
    stream = host.follow("run-1", 0)

    assert stream.read(1.0) == b"one\n"
    assert stream.read(6.0) == b"two\n"
    assert host.status("run-1").exit == Exit()
    assert stream.read(6.0) == b""
    assert host.clock.monotonic() == 12.0
    assert host.status("run-1").exit == Exit(None, 9)
    assert host.status("run-1").log_size == 8


def test_a_server_listens_and_answers_from_its_time_on() -> None:
    act = Act(listens=3.0, answers=lambda request: HttpAnswer(200, body=request.url.encode()))
    host = ScriptedHost(lambda _: act)
    host.launch(order())
    assert (host.http(HttpRequest("u")).error, host.listeners()) == ("refused", ())

    host.clock.advance(3.0)

    assert host.http(HttpRequest("u")).body == b"u"
    assert [(x.port, x.pid) for x in host.listeners()] == [(30000, host.status("run-1").pid)]
    assert [p.ours for p in host.processes()] == ["run-1"]


def test_a_stop_takes_patience_from_a_server_that_ignores_it() -> None:
    host = ScriptedHost(lambda o: Act(ignores_term=o.attempt_id == "run-1"))
    host.launch(order("run-1"))
    host.launch(order("run-2"))

    stubborn, meek = host.stop("run-1", patience=20), host.stop("run-2", patience=20)

    assert (stubborn.killed, stubborn.exit, meek.killed, meek.exit) == (True, Exit(None, 9), False, Exit(None, 15))
    assert 20 < host.clock.monotonic() < 21
    assert host.status("run-1").stopped
    assert host.stop("run-1").killed is False


def test_somebody_who_goes_round_in_circles_fails_instead_of_hanging() -> None:
    host = ScriptedHost(lambda _: Act(), limit=10)

    with pytest.raises(TooManyQuestionsError, match="more than 10"):
        all(host.status("run-1").state == "none" for _ in range(20))


def test_locks_name_their_holder() -> None:
    host = ScriptedHost(lambda _: Act())
    assert host.lock(ME, gpus=(0, 1), port=30000) == ()

    (held,) = host.lock(YOU, gpus=(1,), port=None)

    assert (held.what, held.owner) == ("gpu 1", ME)
    host.unlock(ME)
    assert host.lock(YOU, gpus=(1,), port=30000) == ()


def test_rubbish_is_cleared_unless_it_has_a_reason_to_stay() -> None:
    stuck = Leftover("process", "python", "run-1", 7, "uninterruptible")
    host = ScriptedHost(lambda _: Act(), rubbish=(Leftover("shm", "psm_x", "run-1"), stuck))

    assert host.clean(["run-1"]) == (stuck,)
    assert host.leftovers() == (stuck,)


def test_files_are_what_the_test_gave() -> None:
    host = ScriptedHost(lambda _: Act(), files={"/m/config.json": b"{}", "/m/a.safetensors": b"123"})

    assert host.source("/m/config.json") == "{}"
    assert host.source("/none") is None
    assert [e.name for e in host.list_dir("/m")] == ["a.safetensors", "config.json"]
    assert (host.stat("/m"), host.stat("/x")) != (None, None)
    with pytest.raises(HostError):
        host.run(["ls"])


def test_a_clock_keeps_what_was_slept_and_may_jump() -> None:
    clock = ManualClock(100.0)

    clock.sleep(2.5)
    clock.jump(-50)

    assert (clock.now(), clock.monotonic(), clock.slept) == (52.5, 2.5, [2.5])
