"""How a server ended is evidence where its log names no cause, and only there."""

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis.diagnose import diagnose
from relight.diagnosis.ending import Ended
from relight.logs.lines import Line
from relight.words.attempt import Exit
from relight.words.diagnosis import Diagnosis
from relight.words.knowledge import Knowledge

AT = "[2026-11-29 10:00:00] "
STARTED = f"{AT}Load weight begin. avail mem=94.60 GB"
READY = f"{AT}The server is fired up and ready to roll!"
LEAKED = "resource_tracker: There appear to be 1 leaked semaphore objects to clean up at shutdown"
CHILD = f"{AT}Subprocess scheduler_0 (pid=7) crashed with exit code -9. Triggering SIGQUIT for cleanup..."
QUIT = f"{AT}Received sigquit from a child process. It usually means the child failed."
KILLED = Exit(None, 9)


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return load_knowledge()


def told(knowledge: Knowledge, *log: str, exit_: Exit | None = KILLED, oom_kills: int | None = 0) -> Diagnosis:
    lines = [Line(i, 100 * i, text) for i, text in enumerate(log, start=1)]
    return diagnose(lines, knowledge, name="server.log", argv=("--x",), ended=Ended(exit_, oom_kills=oom_kills))


def kind_and_action(found: Diagnosis) -> tuple[str, str]:
    assert found.cause
    return found.cause.kind, found.action


@pytest.mark.parametrize("log", [(STARTED,), (STARTED, READY), (STARTED, READY, LEAKED)])
def test_a_main_process_that_is_killed_is_named_by_its_signal(knowledge: Knowledge, log: tuple[str, ...]) -> None:
    found = told(knowledge, *log)

    assert kind_and_action(found) == ("process.killed", "again")
    assert found.cause
    assert found.cause.facts["signal"] == 9
    assert "Somebody outside" in found.cause.summary


@pytest.mark.parametrize("number", [15, 1, 2])
def test_signals_that_only_somebody_sends_are_named_too(knowledge: Knowledge, number: int) -> None:
    assert kind_and_action(told(knowledge, STARTED, exit_=Exit(None, number))) == ("process.killed", "again")


@pytest.mark.parametrize("number", [6, 11])
def test_signals_of_native_code_are_its_own_fault(knowledge: Knowledge, number: int) -> None:
    assert kind_and_action(told(knowledge, STARTED, exit_=Exit(None, number))) == ("kernel.segfault", "change")


def test_a_child_killed_from_outside_is_no_fault_of_the_settings(knowledge: Knowledge) -> None:
    found = told(knowledge, STARTED, CHILD, QUIT)

    assert kind_and_action(found) == ("process.killed", "again")
    assert found.cause
    assert (found.cause.line, found.cause.text) == (2, CHILD)


def test_a_child_that_the_kernel_killed_wanted_memory_though_its_log_may_not_be_read(knowledge: Knowledge) -> None:
    assert kind_and_action(told(knowledge, STARTED, CHILD, QUIT, oom_kills=1)) == ("oom.host", "change")
    assert kind_and_action(told(knowledge, STARTED, oom_kills=2)) == ("oom.host", "change")


def test_a_kernel_that_does_not_count_leaves_a_killed_child_as_its_log_tells_it(knowledge: Knowledge) -> None:
    assert kind_and_action(told(knowledge, STARTED, CHILD, QUIT, oom_kills=None)) == ("process.killed", "change")
    assert kind_and_action(told(knowledge, STARTED, oom_kills=None)) == ("process.killed", "again")


def test_a_server_that_takes_itself_down_was_not_killed_by_anybody(knowledge: Knowledge) -> None:
    assert kind_and_action(told(knowledge, STARTED, QUIT))[0] == "comm.peer_died"


def test_a_rank_that_is_only_seen_to_be_gone_wanted_memory_where_the_kernel_killed_for_it(knowledge: Knowledge) -> None:
    seen = "relight: hung: load_weights: a rank died and its parent did not notice: sglang::scheduler_TP3 (pid 4711)"
    killed = "Out of memory: Killed process 4711 (sglang::schedul) total-vm:90000000kB, anon-rss:60000000kB"
    lines = [Line(1, 0, STARTED), Line(2, -1, seen)]

    for ended in (Ended(oom_kills=1), Ended(kernel=(killed,))):
        found = diagnose(lines, knowledge, name="server.log", argv=("--x",), ended=ended)
        assert kind_and_action(found) == ("oom.host", "change")
    assert kind_and_action(diagnose(lines, knowledge, name="server.log", argv=("--x",), ended=Ended(oom_kills=0))) == (
        "process.killed",
        "again",
    )


def test_a_cause_that_the_log_names_stands(knowledge: Knowledge) -> None:
    memory = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."

    assert kind_and_action(told(knowledge, STARTED, memory, QUIT))[0].startswith("oom.gpu")
    assert kind_and_action(told(knowledge, STARTED, memory))[0].startswith("oom.gpu")


def test_a_server_that_ended_well_has_no_cause(knowledge: Knowledge) -> None:
    assert told(knowledge, STARTED, READY, exit_=Exit(0, None)).cause is None
