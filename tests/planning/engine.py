"""An engine whose argument checks are a few lines of Python: run, diagnosed and planned like a real one."""

import linecache
import os
import traceback
from collections.abc import Sequence
from dataclasses import replace

import pytest

from relight.config.knowledge import load_knowledge
from relight.diagnosis import diagnose
from relight.diagnosis.source.wishes import Wishes
from relight.logs.lines import split
from relight.planning.plan import next_step
from relight.planning.world import World
from relight.words.argv import to_argv
from relight.words.attempt import Attempt, Record
from relight.words.diagnosis import Diagnosis
from relight.words.parser import HostParser
from relight.words.playbook import Playbook
from relight.words.settings import Settings
from relight.words.step import Launch, Plan, Step

FILE = "/opt/venv/lib/python3.11/site-packages/sglang/srt/server_args.py"
HEAD = """
import os

class ServerArgs:
    def __init__(self, **given):
        self.__dict__.update(given)
        self.__post_init__()

    def __post_init__(self):
"""
KNOWLEDGE = load_knowledge()


class Engine:
    """An engine of one file. `checks` are the lines of its argument validation."""

    def __init__(self, checks: str, parser: HostParser) -> None:
        self.parser = parser
        body = (f"        {line}\n" for line in checks.strip("\n").split("\n"))
        self.text = HEAD + "".join(body)
        self.knowledge = replace(KNOWLEDGE, versions={"0.5.9": parser})
        self.world = World(parser=parser, version="0.5.9", knowledge=self.knowledge)
        self._code = compile(self.text, FILE, "exec")

    def refuses(self, settings: Settings) -> str:
        """Return what a launch writes before it ends, "" where it is healthy."""
        linecache.cache[FILE] = (len(self.text), None, self.text.splitlines(True), FILE)
        names: dict[str, object] = {}
        with pytest.MonkeyPatch.context() as patch:
            for name, value in settings.env.items():
                patch.setitem(os.environ, name, value)
            try:
                exec(self._code, names)  # noqa: S102  the text is a test's own
                names["ServerArgs"](**self._fields(settings))  # type: ignore[operator]
            except Exception as failure:  # noqa: BLE001  whatever it raises is what a launch would show
                return _printed(failure)
        return ""

    def _fields(self, settings: Settings) -> dict[str, object]:
        fields = {f.dest: f.default for f in self.parser}
        for name, value in settings.flags.items():
            flag = self.parser.resolve(name)
            assert flag
            fields[flag.dest] = (flag.action != "store_false") is value if isinstance(value, bool) else value
        return fields

    def diagnosed(self, settings: Settings, before: str = "") -> Diagnosis | None:
        """Return the diagnosis of a launch with the engine's source at hand, None where it is healthy.

        `before` is what the log says before the end.
        """
        refused = self.refuses(settings)
        log = f"[2026-03-01 10:00:00] {before}\n{refused}" if refused and before else refused
        argv = to_argv(settings.flags, self.parser)
        return diagnose(split([log.encode()]), self.knowledge, name="log", argv=argv, env=settings.env,
                        sources={FILE: self.text}, wishes=Wishes()) if log else None  # fmt: skip

    def played(self, book: Playbook, most: int = 30) -> tuple[list[Attempt], Step]:
        """Play a run without asking the engine's validation; return its attempts and the step it ended with."""
        attempts: list[Attempt] = []
        for n in range(1, most + 1):
            step = self.planned(book, attempts).step
            if not isinstance(step, Launch) or (attempts and attempts[-1].outcome == "healthy"):
                break
            attempts.append(self._launched(n, step))
        return attempts, step

    def planned(self, book: Playbook, attempts: Sequence[Attempt] = ()) -> Plan:
        """Return the next step after `attempts`."""
        return next_step(Record("r", "f", "p", "h", ("h",), attempts=tuple(attempts)), book, self.world)

    def _launched(self, n: int, step: Launch) -> Attempt:
        made = step.candidate
        found = self.diagnosed(made.settings)
        return Attempt(n, step.rung, made.settings, changes=made.changes, choice=made.choice, diagnosis=found,
                       outcome="crashed" if found else "healthy")  # fmt: skip


def _printed(failure: Exception) -> str:
    frames = [f for f in traceback.extract_tb(failure.__traceback__) if f.filename == FILE and f.name != "<module>"]
    shown = [f'  File "{f.filename}", line {f.lineno}, in {f.name}\n    {f.line}' for f in frames]
    last = "".join(traceback.format_exception_only(failure)).rstrip()
    return "\n".join(["Traceback (most recent call last):", *shown, last, ""])
