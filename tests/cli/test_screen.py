"""What a person sees while a run runs."""

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from relight.cli.screen import Screen
from relight.cli.screen_draw import panel
from relight.cli.screen_live import LivePart, rows_more
from relight.cli.screen_state import View, after
from relight.cli.screen_time import left
from relight.words.attempt import Exit
from relight.words.diagnosis import Cause, Diagnosis
from relight.words.events import Event
from relight.words.host import Gpu
from relight.words.settings import Settings

ASKED = Settings({"tp-size": 8, "mem-fraction-static": 0.9})
SMALLER = Settings({"tp-size": 8, "mem-fraction-static": 0.86})
OOM = Diagnosis(
    "server.log",
    "failed",
    cause=Cause("oom", "oom.gpu.draft", None, "x", 7, "OutOfMemoryError", None, None, 0.9, "the draft does not fit"),
)


def event(kind: Any, attempt: int | None = None, /, **data: Any) -> Event:
    return Event("2026-11-29T08:00:04Z", "r1", attempt, kind, data)


RUN = (
    event("run_started"),
    event("probed", gpus=tuple(Gpu(i, "GPU X", 97887, 4) for i in range(8)), version="0.5.9"),
    event("asked", candidates=2, refused=1),
    event("launched", 1, set_attempt={"settings": ASKED}, rung="real", because="the settings as asked"),
    event("phase", 1, name="load_weights", i=3, n=41, memory=31000),
    event("marked", 1, text="Loading shards: 7%", line=80),
    event("crashed", 1, exit=Exit(None, 9), reason="the server ended"),
    event("diagnosed", 1, diagnosis=OOM),
    event("launched", 2, set_attempt={"settings": SMALLER}, rung="real", because="the sums leave 0.84 to 0.87"),
    event("judged", 2, verdict="healthy", notes=("5 of 5 answers are right",)),
    event("healthy", 2, set_attempt={"outcome": "healthy"}),
    event("run_ended", state="healthy", reason=""),
)


def shown(events: tuple[Event, ...], *, width: int = 100, terminal: bool = False, **more: Any) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None, _environ={"TERM": "xterm"})
    with Screen(console, View(host="rtx8", playbook="qwen"), **more) as screen:
        for each in events:
            screen.show(each)
    return out.getvalue()


def drawn(view: View, now: float, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as capture:
        console.print(panel(view, now, width))
    return capture.get().splitlines()


def loading() -> View:
    view = View(host="rtx8", playbook="qwen", launches=20, deadline=3600, card=97887)
    view = after(view, event("launched", 3, rung="real"), 10)
    view = after(view, event("phase", 3, name="load_weights", i=10, n=40, memory=61440), 20)
    return after(view, event("marked", 3, text="Loading shards: 25%", line=80), 21)


def test_without_a_terminal_every_event_of_weight_is_one_plain_line() -> None:
    lines = shown(RUN).splitlines()

    assert lines == [
        "08:00:04  host       rtx8: 8 x GPU X (95.6 GiB), engine 0.5.9",
        "08:00:04  asked      the host's own validation about 2: 1 pass, 1 refused",
        "08:00:04  attempt 1  launching (the settings as asked)",
        "08:00:04  attempt 1  load weights",
        "08:00:04  attempt 1  crashed (signal 9)",
        "08:00:04  cause      The draft does not fit (oom.gpu.draft, in load weights, server.log:7)",
        "08:00:04  attempt 2  launching (the sums leave 0.84 to 0.87)",
        "          change     --mem-fraction-static 0.9 -> 0.86",
        "08:00:04  attempt 2  answers: healthy",
        "                     5 of 5 answers are right",
        "08:00:04  attempt 2  healthy: the server answers correctly",
        "08:00:04  run        healthy",
    ]


def test_a_refused_candidate_says_which_rung_refused_it() -> None:
    lines = shown((event("diagnosed", 2, diagnosis=OOM, rung="validate"),)).splitlines()

    assert lines[0] == "08:00:04  attempt 2  refused by validate"


def test_a_server_that_is_still_ending_has_not_crashed_twice() -> None:
    ending = event("crashed", 1, reason="the log shows the end", waiting=True)

    assert shown((ending,)).splitlines() == ["08:00:04  attempt 1  the log shows the end"]


def test_what_the_command_closes_with_is_not_said_twice() -> None:
    assert shown((event("run_ended", state="failed", reason="no such flag"),)) == ""


def test_quiet_shows_nothing() -> None:
    assert shown(RUN, quiet=True) == ""
    assert shown(RUN, quiet=True, terminal=True) == ""


def test_where_others_write_to_the_terminal_too_nothing_changes_in_place() -> None:
    assert "\x1b" not in shown(RUN, terminal=True, still=True)


def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, _environ={"TERM": "dumb"})

    with Screen(console, View(host="rtx8")) as screen:
        screen.show(RUN[1])

    assert "\x1b" not in out.getvalue()


def test_on_a_terminal_the_lines_that_stay_wrap_below_themselves() -> None:
    lines = shown(RUN, width=70, terminal=True)

    wrapped = ["08:00:04  cause      The draft does not fit (oom.gpu.draft, in load", f"{'':21}weights, server.log:7)"]
    assert "\n".join(wrapped) + "\n" in lines


def test_on_a_narrow_terminal_no_columns_take_the_room_of_what_is_said() -> None:
    lines = shown(RUN, width=40, terminal=True)

    assert "08:00:04  cause  The draft does not fit\n  (oom.gpu.draft, in load weights,\n  server.log:7)" in lines
    assert "  change  --mem-fraction-static 0.9 ->\n  0.86" in lines


@pytest.mark.parametrize("width", [20, 39, 60, 80, 140])
def test_the_live_part_fits_any_width(width: int) -> None:
    assert all(len(line) <= width for line in drawn(loading(), 30, width))


@pytest.mark.parametrize(
    ("width", "head"),
    [
        (80, "  attempt 3  load weights ━━━━━━                   10/40  10 s, about 30 s left"),
        (60, "  attempt 3  load weights  10/40  10 s, about 30 s left"),
        (50, "  attempt 3  load weights  10/40  about 30 s left"),
        (42, "  #3 load weights 10/40, about 30 s left"),
    ],
)
def test_where_not_all_fits_what_is_left_stays(width: int, head: str) -> None:
    assert drawn(loading(), 30, width)[1] == head


def test_the_live_part_names_attempt_phase_progress_memory_and_budget() -> None:
    text = "\n".join(drawn(loading(), 30, 100))

    for part in ("qwen on rtx8", "attempt 3", "load weights", "10/40", "10 s", "Loading shards: 25%"):
        assert part in text
    assert "GPU memory 60.0 of 95.6 GiB" in text
    assert "budget left: 19 of 20 launches, 60 min" in text


def test_a_rank_that_lags_behind_leads_the_screen_nowhere_back() -> None:
    ahead = after(loading(), event("phase", 3, name="pools"), 40)
    lagging = after(ahead, event("phase", 3, name="load_weights"), 41)
    again = after(ahead, event("phase", 3, name="load_weights", i=1, n=9), 42)

    assert (lagging.phase, lagging.since) == ("pools", 40)
    assert (again.phase, again.step) == ("load_weights", (1, 9))


def test_a_dumb_terminal_breaks_no_word() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, _environ={"TERM": "dumb"})

    with Screen(console, View(host="rtx8")) as screen:
        for each in RUN[1:9]:
            screen.show(each)

    # Such a terminal is taken to be 80 columns wide.
    lines = out.getvalue().splitlines()
    assert "08:00:04  cause      The draft does not fit (oom.gpu.draft, in load weights," in lines
    assert "                     server.log:7)" in lines


HISTORY = View(expected=(("load_weights", 300.0), ("capture", 100.0), ("serving", 20.0)))


def test_time_left_comes_from_history_and_from_the_progress_at_hand() -> None:
    launched = after(HISTORY, event("launched", 1), 0)
    started = after(launched, event("phase", 1, name="load_weights"), 0)
    halfway = after(started, event("phase", 1, name="load_weights", i=20, n=40), 200)
    capture = after(halfway, event("phase", 1, name="capture"), 400)

    assert left(started, 100) == 320
    assert left(halfway, 200) == 270  # half of it says 200 s more, history 100 s
    assert left(capture, 450) == 70


def test_a_second_model_goes_through_phases_again_and_the_time_left_goes_on_falling() -> None:
    view = after(after(HISTORY, event("launched", 1), 0), event("phase", 1, name="load_weights"), 0)
    view = after(view, event("phase", 1, name="capture"), 300)
    second = after(view, event("phase", 1, name="load_weights", i=1, n=2), 330)
    captures = after(second, event("phase", 1, name="capture"), 360)

    assert [left(view, 310), left(second, 340), left(captures, 370)] == [110, 80, 50]
    assert captures.phase == "capture"


def test_a_launch_after_another_knows_how_long_its_phases_took() -> None:
    view = after(View(), event("launched", 1), 0)
    for name, now in (("load_weights", 10), ("pools", 190)):
        view = after(view, event("phase", 1, name=name), now)
    view = after(after(view, event("crashed", 1), 200), event("launched", 2), 210)
    view = after(view, event("phase", 2, name="load_weights"), 220)

    assert "load weights  1 min, about 2 min left" in drawn(view, 280, 80)[1]
    assert "load weights  4 min, before: 3 min" in drawn(view, 460, 80)[1]


def test_without_history_no_time_until_healthy_is_claimed() -> None:
    assert left(loading(), 30) is None
    assert "healthy in" not in "\n".join(drawn(loading(), 30, 100))
    assert "10/40  10 s, about 30 s left" in "\n".join(drawn(loading(), 30, 100))


def test_the_last_line_is_shown_without_its_time() -> None:
    view = after(loading(), event("marked", 3, text="[2026-11-29 08:00:04 TP7] Load weight begin."), 21)

    assert drawn(view, 30, 60)[2] == "  TP7: Load weight begin."


def test_while_the_host_is_made_ready_the_change_to_come_is_on_the_screen() -> None:
    view = after(View(), event("launched", 1, set_attempt={"settings": ASKED}), 0)
    view = after(after(view, event("crashed", 1), 10), event("diagnosed", 1, diagnosis=OOM), 11)
    view = after(view, event("changed", 2, settings=SMALLER, because="the sums"), 12)

    assert drawn(view, 13, 80)[1:] == ["  making the host ready ...", "  then --mem-fraction-static 0.9 -> 0.86"]


def test_watching_a_healthy_server_uses_no_budget() -> None:
    view = after(replace(loading(), keep=True), event("healthy", 3), 100)
    died = after(after(view, event("run_ended", state="healthy"), 101), event("crashed", 3), 7300)

    assert drawn(view, 7300, 80)[1:] == [
        "  attempt 3  healthy for 2.0 h",
        "  watching the server; Ctrl-C leaves it running",
    ]
    assert "budget left: 19 of 20 launches, 58 min" in drawn(died, 7310, 80)[-1]


def test_time_without_the_host_uses_no_budget() -> None:
    view = after(loading(), event("changed", away=1800.0), 2000)

    assert "budget left: 19 of 20 launches, 57 min" in drawn(view, 2000, 80)[-1]


def test_lines_of_a_window_that_got_narrower_take_more_rows() -> None:
    assert rows_more((20, 79, 60, 0), 40) == 2
    assert rows_more((20, 79, 60, 0), 80) == 0


@pytest.mark.parametrize(("environ", "erased"), [({"TMUX": "default,1,0"}, 2), ({}, 0)])
def test_a_terminal_that_breaks_lines_anew_keeps_no_trace_of_the_last_drawing(
    environ: dict[str, str], erased: int
) -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=True, _environ={"TERM": "xterm"}, force_interactive=True)
    part = LivePart(console, lambda: Text("x" * 70 + "\n" + "y" * 10), environ)

    part.start(refresh=True)
    console.width, before = 30, out.tell()
    part.refresh()
    drawn_anew = out.getvalue()[before:].partition("x")[0]
    part.stop()

    assert drawn_anew.count("\x1b[1A") == 1 + erased


def test_a_new_launch_forgets_the_phase_of_the_one_before() -> None:
    view = after(loading(), event("launched", 4, rung="dummy"), 50)

    assert (view.phase, view.step, view.line, view.memory) == ("", None, "", 0)
    assert "attempt 4 (dummy)" in drawn(view, 51, 80)[1]


def test_without_a_terminal_a_long_silence_is_broken_once_a_minute() -> None:
    ticks = iter([0.0, 0.0, 1.0, 2.0, 30.0, 70.0, 80.0])
    events = (RUN[3], RUN[4], *[event("marked", 1, text=f"shard {i}") for i in range(3)])

    lines = shown(events, clock=lambda: next(ticks)).splitlines()

    assert [line for line in lines if "shard" in line] == ["08:00:04  attempt 1  load weights 3/41: shard 1"]


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ((), "starting: importing"),
        ((event("phase", 1, name="warmup"), event("judged", 1, stage="ready")), "warmup: importing"),
        (
            (event("phase", 1, name="serving", i=3, n=3), event("judged", 1, stage="soak with 8 at once")),
            "judging: soak with 8 at once: importing",
        ),
        ((event("phase", 1, name="serving"), event("healthy", 1)), "healthy: importing"),
    ],
)
def test_the_line_of_a_long_silence_says_what_goes_on_where_no_phase_does(before: tuple[Event, ...], said: str) -> None:
    ticks = iter([0.0, 0.0, *[1.0] * (len(before) + 1), 70.0])
    events = (RUN[3], *before, event("marked", 1, text="importing"))

    lines = shown(events, clock=lambda: next(ticks)).splitlines()

    assert lines[-1] == f"08:00:04  attempt 1  {said}"


@pytest.mark.parametrize("terminal", [True, False])
def test_hostile_text_reaches_no_terminal(terminal: bool) -> None:
    nasty = "\x1b[2J\x1b]0;owned\x07[bold red]x[/] :boom: \u202e"
    events = (
        event("launched", 1, because=nasty),
        event("phase", 1, name=nasty),
        event("marked", 1, text=nasty),
        event("crashed", 1, reason=nasty),
        event("run_ended", state="failed", reason=nasty),
    )

    text = shown(events, terminal=terminal)

    assert "\x1b[2J" not in text
    assert "owned" not in text
    assert "\u202e" not in text
    assert "[bold red]x[/] :boom:" in text
