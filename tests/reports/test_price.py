"""What a healthy server cost is said in the verdict, not only in the details."""

from dataclasses import replace

from relight.reports import text
from relight.reports.blocks import words
from relight.reports.verdict import verdict, word_of
from relight.words.attempt import LeverState, Record
from relight.words.settings import Change, Repair
from tests.reports.stories import healthy


def with_levers(*levers: LeverState, changes: tuple[Repair, ...] = ()) -> Record:
    record = healthy()
    assert record.final
    last = replace(record.attempts[-1], changes=changes)
    return replace(record, final=replace(record.final, levers=levers), attempts=(*record.attempts[:-1], last))


def test_a_server_as_asked_has_no_price() -> None:
    record = with_levers(LeverState("spec", 1, 1, in_effect=True), LeverState("sym", 1, 1))

    assert word_of(record) == "Healthy"
    assert words(verdict(record)).endswith("with every lever as asked.")


def test_levers_that_moved_went_or_do_nothing_are_named_in_the_verdict() -> None:
    record = with_levers(
        LeverState("spec", 1, None), LeverState("attention", 1, 2), LeverState("sym", 1, 1, in_effect=False)
    )

    said = words(verdict(record))

    assert word_of(record) == "Healthy, at a price"
    assert "spec is off; sym is asked for and not in effect; attention is at a later variant" in said


def test_what_can_alter_answers_comes_first_and_last_on_the_terminal() -> None:
    fp8 = Repair(set={"kv-cache-dtype": "fp8_e4m3"}, gives_up="precision", alters_answers=True)
    record = with_levers(LeverState("spec", 1, 1), changes=(fp8, Repair(set={"x": 1}, gives_up="some speed")))

    said = words(verdict(record))
    last = " ".join(text.render_short(record).split())

    price = "at a price: --kv-cache-dtype fp8_e4m3 can alter answers and gives up precision; it gives up some speed."
    assert price in said
    assert last.endswith(f"Healthy, {price}")


def test_what_a_moved_lever_costs_is_told_with_the_lever_alone() -> None:
    moved = Repair(set={"attention-backend": "triton"}, origin="lever", gives_up="flashinfer")
    record = with_levers(LeverState("attention", 1, 2), changes=(moved,))

    assert "given up" not in words(verdict(record))


def test_several_costs_are_named_by_what_costs_them() -> None:
    changes = tuple(Repair(set={f"flag-{i}": i}, gives_up=f"much of thing {i}, and more") for i in range(2))
    record = with_levers(LeverState("spec", 1, 1), changes=changes)

    assert "something was given up by --flag-0 0 and --flag-1 1." in words(verdict(record))


def test_a_run_that_begins_elsewhere_says_that_an_earlier_one_spoke_against_what_was_asked() -> None:
    record = healthy()
    asked = record.attempts[0].settings.changed(Change(set={"other-flag": 1}))
    first = replace(record.attempts[0], because="as the playbook asks")

    told = " ".join(text.render(replace(record, asked=asked, attempts=(first, *record.attempts[1:]))).split())

    assert "What an earlier run learned speaks against the settings as asked (--forget drops it)." in told


def moved(*lost: str) -> str:
    """Return the page of a run whose healthy launch moved spec and sym at once, of which `lost` stayed moved."""
    levers = (LeverState("spec", 1, None if "spec" in lost else 1), LeverState("sym", 1, None if "sym" in lost else 1))
    record = with_levers(*levers)
    failed, last = record.attempts[-2:]
    ends = (
        replace(failed, outcome="crashed", choice={"spec": 1, "sym": 1}),
        replace(last, choice={"spec": None if "spec" in lost else 1, "sym": None if "sym" in lost else 1}),
    )
    return " ".join(text.render(replace(record, attempts=(*record.attempts[:-2], *ends))).split())


def test_of_levers_given_up_at_once_one_may_be_innocent_and_how_to_try_it_is_told() -> None:
    said = moved("spec", "sym")

    assert "Spec and sym were changed in one launch: one of them alone may have been what it took." in said
    assert "win_back = 2 under [budget]" in said


def test_a_lever_given_up_alone_was_what_it_took() -> None:
    assert "were changed in one launch" not in moved("spec")
