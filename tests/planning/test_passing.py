from dataclasses import replace

from relight.words.attempt import Attempt
from relight.words.diagnosis import Diagnosis
from relight.words.settings import Repair
from relight.words.signature import Remedy, Signature
from relight.words.step import Clean, Exhausted, Launch, Person, Spent, Wait
from tests.planning.situations import (
    KNOWLEDGE,
    WORLD,
    attempt,
    budget,
    cause,
    diagnosis,
    launch,
    lever,
    plan,
    playbook,
    variant,
)

SPEC = lever("spec", variant({"speculative-algorithm": "NEXTN"}), "off")
BOOK = playbook(SPEC)


def failed(found: Diagnosis, count: int = 1) -> list[Attempt]:
    return [attempt(launch(BOOK), "crashed", found)] * count


def test_a_transient_failure_is_launched_again_unchanged_at_most_twice() -> None:
    again = diagnosis(cause("comm.timeout", blames=("speculative-algorithm",)), action="again")

    assert launch(BOOK, *failed(again, 1)).choice == {"spec": 1}
    assert launch(BOOK, *failed(again, 2)).choice == {"spec": 1}
    assert launch(BOOK, *failed(again, 3)).choice == {"spec": None}


def test_what_came_back_every_time_with_some_settings_is_not_tried_again_with_others() -> None:
    again = diagnosis(cause("comm.peer_died"), action="again")
    book = playbook(SPEC, lever("comm", variant({"enable-mscclpp": True}), "off"))
    first = [attempt(launch(book), "crashed", again)] * 3
    second = launch(book, *first)

    third = launch(book, *first, attempt(second, "crashed", again))

    assert third.settings not in (first[0].settings, second.settings)


def test_leftovers_are_cleared_before_the_same_settings_again() -> None:
    leftovers = diagnosis(cause("oom.gpu.other_process"), action="clean")

    assert isinstance(plan(BOOK, *failed(leftovers)).step, Clean)
    assert isinstance(plan(BOOK, *failed(leftovers), world=replace(WORLD, settled=1)).step, Launch)


def test_a_remedy_that_waits_is_waited_for() -> None:
    signature = Signature("s-comm.timeout", "t", "comm.timeout", action="again", remedies=(Remedy(wait=60.0),))
    world = replace(WORLD, knowledge=replace(KNOWLEDGE, signatures=(signature,)))
    found = diagnosis(cause("comm.timeout", signature="s-comm.timeout"), action="again")

    assert plan(BOOK, *failed(found), world=world).step == Wait(60.0, "comm.timeout")


def test_a_silent_hang_is_never_transient() -> None:
    hung = attempt(launch(BOOK), "hung", diagnosis(cause("hang.startup"), action="again"))

    assert launch(BOOK, hung).choice != {"spec": 1}


def test_what_no_setting_can_mend_goes_to_a_person_at_once() -> None:
    step = plan(BOOK, *failed(diagnosis(cause("model.auth"), action="person"))).step

    assert isinstance(step, Person)
    assert step.because == "model.auth"
    assert step.next


def test_a_person_is_not_called_while_a_blamed_flag_may_be_changed() -> None:
    found = diagnosis(cause("env.import", blames=("speculative-algorithm",)), action="person")

    assert launch(BOOK, *failed(found)).choice == {"spec": None}


def test_kinds_that_depend_on_settings_never_go_to_a_person() -> None:
    step = plan(BOOK, *failed(diagnosis(cause("kernel.no_image"), action="person"))).step

    assert isinstance(step, Launch)


def test_a_foreign_process_on_the_port_is_named_to_a_person() -> None:
    taken = diagnosis(cause("comm.port_in_use", blames=("port",)), action="again")
    step = plan(BOOK, *failed(taken), world=replace(WORLD, port_holder="nginx (pid 7)")).step

    assert isinstance(step, Person)
    assert "nginx (pid 7)" in step.because


def test_a_foreign_process_that_holds_the_memory_is_named_to_a_person_without_another_launch() -> None:
    taken = diagnosis(cause("oom.gpu.other_process"), action="clean")
    held = replace(WORLD, memory_holder="trainer (pid 7): 60.5 GiB of GPU 2")

    step = plan(BOOK, *failed(taken), world=held).step

    assert isinstance(step, Person)
    assert "trainer (pid 7): 60.5 GiB of GPU 2" in step.because
    assert isinstance(plan(BOOK, *failed(taken)).step, Clean)


def test_another_port_is_taken_where_the_playbook_allows_it() -> None:
    book = playbook(SPEC, allow_flags=frozenset({"port"}))
    taken = diagnosis(cause("comm.port_in_use", blames=("port",)), Repair({"port": 31000}), action="again")
    world = replace(WORLD, port_holder="nginx (pid 7)")

    candidate = launch(book, attempt(launch(book), "crashed", taken), world=world)

    assert candidate.settings.flags["port"] == 31000
    assert candidate.choice == {"spec": 1}


def test_the_budget_ends_a_run_with_options_left_as_spent() -> None:
    book = playbook(SPEC, budget=budget(attempts=1))
    crash = attempt(launch(book), "crashed", diagnosis(cause("kernel.gemm", blames=("speculative-algorithm",))))

    assert isinstance(plan(book, crash).step, Spent)
    assert isinstance(plan(book, crash, world=replace(WORLD, max_attempts=2)).step, Launch)
    assert isinstance(plan(book, world=replace(WORLD, spent_seconds=9.0, deadline=8.0)).step, Spent)


def test_a_run_without_options_is_exhausted_even_when_the_budget_is_spent() -> None:
    book = playbook(budget=budget(attempts=1), protect_flags=frozenset({"tp-size"}))
    crash = attempt(launch(book), "crashed", diagnosis(cause("kernel.no_image", blames=("tp-size",))))

    assert isinstance(plan(book, crash).step, Exhausted)
