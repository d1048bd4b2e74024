"""--dry-run: what would be launched first, what was refused on the way there, and what would follow on a failure."""

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from relight.attempts.carry import carry
from relight.attempts.clock import SystemClock, stamp
from relight.attempts.loop import plan
from relight.attempts.order import RunOrder
from relight.attempts.reach import reach
from relight.attempts.site import Site
from relight.attempts.world import world
from relight.cli.options import Common
from relight.cli.output import document, say
from relight.config.knowledge import load_knowledge
from relight.hosts import open_hosts
from relight.journal.codec import to_json
from relight.journal.journal import Journal
from relight.journal.redact import redact_json
from relight.planning.dry import IfFailed, after_failure
from relight.reports.edits import brief, command, diff
from relight.words.argv import to_argv
from relight.words.settings import Settings
from relight.words.step import Ask, Exhausted, Launch, Person, Plan, Reject, Spent, Step
from relight.words.text import shown

MOST = 60
"""Steps at most before the launch: questions to validation and refusals."""
TITLES = 4
"""Failures named at most for each answer; --format json has them all."""


def dry_run(shared: Common, order: RunOrder) -> int:
    """Plan up to the first launch, print the steps, and return 0 where there is one to try, else 1."""
    knowledge = load_knowledge(shared.signature_folders, engine=order.playbook.engine)
    clock = SystemClock()
    host = open_hosts(order.hosts)
    with tempfile.TemporaryDirectory() as folder, Journal.create(
        Path(folder), playbook=order.playbook, specs=order.hosts, started=stamp(clock.now())
    ) as journal:  # fmt: skip
        site = Site(order, host, journal, knowledge, clock, lambda _: None)
        try:
            reach(site)
            steps = [planned.step for planned in _steps(site)]
            after = _after(site, steps[-1])
        finally:
            host.close()
    if shared.json:
        document(redact_json({"plan": _described(site, steps, after)}))
    else:
        for line in (*_said(site, steps), *_said_after(steps[-1], after)):
            say(shown(line))
    return 0 if isinstance(steps[-1], Launch) else 1


def _after(site: Site, step: Step) -> tuple[IfFailed, ...]:
    if not isinstance(step, Launch):
        return ()
    return after_failure(step, site.record.attempts, site.order.playbook, world(site))


def _steps(site: Site) -> list[Plan]:
    steps: list[Plan] = []
    while len(steps) < MOST:
        steps.append(plan(site))
        if not isinstance(steps[-1].step, Ask | Reject):
            break
        carry(site, steps[-1])
    return steps


def _described(site: Site, steps: Sequence[Step], after: Sequence[IfFailed]) -> list[dict[str, Any]]:
    described = [_step(site, step) for step in steps]
    follows = [{"when": f.title, "kind": f.kind, "signature": f.signature, **_step(site, f.step)} for f in after]
    if follows:
        described[-1]["if_it_fails"] = follows
    return described


def _step(site: Site, step: Step) -> dict[str, Any]:
    out: dict[str, Any] = {"step": type(step).__name__.lower(), "because": getattr(step, "because", "")}
    if isinstance(step, Launch | Reject):
        candidate = step.candidate
        out |= {
            "rung": step.rung,
            "settings": to_json(candidate.settings),
            "argv": list(to_argv(candidate.settings.flags, site.parser)),
            "levers": dict(candidate.choice),
            "changes": to_json(candidate.changes),
            "alters_answers": candidate.alters_answers,
        }
    elif isinstance(step, Ask):
        out["candidates"] = [to_json(c.settings) for c in step.candidates]
    return out


def _said(site: Site, steps: Sequence[Step]) -> Iterator[str]:
    """Say each step with what it changes; questions to validation cost nothing and are not told."""
    told = Settings()
    for number, step in enumerate((s for s in steps if not isinstance(s, Ask)), 1):
        before, told = told, step.candidate.settings if isinstance(step, Launch | Reject) else told
        moved = brief(diff(before, told)) if number > 1 else ()
        match step:
            case Reject(_, rung, because):
                yield from (f"{number}  refused by {rung}, without a launch", *_indented(moved), f"     {because}")
            case Launch(_, rung, because):
                kind = "launch with dummy weights" if rung == "dummy" else "launch"
                yield from (f"{number}  {kind}: {because}", *_indented(moved), "")
                yield from _indented(_command(site, told))
            case _:
                yield f"{number}  {_in_short(step, told)}"


def _command(site: Site, settings: Settings) -> tuple[str, ...]:
    argv, module = to_argv(settings.flags, site.parser), "sglang.launch_server"
    return command(argv, settings.env, python=site.order.spec.python or "python", module=module).lines


def _said_after(first: Step, after: Sequence[IfFailed]) -> Iterator[str]:
    """Say what would follow on each likely failure; failures that are answered alike stand together."""
    if not isinstance(first, Launch) or not after:
        return
    answers: dict[str, dict[str, None]] = {}
    for failed in after:
        answer = _in_short(failed.step, first.candidate.settings)
        answers.setdefault(answer, {})[_without_facts(failed.title)] = None
    yield from ("", "What would come next, by how it fails:")
    for answer, titles in answers.items():
        more = len(titles) - TITLES
        yield from ("", f"  {answer}", *(f"     - {title}" for title in [*titles][:TITLES]))
        if more > 0:
            yield f"     - and {more} more"


def _without_facts(title: str) -> str:
    """Return a title without the facts that only a log gives."""
    return re.sub(r"\{\w+\}", "...", re.sub(r":? \{\w+\}$", "", title))


def _in_short(step: Step, before: Settings) -> str:
    match step:
        case Launch(candidate) | Reject(candidate):
            return ", ".join(brief(diff(before, candidate.settings))) or "the same settings again"
        case Person(because, then):
            return f"stop for a person: {then or because}"
        case Exhausted(_, because) | Spent(_, because):
            return f"stop: {because}"
    return f"{type(step).__name__.lower()}: {getattr(step, 'because', '')}"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"     {line}" for line in lines]
