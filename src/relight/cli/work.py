"""One call of deploy or retry, from its options to its exit status.

What a run needs is imported as it begins: a night later the files may be another version's.
"""

import getpass
import os
import shlex
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from relight.attempts.clock import SystemClock, stamp
from relight.attempts.loop import run as run_loop
from relight.attempts.nodes import for_nodes
from relight.attempts.order import RunOrder
from relight.cli import logging
from relight.cli.asked import Asked
from relight.cli.dry import dry_run
from relight.cli.interrupts import interrupted_once
from relight.cli.listeners import Listeners
from relight.cli.notify import Send, sender
from relight.cli.options import Common
from relight.cli.output import document, say, width
from relight.cli.overrides import change_of
from relight.cli.places import host_spec, host_specs
from relight.cli.playbooks import existing
from relight.cli.secrets import check_secrets
from relight.config.hosts import RESERVED
from relight.config.knowledge import load_knowledge
from relight.config.playbook import load_playbook, parse_playbook
from relight.hosts import open_hosts
from relight.hosts.nodes import joined
from relight.journal.codec import to_json
from relight.journal.journal import Journal
from relight.journal.journal import stored as stored_of
from relight.journal.redact import redact_json
from relight.journal.runs import find
from relight.reports import text
from relight.reports.commands import about, resumed
from relight.reports.moves import with_moves
from relight.words.attempt import Record, State
from relight.words.errors import BusyError, RelightError
from relight.words.events import Event
from relight.words.host import HostSpec
from relight.words.knowledge import Knowledge
from relight.words.playbook import Playbook
from relight.words.settings import Change
from relight.words.text import shown

STATUS: dict[State, int] = {
    "healthy": 0, "failed": 1, "exhausted": 1, "unreachable": 3, "budget": 4, "person": 5, "busy": 6,
    "interrupted": 130, "running": 130, "replaced": 1,
}  # fmt: skip
Begun: TypeAlias = tuple[RunOrder, Journal | None, Knowledge]
_KEPT = ("max_attempts", "deadline", "keep")


def work(shared: Common, asked: Asked) -> int:
    """Run `asked` to its end, print its record, and return its exit status."""
    asked = asked.checked(json=shared.json)
    send = sender(asked.notify)
    with ExitStack() as stack:
        stack.enter_context(interrupted_once())
        order, journal, knowledge = stack.enter_context(_begun(shared, asked))
        if journal is None:
            return dry_run(shared, order)
        return _run(shared, asked, order, journal, knowledge, send)


@contextmanager
def _begun(shared: Common, asked: Asked) -> Iterator[Begun]:
    """Yield the order, the journal and the knowledge of a new or a resumed run; no journal for a dry run.

    What can be wrong with the files that were named is found before there is a run.
    """
    if asked.resume:
        with _resumed(shared, asked) as both:
            yield both
        return
    assert asked.playbook  # noqa: S101  checked() has seen to it
    playbook = load_playbook(existing(asked.playbook))
    typed_in = change_of(asked.sets, asked.unsets, asked.env, engine=playbook.engine)
    with host_specs(shared, asked.host_names) as specs:
        overrides = for_nodes(playbook, typed_in, specs)
        secrets = _secrets(specs)
        order = _order(shared, asked, playbook, specs, overrides, _wishes(asked))
        knowledge = load_knowledge(shared.signature_folders, engine=playbook.engine)
        if asked.dry_run:
            yield order, None, knowledge
            return
        more = {name: getattr(order, name) for name in _KEPT}
        with Journal.create(
            shared.state, playbook=playbook, specs=specs, started=now(), overrides=overrides, mode=asked.mode,
            more=more, secrets=secrets,
        ) as journal:  # fmt: skip
            yield order, journal, knowledge


def _order(
    shared: Common,
    asked: Asked,
    playbook: Playbook,
    specs: Sequence[HostSpec],
    overrides: Change,
    wishes: Mapping[str, Any],
) -> RunOrder:
    several = {"specs": tuple(specs)} if len(specs) > 1 else {}
    names = {**wishes, **owner(), **several}
    return RunOrder(playbook, joined(specs), asked.mode, overrides, typed=typed(shared, asked), **names)


def _secrets(specs: Sequence[HostSpec]) -> tuple[str, ...]:
    return tuple(value for spec in specs for value in check_secrets(spec))


@contextmanager
def _resumed(shared: Common, asked: Asked) -> Iterator[Begun]:
    folder = find(shared.state, str(asked.resume))
    stored = stored_of(folder)
    playbook = parse_playbook(stored.playbook, Path(stored.path))
    knowledge = load_knowledge(shared.signature_folders, engine=playbook.engine)
    with ExitStack() as stack:
        specs = [stack.enter_context(stored_spec(shared, spec)) for spec in stored.specs]
        journal = stack.enter_context(Journal(folder, secrets=_secrets(specs)))
        wishes = {**stored.more, **{k: v for k, v in _wishes(asked).items() if v}}
        yield _order(shared, asked, playbook, specs, stored.overrides, wishes), journal, knowledge


@contextmanager
def stored_spec(shared: Common, spec: HostSpec) -> Iterator[HostSpec]:
    """Yield the host of a run that is over or broken off; the simulated host is started again."""
    if spec.name == "lab":
        with host_spec(shared, "lab") as fresh:
            yield fresh
    else:
        yield spec


def _wishes(asked: Asked) -> dict[str, Any]:
    return {
        "max_attempts": asked.max_attempts,
        "deadline": asked.deadline,
        "replace": asked.replace,
        "wait": asked.wait,
        "keep": asked.keep,
        "forget": asked.forget,
    }


def now() -> str:
    """Return the time as records hold it."""
    return stamp(SystemClock().now())


def owner() -> dict[str, Any]:
    """Return who runs relight here, for the locks on the host."""
    return {"owner_user": getpass.getuser(), "owner_host": socket.gethostname(), "owner_pid": os.getpid()}


def typed(shared: Common, asked: Asked) -> dict[str, tuple[str, ...]]:
    """Return the options that were typed and that a command for the same run needs too."""
    given = {"hosts": (shared.hosts,), "state": (shared.state_dir,), "signatures": shared.signatures}
    paths = {name: tuple(str(path.absolute()) for path in held if path) for name, held in given.items()}
    words = {"set": asked.sets, "unset": asked.unsets, "env": asked.env}
    return {name: held for name, held in (*paths.items(), *words.items()) if held}


def _run(
    shared: Common, asked: Asked, order: RunOrder, journal: Journal, knowledge: Knowledge, send: Send | None
) -> int:
    logging.start(journal.folder, verbose=shared.verbose)
    host = open_hosts(order.hosts)
    try:
        with Listeners(shared, asked.events, journal, order, send=send) as listeners:
            fault = _caught(lambda: run_loop(
                order, host, journal, knowledge, clock=SystemClock(),
                emit=listeners.emit,
            ))  # fmt: skip
    finally:
        host.close()
        logging.stop()
    if order.spec.name == RESERVED and journal.record.state == "healthy":
        _gone(journal)
    return ended(shared, journal.record, fault)


def _gone(journal: Journal) -> None:
    """Note that the simulated host ends with its command, and its server with it."""
    at = now()
    environment = {**journal.record.environment, "stopped": at}
    journal.write(Event(at, journal.record.run, None, "stopped", {"set_record": {"environment": environment}}))


def _caught(loop: Callable[[], Record]) -> RelightError | KeyboardInterrupt | None:
    try:
        loop()
    except KeyboardInterrupt as interrupt:
        return interrupt
    except RelightError as fault:
        # Busy, or broken off with the server untouched: the record is what is printed. The rest is an error document.
        if fault.exit_status not in {RelightError.exit_status, BusyError.exit_status}:
            raise
        return fault
    return None


def ended(shared: Common, record: Record, fault: RelightError | KeyboardInterrupt | None) -> int:
    """Print how a run ended and return its status."""
    if isinstance(fault, KeyboardInterrupt):
        say(f"relight: interrupted; go on with `{shown(resumed(record))}`", err=True)
    elif fault and shared.quiet:
        # Otherwise the screen has said it already.
        say(f"relight: {shown(str(fault))}", err=True)
    if shared.json:
        document(redact_json(to_json(with_moves(record))))
    elif shared.quiet:
        _final_command(record)
        if not (record.final or fault):
            end = ": ".join(part for part in (record.state, record.reason.rstrip(".")) if part)
            say(f"relight: {shown(end)}; see `{shown(about(record, 'report'))}`", err=True)
    elif fault is None:
        say(text.render_short(record, width=width()), nl=False)
    return STATUS[record.state]


def _final_command(record: Record) -> None:
    if record.final:
        env = [f"{name}={value}" for name, value in record.final.env.items()]
        python = str(record.environment.get("python") or "python")
        say(shown(shlex.join([*env, python, "-m", f"{record.engine.name}.launch_server", *record.final.argv])))
