"""What to do now: the command that works, or the one thing that helps."""

from collections import Counter
from collections.abc import Sequence
from math import ceil
from textwrap import shorten

from relight.reports.blocks import Block, Code, Command, Edit, Edits, Pairs, Para, Section
from relight.reports.commands import about, again, resumed
from relight.reports.culprit import of_the_whole_run
from relight.reports.drivers import driver_and_build
from relight.reports.edits import brief, command, diff, edits_of, in_a_sentence
from relight.reports.holders import holders
from relight.reports.price import healthy_attempt, moved_together
from relight.reports.prose import count, listed, prose, sentence
from relight.reports.steps import asked_of
from relight.reports.unmoved import unmoved
from relight.reports.verdict import AND_NEXT, furthest, last_launch, out_of_time
from relight.reports.world import stand_in, with_variants
from relight.words.attempt import SHORT_POOL, Attempt, Record
from relight.words.settings import Repair

_LONGEST = 240
_FEW_LAUNCHES = 5
_TAKEN = "oom.gpu.other_process"


def now_section(record: Record) -> Section:
    """Return the section that says what to do; every state has one."""
    tellers = {
        "healthy": _healthy,
        "failed": _failed,
        "exhausted": _exhausted,
        "budget": _budget,
        "busy": _busy,
        "running": _running,
        "replaced": _replaced,
    }
    return Section("now", "What to do now", tuple(tellers.get(record.state, _resume)(record)))


def launch_command(record: Record, attempt: Attempt, label: str = "") -> Command:
    """Return the command of an attempt, ready to paste."""
    return _labelled(command(attempt.argv, attempt.settings.env, python=_python(record), module=_module(record)), label)


def _labelled(made: Command, label: str) -> Command:
    return Command(made.lines, label)


def _python(record: Record) -> str:
    return str(record.environment.get("python") or "python")


def _module(record: Record) -> str:
    return f"{record.engine.name}.launch_server"


def _healthy(record: Record) -> list[Block]:
    ended = _ended(record)
    first = ended or "The server runs on, without relight. This is the command it runs with:"
    blocks: list[Block] = [Para((first,))]
    if record.final:
        blocks.append(command(record.final.argv, record.final.env, python=_python(record), module=_module(record)))
        blocks += _other_nodes(record)
    if not ended:
        blocks.append(Para(prose(f"Stop it: `{about(record, 'stop')}`")))
    final = healthy_attempt(record)
    if final:
        blocks += [_altered(change, record) for change in final.changes if change.alters_answers]
        blocks += [Para(sentence(note), tone="warn") for note in final.judged if note.startswith(SHORT_POOL)]
        blocks += [*_differs(diff(asked_of(record), final.settings)), *_unproven(record)]
    return blocks


def _other_nodes(record: Record) -> list[Block]:
    """Say how the command differs on the other nodes of a server over several hosts."""
    others = tuple(enumerate(record.hosts))[1:]
    if not others:
        return []
    said = ", ".join(f"{rank} on {host}" for rank, host in others)
    return [
        Para((f"That is on {record.hosts[0]}; the other nodes run the same with their own number at the end: {said}.",))
    ]


def _ended(record: Record) -> str:
    """Say that the server has ended since: a simulated one does with its command."""
    if not record.environment.get("stopped"):
        return ""
    if stand_in(record):
        return (
            "The simulated host is gone with its command; on a real host the server runs on, without relight. "
            "This command was healthy:"
        )
    return "The server has been stopped since. This command was healthy:"


def _altered(change: Repair, record: Record) -> Block:
    edits = ", ".join(in_a_sentence(line) for line in brief(edits_of(change, asked_of(record))))
    found = of_the_whole_run(record)
    sick = found is not None and found.failed.outcome == "sick" and found.names <= change.names | change.variables
    before = "; those of the settings asked for were wrong" if sick else ""
    return Para(prose(f"Check the answers: {edits} can alter them{before}."), tone="warn")


def _differs(edits: tuple[Edit, ...]) -> list[Block]:
    if not edits:
        return []
    said = (
        "The next run of this playbook there begins with these settings. To ask for them yourself, put what was "
        "changed (named at the top) into it."
    )
    return [Para((said,))]


def _unproven(record: Record) -> list[Block]:
    """Name levers of which one may have been given up for nothing, and how to have it tried."""
    levers = moved_together(record)
    if not levers:
        return []
    said = (
        f"{listed(list(levers))} were changed in one launch: one of them alone may have been what it took. "
        f"`win_back = {len(levers)}` under `[budget]` tries each as asked again (a try stops the healthy server)."
    )
    return [Para(sentence(said))]


def _failed(record: Record) -> list[Block]:
    attempt = last_launch(record)
    step = _next_step(attempt, record.next) if attempt else _said(record)
    goes_on = Para(("This goes on by itself until it is healthy or every option was tried:",))
    return [*step, goes_on, Command((again(record),))]


def _next_step(attempt: Attempt, planned: str) -> list[Block]:
    """Return the step that would be taken next: the repair where the plan names it, else what the plan says."""
    repairs = attempt.diagnosis.repairs if attempt.diagnosis else ()
    first = next((r for r in repairs if r.why and r.why in planned), None if planned else next(iter(repairs), None))
    if first:
        return [_edits(first, attempt, "next")]
    return [Para(sentence(planned), tone="warn")] if planned.strip() else []


def _edits(repair: Repair, attempt: Attempt, label: str) -> Edits:
    return Edits(label, edits_of(repair, attempt.settings), sentence(repair.why))


def _exhausted(record: Record) -> list[Block]:
    guarded = (
        option.change.strip("`").removeprefix("unset ") for option in record.options if option.status == "protected"
    )
    ways = list(dict.fromkeys(f"`{change.split(' ')[0] if change.startswith('--') else change}`" for change in guarded))
    blocks: list[Block] = [*_said(record), *_commonest(record)]
    if ways:
        blocks.append(Para(prose(f"relight may not change {listed(ways)}; you can, or allow it in the playbook.")))
    if not blocks:
        blocks.append(
            Para(
                prose(
                    "Nothing within the playbook is left: add a variant to a lever, "
                    "or use another model, host or engine version."
                )
            )
        )
    best = furthest(record)
    if best and best[-1].argv:
        blocks.append(launch_command(record, best[-1], _best(record, best)))
    return blocks


def _best(record: Record, best: Sequence[Attempt]) -> str:
    """Name the launch that a person would begin with: the last of those that got furthest."""
    n, launches = best[-1].n, sum(a.launched for a in record.attempts)
    if len(best) == launches:
        return f"The last launch (attempt {n}; none got further than another):" if launches > 1 else "The launch:"
    return f"The launch that got furthest (attempt {n}):" if len(best) == 1 else f"One that got furthest (attempt {n}):"


def _commonest(record: Record) -> list[Block]:
    """Name the failure that most launches ended with: that is what a person has to get out of the way."""
    named = [a.diagnosis for a in record.attempts if a.launched and a.diagnosis and a.diagnosis.cause]
    causes = [d.cause for d in named if d.cause]
    if not causes:
        return []
    (kind, summary), times = Counter((c.kind, c.summary) for c in causes).most_common(1)[0]
    what = f"the same failure: {summary.rstrip('.')} ({kind})" if summary else "a failure that is not known"
    said = f"{times} of {count(len(causes), 'launch', 'launches')} ended with {what}."
    after = next((d.next for d in named if d.next and d.cause and d.cause.kind == kind), "")
    more = (
        f". A person can do more: {after.rstrip('.')}."
        if after
        else "; another engine version, model or host may do more."
    )
    same = f" {told}" if (told := unmoved(record)) else ""
    text = f"{said}{same} What settings can do about it was tried{more}"
    explain = [("known of it", prose(f"`relight explain {kind}`"))] if kind != "unknown" else []
    issue = ("bug report", prose(f"`{about(record, 'report', '--issue')}`"))
    return [Para(prose(text), tone="warn"), Pairs((*explain, issue))]


def _budget(record: Record) -> list[Block]:
    left = sum(o.status == "untried" for o in record.options)
    launches = sum(a.launched for a in record.attempts)
    upcoming = with_variants(record, record.reason.partition(AND_NEXT)[2])
    one = f"Next it would try: {upcoming}. This makes that one launch" if upcoming else "This makes one launch more"
    same = unmoved(record)
    return [
        *_said(record),
        *([Para(prose(same))] if same else []),
        Para(prose(f"{one} ({launches + 1} in all):")),
        Command((resumed(record, *_allowed(record, launches + 1)),)),
        Para(prose(f"This goes on until it is healthy, {_at_most(launches, left)}:")),
        Command((resumed(record, *_allowed(record, launches + max(_FEW_LAUNCHES, left))),)),
    ]


def _at_most(launches: int, left: int) -> str:
    more = max(_FEW_LAUNCHES, left)
    why = f"; {count(left, 'option is', 'options are')} left, and one launch may try several" if left else ""
    counted = "`--max-attempts` counts those already made too"
    return f"with up to {more} launches more ({launches + more} in all: {counted}{why})"


def _allowed(record: Record, launches: int) -> tuple[str, ...]:
    """Return the options that give a run more launches, and twice the time where that is what it ran out of."""
    spent = out_of_time(record)
    time = ("--deadline", f"{ceil(2 * spent / 3600)}h") if spent else ()
    return ("--max-attempts", str(launches), *time)


def _busy(record: Record) -> list[Block]:
    return [
        *_said(record),
        Command((again(record, "--wait"),), "Wait until they are free:"),
        Command((again(record, "--replace"),), "Or stop what holds them first, where it is a run of relight:"),
    ]


def _running(record: Record) -> list[Block]:
    return [
        *_said(record),
        Para(prose(f"Follow it: `{about(record, 'logs', '-f')}`")),
        Para(prose(f"End it: `{about(record, 'stop')}`")),
    ]


def _replaced(record: Record) -> list[Block]:
    return [*_said(record), Para(("A later run took its place; nothing is left to do here.",))]


def _resume(record: Record) -> list[Block]:
    """Tell of a run that stopped in the middle, or that waits for a person."""
    said = _said(record)
    if record.state == "person":
        said = [*said, *_versions(record), *_held(record), *_shown_by(record)]
        text = "When that is done, this goes on:"
    else:
        text = "The host was left as it is; this goes on where the run stopped:"
    return [*said, Para((text,)), Command((resumed(record),))]


def _versions(record: Record) -> list[Block]:
    diagnosis = record.attempts[-1].diagnosis if record.attempts else None
    told = driver_and_build(diagnosis.cause if diagnosis else None, record)
    return [Para(prose(told))] if told else []


def _held(record: Record) -> list[Block]:
    diagnosis = record.attempts[-1].diagnosis if record.attempts else None
    cause = diagnosis.cause if diagnosis else None
    return holders(record) if cause and cause.kind == _TAKEN else []


def _shown_by(record: Record) -> list[Block]:
    """Return the line that shows the cause: it names the model, the process or the file that is meant.

    The run ended with its last attempt, which need not have been a launch.
    """
    diagnosis = record.attempts[-1].diagnosis if record.attempts else None
    cause = diagnosis.cause if diagnosis else None
    if cause is None or not cause.text.strip():
        return []
    text = shorten(cause.text.rstrip("."), _LONGEST, placeholder=" ...")
    known = [Para(prose(f"What is known of it: `relight explain {cause.kind}`"))] if cause.kind != "unknown" else []
    return [Para(("It was seen in: ", Code(text))), *known]


def _said(record: Record) -> list[Block]:
    return [Para(sentence(record.next), tone="warn")] if record.next.strip() else []
