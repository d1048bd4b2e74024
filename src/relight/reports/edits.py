"""Settings and changes to them, as lines of a command."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relight.reports.blocks import Command, Edit
from relight.words.argv import to_argv
from relight.words.settings import Change, FlagValue, Settings

_NONE = Settings()
GONE, COME = "without ", "with "
"""What stands before what leaves a command, and before what enters it."""


def flag_line(name: str, value: FlagValue) -> str:
    """Return one flag as it stands on a command line."""
    return shlex.join(to_argv({name: value})) or f"--{name} (off)"


def env_line(name: str, value: str) -> str:
    """Return one variable as it stands before a command."""
    return f"{name}={shlex.quote(str(value))}"


def diff(old: Settings, new: Settings) -> tuple[Edit, ...]:
    """Return what must be edited in a command with `old` to have `new`; a name's two lines stand together."""
    flags = _diff(old.flags, new.flags, flag_line, env=False)
    return (*flags, *_diff(old.env, new.env, env_line, env=True))


def _diff(old: Mapping[str, Any], new: Mapping[str, Any], line: Callable[[str, Any], str], *, env: bool) -> list[Edit]:
    edits: list[Edit] = []
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if before == after and (name in old) == (name in new):
            continue
        if name in old:
            edits.append(Edit("-", line(name, before), env))
        if name in new:
            edits.append(Edit("+", line(name, after), env))
    return edits


def edits_of(change: Change, settings: Settings = _NONE) -> tuple[Edit, ...]:
    """Return a change as edits of `settings`; what it unsets is named even where `settings` does not hold it."""
    missing = tuple(Edit("-", f"--{n}") for n in change.unset if n not in settings.flags)
    gone = tuple(Edit("-", n, env=True) for n in change.unset_env if n not in settings.env)
    return (*missing, *diff(settings, settings.changed(change)), *gone) or _as_given(change)


def _as_given(change: Change) -> tuple[Edit, ...]:
    flags = (Edit("+", flag_line(n, v)) for n, v in change.set.items())
    return (*flags, *(Edit("+", env_line(n, v), env=True) for n, v in change.set_env.items()))


def brief(edits: Sequence[Edit]) -> tuple[str, ...]:
    """Return edits in their shortest form, one each: `without --a 1`, `with --b 2`, `--c 0.9 -> 0.8`."""
    going = {_name(e.text): e.text for e in edits if e.sign == "-"}
    lines = {name: f"{GONE}{text}" for name, text in going.items()}
    for edit in edits:
        name = _name(edit.text)
        if edit.sign == "+":
            lines[name] = f"{going[name]} -> {_held(edit.text)}" if name in going else f"{COME}{edit.text}"
    return tuple(lines.values())


def lines_of(edits: Sequence[Edit]) -> tuple[str, ...]:
    """Return edits in their shortest form, flags before variables, which are told apart."""
    flags, variables = ([e for e in edits if e.env is env] for env in (False, True))
    return (*brief(flags), *(f"{line}   (environment)" for line in brief(variables)))


def in_a_sentence(line: str) -> str:
    """Return an edit as it is said in a sentence."""
    return f"{GONE}`{line.removeprefix(GONE)}`" if line.startswith(GONE) else f"`{line.removeprefix(COME)}`"


def named_by(line: str) -> str:
    """Return the flag or variable that a line of `brief` is about."""
    return re.split(r"[ =]", line.removeprefix(GONE).removeprefix(COME))[0]


def _name(text: str) -> str:
    return re.split(r"[ =]", text.removeprefix("--"), maxsplit=1)[0]


def _held(text: str) -> str:
    return re.split(r"[ =]", text, maxsplit=1)[-1]


def command(argv: Sequence[str], env: Mapping[str, str], *, python: str = "python", module: str) -> Command:
    """Return a command to paste, one flag to a line; `argv` may or may not begin with the interpreter."""
    start, rest = _start(argv, python, module)
    lines = [*(env_line(n, v) for n, v in env.items()), start, *(f"  {line}" for line in _flag_lines(rest))]
    return Command((*(f"{line} \\" for line in lines[:-1]), lines[-1]))


def _start(argv: Sequence[str], python: str, module: str) -> tuple[str, Sequence[str]]:
    first = next((i for i, word in enumerate(argv) if word.startswith("--")), len(argv))
    return shlex.join(argv[:first] or (python, "-m", module)), argv[first:]


def _flag_lines(argv: Sequence[str]) -> list[str]:
    lines: list[list[str]] = []
    for word in argv:
        if word.startswith("--") or not lines:
            lines.append([])
        lines[-1].append(word)
    return [shlex.join(line) for line in lines]
