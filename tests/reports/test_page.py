"""The page of one log."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from relight.reports import page
from relight.words.diagnosis import NOT_THE_ENGINES, Cause, Diagnosis, Engine, LogLine
from relight.words.settings import Repair
from tests.reports.stories import ALL_OR_NONE, CAPTURE_OOM

ARGV = ("--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "2")
UNKNOWN = Diagnosis(
    "server.log",
    "failed",
    cause=Cause("unknown", "unknown", None, "77aa", 731, "quux is not aligned", "TP5", "pools", 0.2, ""),
    evidence=(LogLine(729, "KV Cache is allocated. #tokens: 812345"), LogLine(731, "quux is not aligned")),
)
PERSON = replace(CAPTURE_OOM, repairs=(), action="person", memory=())
PAGES: dict[str, Diagnosis] = {
    "source": ALL_OR_NONE,
    "memory": CAPTURE_OOM,
    "unknown": UNKNOWN,
    "person": PERSON,
    "healthy": Diagnosis("server.log", "healthy", Engine("sglang", "0.5.9")),
    "starting": Diagnosis("server.log", "starting", evidence=(LogLine(80, "Loading shards: 7%"),)),
    "no-sign": Diagnosis("server.log", "unknown", evidence=(LogLine(3, "hello"), LogLine(9, "last words"))),
    "empty": Diagnosis("server.log", "unknown"),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_the_golden_one(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"page-{name}.txt", page.render(PAGES[name], argv=ARGV))


def test_the_headline_names_the_kind_and_the_place_follows() -> None:
    lines = page.render(ALL_OR_NONE).splitlines()

    assert lines[0].startswith("error[assertion.args]: ")
    assert any(line.strip() == "--> server.log:26" for line in lines)


def test_lines_around_the_cause_are_shown_where_they_are_given() -> None:
    around = [LogLine(n, f"line {n}") for n in range(20, 26)]

    told = page.render(ALL_OR_NONE, around)

    assert "  20 | line 20" in told


def test_a_change_shows_what_it_replaces_where_the_command_is_known() -> None:
    bigger = replace(ALL_OR_NONE, repairs=(Repair(set={"speculative-eagle-topk": 4}, why="a wider tree"),))

    told = page.render(bigger, argv=ARGV)

    assert "        --speculative-eagle-topk 1 -> 4\n" in told


def test_an_unknown_failure_tells_how_to_make_it_known() -> None:
    assert "relight playbook new my-failure --from server.log:731" in page.render(UNKNOWN)


def test_a_known_failure_asks_for_no_signature() -> None:
    assert "playbook new" not in page.render(ALL_OR_NONE)


def test_many_repairs_are_not_all_told() -> None:
    many = replace(ALL_OR_NONE, repairs=tuple(Repair(set={f"flag-{i}": i}, why=f"way {i}") for i in range(7)))

    told = page.render(many)

    assert "help: try these one at a time, in this order:\n  1. way 0\n" in told
    assert "  4. way 3\n" in told
    assert "way 4" not in told
    assert "`relight diagnose --format json server.log` lists 3 more" in told


def test_each_change_says_what_it_costs_in_words_that_compare() -> None:
    costs = (0, 1, 2, 4, 9)
    some = tuple(Repair(set={f"flag-{i}": i}, why=f"way {i}", cost=c, gives_up="speed") for i, c in enumerate(costs))
    doubted = (Repair(set={"x": 1}, why="it may be", cost=4, doubt=3),)

    told = page.render(replace(ALL_OR_NONE, repairs=some))

    words = [line.strip() for line in told.splitlines() if line.strip().startswith("cost ")]
    assert words == [f"cost {c}: gives up speed" for c in ("very low", "low", "medium", "high", "very high")]
    assert "cost low; less likely to help" in page.render(replace(ALL_OR_NONE, repairs=doubted))


def test_what_goes_stands_in_one_line_and_may_be_absent_from_a_command_that_is_not_known() -> None:
    one = replace(ALL_OR_NONE, repairs=(Repair(unset=("a", "b"), unset_env=("C",), why="it is in the way"),))

    told = page.render(one)

    assert "help: it is in the way\n        without --a, --b, C   (environment)   (where given)\n" in told
    assert "where given" not in page.render(one, argv=("--a", "1", "--b", "2"))


@pytest.mark.parametrize("kind", ["engine.bug", "comm.peer_died", "hang.health"])
def test_no_page_of_a_failure_ends_without_a_next_step(kind: str) -> None:
    assert CAPTURE_OOM.cause
    bare = replace(
        CAPTURE_OOM, repairs=(), cause=replace(CAPTURE_OOM.cause, kind=kind, family=kind.split(".", maxsplit=1)[0])
    )

    told = " ".join(page.render(bare).split())

    assert "help: " in told
    assert f"`relight explain {kind}` tells what is known" in told


def test_a_doubtful_line_is_called_the_best_evidence() -> None:
    assert CAPTURE_OOM.cause
    doubtful = replace(CAPTURE_OOM, cause=replace(CAPTURE_OOM.cause, confidence=0.4))

    assert "^ the best evidence" in page.render(doubtful)


def test_an_endless_message_is_cut() -> None:
    assert CAPTURE_OOM.cause
    endless = replace(CAPTURE_OOM.cause, summary="word " * 2000, text="x=1, " * 4000)
    long = replace(CAPTURE_OOM, cause=endless, evidence=(LogLine(endless.line or 1, endless.text),))

    assert len(page.render(long).splitlines()) < 60


def test_lines_after_a_gap_behind_the_cause_are_not_its_evidence() -> None:
    told = page.render(ALL_OR_NONE, [LogLine(27, "next"), LogLine(40, "somebody else")])

    assert "27 | next" in told
    assert "somebody else" not in told


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_excerpts_keep_to_the_width(width: int) -> None:
    long = replace(ALL_OR_NONE, evidence=(LogLine(24, "x" * 300), LogLine(25, "word " * 80)))

    for line in page.render(long, width=width).splitlines():
        assert len(line) <= max(width, 66), line


CUT = [
    LogLine(1, "[2026-11-29 08:00:00 TP3] Scheduler hit an exception: Traceback (most recent call last):"),
    LogLine(2, '  File "/opt/sglang/python/sglang/srt/managers/scheduler.py", line 2586, in run_scheduler_process'),
    LogLine(3, "    scheduler = Scheduler("),
    LogLine(4, "                ^^^^^^^^^^"),
]
SILENT = Cause("unknown", "unknown", None, "", 1, "Load weight begin.", "TP3", "load_weights", 0.2, "It ends there.")


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("cause", [None, SILENT])
def test_a_log_cut_inside_an_error_says_so_and_how_to_get_the_rest(length: int, cause: Cause | None) -> None:
    found = Diagnosis("server.log", "failed" if cause else "unknown", cause=cause)

    told = " ".join(page.render(found, ends=CUT[:length]).split())

    assert "the log ends in the middle of an error, before the line that names it" in told
    assert "^ the log ends here" in told
    assert "relight diagnose HOST:PATH" in told
    assert "playbook new" not in told
    assert ("sglang/srt/managers/scheduler.py:2586" in told) is (length > 1)


def test_an_error_that_is_named_is_not_cut() -> None:
    found = Diagnosis("server.log", "unknown")

    told = page.render(found, ends=[*CUT, LogLine(5, "QuuxError: not aligned")])

    assert "the log ends in the middle" not in told
    assert "relight playbook new my-failure --from server.log:5" in told


def test_a_log_that_stops_in_a_phase_offers_no_signature_of_its_progress() -> None:
    told = page.render(Diagnosis("server.log", "failed", cause=SILENT), ends=[LogLine(1, "Load weight begin.")])

    assert "the last sign of progress" in told
    assert "playbook new" not in told
    assert "relight diagnose --running server.log" in told


def test_a_log_of_blank_lines_has_nothing_in_it() -> None:
    assert "there is nothing in this log" in page.render(Diagnosis("a.log", "unknown"), ends=[LogLine(1, "  ")])


def test_a_headline_takes_two_lines_at_most() -> None:
    assert CAPTURE_OOM.cause
    long = replace(CAPTURE_OOM, cause=replace(CAPTURE_OOM.cause, summary="many words " * 25))

    head = page.render(long).splitlines()[:3]

    assert head[1].endswith(" ...")
    assert "-->" in head[2]


def test_what_is_known_of_a_failure_is_marked_where_its_own_line_does_not_say_it() -> None:
    facts = {"required": 196608, "limit": 65536}
    text = "Exception: capture failed:"
    cause = Cause("kernel", "kernel.shared_memory", "x", "f", 3, text, None, None, 0.9, "", facts)
    around = [LogLine(3, cause.text), LogLine(4, "OutOfResources: Required: 196608, Hardware limit: 65536")]

    told = page.render(Diagnosis("server.log", "failed", cause=cause), around)

    assert "4 > OutOfResources" in told
    assert "^ its details" in told


@pytest.mark.parametrize(
    "around",
    [
        (LogLine(4, "RuntimeError: NCCL error: unhandled system error"), LogLine(5, "host0 [0] NCCL INFO comm 0x1"),
         LogLine(6, "host0 [0] misc/socket.cc:187 NCCL WARN connect failed")),
        (LogLine(4, "DistBackendError: NCCL error in: a.cpp:1333"), LogLine(5, "Last error:"),
         LogLine(6, "socketStartConnect: Connect to 10.0.0.1 failed : No route to host")),
    ],
)  # fmt: skip
def test_why_a_library_failed_is_marked_beside_the_error_that_only_says_that_it_did(
    around: tuple[LogLine, ...],
) -> None:
    cause = Cause("comm", "comm.nccl", "nccl-system", "f", 4, around[0].text, None, None, 0.7, "")

    told = page.render(Diagnosis("server.log", "failed", cause=cause), around)

    assert "  6 > " in told
    assert "^ its details" in told
    assert "  5 | " in told


def test_a_log_that_only_tells_of_another_death_says_where_it_was_cut() -> None:
    cause = Cause("comm", "comm.peer_died", "sigquit", "f", 1, "a child failed", None, None, 0.4, "A child failed")

    told = " ".join(page.render(Diagnosis("a.log", "failed", cause=cause), ends=CUT).split())

    assert "a.log:3 is where the log ends in the middle of an error" in told


def test_a_flag_that_the_command_does_not_hold_need_not_go() -> None:
    repair = Repair(set={"attention-backend": "triton"}, unset=("decode-attention-backend",), why="it runs everywhere")
    found = replace(CAPTURE_OOM, repairs=(repair,))

    assert "decode-attention-backend" not in page.render(found, argv=("--tp-size", "8"))
    assert "without --decode-attention-backend" in page.render(found)


def test_a_late_fault_is_called_a_symptom() -> None:
    assert CAPTURE_OOM.cause is not None
    late = replace(CAPTURE_OOM, cause=replace(CAPTURE_OOM.cause, late=True))

    told = page.render(late)

    assert "the symptom: what failed ran before it" in told
    assert "the kernel at fault may be any that ran before" in " ".join(told.split()).replace("= note: ", "")


def test_what_only_tells_more_stands_behind_every_repair() -> None:
    step = Repair(set_env={"CUDA_LAUNCH_BLOCKING": "1"}, why="it waits", telling=True)
    some = replace(ALL_OR_NONE, repairs=(step, *(Repair(set={f"flag-{i}": i}, why=f"way {i}") for i in range(5))))

    told = page.render(some)

    assert all(f"way {i}" in told for i in range(5))
    assert told.index("way 4") < told.index("to learn more (it mends nothing): it waits")


def test_the_line_that_says_why_is_shown_with_its_source_however_far_away() -> None:
    assert CAPTURE_OOM.cause is not None
    assert CAPTURE_OOM.cause.line is not None
    why = CAPTURE_OOM.cause.line + 50
    around = [LogLine(why + 1, "   22 | #include <x.h>"), LogLine(why + 9, "far away")]

    told = page.render(replace(CAPTURE_OOM, details=(LogLine(why, "a.h:22: error: no x.h"),)), around)

    assert f"{why} > a.h:22: error: no x.h" in told
    assert "#include <x.h>" in told
    assert "^ why" in told
    assert "far away" not in told


@pytest.mark.parametrize("form", ["TOML", "JSON", "Python source", "a script", NOT_THE_ENGINES])
def test_what_is_no_log_is_said_to_be_none_with_a_next_step(form: str) -> None:
    told = page.render(Diagnosis("my file.toml", "unknown", form=form), [LogLine(1, "x = 1")])

    assert f"this looks like no log of SGLang: it is {form}" in told
    assert "help: " in told


def test_the_line_that_asks_for_a_repair_is_shown_however_far_below_the_cause() -> None:
    repair = Repair(set={"page-size": 1}, why="the message asks for --page-size", origin="message")
    cause = Cause("args", "args.conflict", "x", "f", 4, "ValueError: it does not fit", None, "args", 0.9, "")
    asks = LogLine(16, "so please set --page-size 1")
    found = Diagnosis("a.log", "failed", cause=cause, repairs=(repair,), details=(asks,))

    told = page.render(found, [LogLine(n, f"line {n}") for n in (5, 6, 17)])

    assert "   6 | line 6\n  ...\n  16 > so please set --page-size 1\n" in told
    assert "^ asks for the change" in told
    assert "line 17" not in told


def test_an_error_that_is_passed_on_is_marked_with_where_it_was_raised() -> None:
    cause = Cause("kernel", "kernel.graph_capture", "x", "f", 20, "Exception: it failed: moon", None, None, 0.9, "")
    found = Diagnosis("a.log", "failed", cause=cause, details=(LogLine(7, "ValueError: moon"),))
    around = [
        LogLine(5, '  File "/x/site-packages/acme.py", line 3, in run'),
        LogLine(6, "    raise"),
    ]

    told = page.render(found, around)

    assert 'File "acme.py", line 3, in run\n   6 |     raise\n   7 > ValueError: moon\n' in told
    assert "^ why" in told


def test_a_line_that_only_tells_of_another_death_is_not_called_the_cause() -> None:
    cause = Cause("comm", "comm.peer_died", "sigquit", "f", 1, "a child failed", None, None, 0.4, "A child failed")

    told = page.render(Diagnosis("a.log", "failed", cause=cause), ends=CUT)

    assert "this line only tells that another process died" in told
    assert "sure that this is the cause" not in told
    assert "a.log:3" in told
    assert "^ the log ends here" in told
