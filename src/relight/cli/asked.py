"""What a call of deploy or retry asks for, before any file is read."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from relight.config.durations import ALLOWED, parse_duration
from relight.config.hosts import RESERVED
from relight.words.errors import UsageError


class Duration(click.ParamType[float]):
    """A duration: 90s, 45m, 8h, 1h30m."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        if isinstance(value, float):
            return value
        try:
            return parse_duration(str(value))
        except ValueError:
            self.fail(f"{value!r} is not {ALLOWED}", param, ctx)


@dataclass(frozen=True)
class Asked:
    """The options of one call."""

    mode: Literal["deploy", "retry"]
    playbook: Path | None
    host_names: tuple[str, ...]
    sets: tuple[str, ...]
    unsets: tuple[str, ...]
    env: tuple[str, ...]
    max_attempts: int | None
    deadline: float | None
    dry_run: bool
    replace: bool
    wait: bool
    forget: bool
    resume: str | None
    events: str | None
    keep: bool = False
    notify: tuple[str, ...] = ()

    def checked(self, *, json: bool) -> "Asked":
        """Return this call, or raise UsageError for what cannot go together."""
        if self.events == "-" and json:
            then = "write the events to a file, or leave --format json out"
            raise UsageError("stdout can carry the events or the record, not both", place="--events -", next=then)
        self._events_can_be_written()
        if self.resume:
            self._resumes_alone()
        elif self.playbook is None or not self.host_names:
            missing = "PLAYBOOK" if self.playbook is None else "--host NAME"
            then = f"relight {self.mode} PLAYBOOK --host NAME; or --resume RUN goes on with a run"
            raise UsageError(f"{missing} is missing", place=f"relight {self.mode}", next=then)
        if len(self.host_names) > 1 and RESERVED in self.host_names:
            text = f"{RESERVED} is one host that lives as long as the command"
            raise UsageError(text, place="--host", next="`relight lab --nodes 2` starts several to name")
        return self

    def _events_can_be_written(self) -> None:
        path = Path(self.events or "-").expanduser()
        place = f"--events {self.events}"
        if not path.parent.is_dir():
            raise UsageError(f"no such folder: {path.parent}", place=place, next="make it first")
        if path.is_dir():
            raise UsageError("is a folder", place=place, next="name a file in it")
        if self.events not in {None, "-"} and not os.access(path if path.exists() else path.parent, os.W_OK):
            raise UsageError("may not be written", place=place, next="name another file")

    def _resumes_alone(self) -> None:
        given = {
            "PLAYBOOK": self.playbook, "--host": self.host_names, "--set": self.sets, "--unset": self.unsets,
            "--env": self.env, "--dry-run": self.dry_run,
        }  # fmt: skip
        named = [name for name, value in given.items() if value]
        if named:
            text = f"{named[0]} cannot go with --resume: the copy stored in the run is used"
            raise UsageError(text, place="--resume", next=f"leave {named[0]} out, or start a new run")
