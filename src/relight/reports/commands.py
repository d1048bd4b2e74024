"""Commands of relight that a report suggests, ready to paste: the files and folders of the run are in them."""

import shlex
from collections.abc import Mapping
from dataclasses import replace

from relight.words.attempt import Record

_TABLE = "[hosts.NAME"
_OF_A_RUN = ("set", "unset", "env", "hosts", "state", "signatures")


def again(record: Record, *words: str) -> str:
    """Return the command that runs the playbook of this run again; `words` go behind it."""
    playbook = str(record.environment.get("playbook_file") or record.playbook)
    hosts = (word for name in record.hosts or (record.host,) for word in ("--host", name))
    return _joined("retry", playbook, *hosts, *words, *_typed(record, *_OF_A_RUN))


def about(record: Record, *words: str) -> str:
    """Return a command about this run: `words` are the subcommand and what goes between it and the run's id."""
    return _joined(*words, record.run, *_typed(record, "state"))


def resumed(record: Record, *words: str) -> str:
    """Return the command that goes on with this run."""
    return _joined("retry", "--resume", record.run, *words, *_typed(record, "state", "signatures"))


def named(record: Record) -> Record:
    """Return the record with the host's own name where advice says which table of hosts.toml is meant."""

    def told(text: str) -> str:
        return text.replace(_TABLE, f"[hosts.{record.host}")

    attempts = (
        replace(a, diagnosis=replace(a.diagnosis, next=told(a.diagnosis.next))) if a.diagnosis else a
        for a in record.attempts
    )
    return replace(record, next=told(record.next), attempts=tuple(attempts))


def _joined(*words: str) -> str:
    return shlex.join(("relight", *words))


def _typed(record: Record, *names: str) -> tuple[str, ...]:
    """Return the options that were typed when the run began, as far as the command takes them."""
    held = record.environment.get("options")
    options = held if isinstance(held, Mapping) else {}
    return tuple(word for name in names for value in options.get(name) or () for word in (f"--{name}", str(value)))
