"""--dry-run: what would be launched first, and what was refused on the way there."""

import shlex
import tempfile
from pathlib import Path
from typing import Any

from relight.attempts.carry import carry
from relight.attempts.clock import SystemClock, stamp
from relight.attempts.loop import plan
from relight.attempts.order import RunOrder
from relight.attempts.reach import reach
from relight.attempts.site import Site
from relight.cli.options import Common
from relight.cli.output import document, say
from relight.config.knowledge import load_knowledge
from relight.hosts import open_host
from relight.journal.codec import to_json
from relight.journal.journal import Journal
from relight.journal.redact import redact_json
from relight.words.argv import to_argv
from relight.words.step import Ask, Launch, Plan, Reject
from relight.words.text import shown

MOST = 60
"""Steps at most before the launch: questions to validation and refusals."""


def dry_run(shared: Common, order: RunOrder) -> int:
    """Plan up to the first launch, print the steps, and return 0 where there is one to try, else 1."""
    knowledge = load_knowledge(shared.signature_folders, engine=order.playbook.engine)
    clock = SystemClock()
    host = open_host(order.spec)
    with tempfile.TemporaryDirectory() as folder, Journal.create(
        Path(folder), playbook=order.playbook, specs=[order.spec], started=stamp(clock.now())
    ) as journal:  # fmt: skip
        site = Site(order, host, journal, knowledge, clock, lambda _: None)
        try:
            reach(site)
            steps = _steps(site)
        finally:
            host.close()
    described = [_described(site, planned) for planned in steps]
    if shared.json:
        document(redact_json({"plan": described}))
    else:
        for step in described:
            _show(step)
    return 0 if isinstance(steps[-1].step, Launch) else 1


def _steps(site: Site) -> list[Plan]:
    steps: list[Plan] = []
    while len(steps) < MOST:
        steps.append(plan(site))
        if not isinstance(steps[-1].step, Ask | Reject):
            break
        carry(site, steps[-1])
    return steps


def _described(site: Site, planned: Plan) -> dict[str, Any]:
    step = planned.step
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


def _show(step: dict[str, Any]) -> None:
    rung = f" ({step['rung']})" if "rung" in step else ""
    say(shown(f"{step['step']}{rung}" + (f": {step['because']}" if step["because"] else "")))
    if "argv" in step:
        say("    " + shown(shlex.join(step["argv"])))
