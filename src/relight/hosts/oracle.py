"""Ask the host's own argument validation about settings, without launching anything.

The question goes to the host as one command, `host.run(command(), stdin=request(...), launch_env=True)`; `answers`
reads what came back, and `trusted` compares the first answer with what a log already shows.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from relight.hosts.oracle_source import oracle_script
from relight.hosts.values import Ran, Validation
from relight.words.argv import to_argv
from relight.words.diagnosis import Frame
from relight.words.parser import HostParser
from relight.words.settings import Settings
from relight.words.step import Answer

BOOT = (
    "import sys;b=sys.stdin.buffer;"
    "[exec(compile(b.read(int(b.readline())),'<oracle>','exec'),globals()) for _ in range(int(b.readline()))]"
)
MARK = "relight-oracle-"


@dataclass(frozen=True)
class Limits:
    """How much one question may cost.

    `load` and `candidate` are seconds for an import and for one candidate, `total` for everything; `memory` is MiB a
    candidate may take on top of the import; `imports` is how many different environments get an import of their own.
    """

    load: float = 180.0
    candidate: float = 60.0
    total: float = 280.0
    memory: int = 8192
    imports: int = 5


def command(python: str = "PYTHON") -> tuple[str, ...]:
    """Return the argv that runs the oracle; its stdin is what `request` returns."""
    return (python, "-u", "-c", BOOT)


def request(
    candidates: Sequence[Settings],
    parser: HostParser | None,
    *,
    limits: Limits | None = None,
    without: Iterable[str] = (),
    modules: Sequence[str] = (),
) -> bytes:
    """Return the bytes for the oracle's stdin: its source, then the candidates.

    `without` names variables of the launch environment that come with the settings (hosts.toml's own): a candidate has
    them only if it says so itself. `modules` are those that validation imported before (see `imported`).
    """
    items = [{"index": n, "argv": list(to_argv(c.flags, parser)), "env": dict(c.env)} for n, c in enumerate(candidates)]
    asked = {
        "mark": _mark(candidates),
        "candidates": items,
        "limits": asdict(limits or Limits()),
        "without": sorted(without),
        "modules": list(modules),
    }
    parts = oracle_script()
    script = b"".join(b"%d\n" % len(part) + part for part in parts)
    return b"%d\n" % len(parts) + script + json.dumps(asked).encode()


def _mark(candidates: Sequence[Settings]) -> str:
    """Return a word that what the engine prints cannot hold by chance."""
    return MARK + hashlib.sha256(repr(candidates).encode()).hexdigest()[:16] + " "


def answers(ran: Ran, candidates: Sequence[Settings]) -> Validation:
    """Return what the oracle said; `asked` is False with the reason where it could not be asked."""
    _, found, text = ran.stdout.decode(errors="replace").rpartition(_mark(candidates))
    if not found:
        return Validation(asked=False, why=_no_answer(ran))
    said = json.loads(text)
    if all(not a["passed"] and a["type"] == "NoAnswer" for a in said["answers"]):
        why = said["why"] or "; ".join(dict.fromkeys(a["message"] for a in said["answers"]))
        return Validation(asked=False, why=f"the engine's own validation cannot be asked: {why}")
    return Validation(tuple(map(_answer, said["answers"])), seconds=sum(said["seconds"]))


def imported(ran: Ran, candidates: Sequence[Settings]) -> tuple[str, ...]:
    """Return the modules that validation imported on its way: an oracle that knows them need not wait for each."""
    _, found, text = ran.stdout.decode(errors="replace").rpartition(_mark(candidates))
    return tuple(json.loads(text)["modules"]) if found else ()


def _no_answer(ran: Ran) -> str:
    last = [line for line in ran.stderr.decode(errors="replace").splitlines() if line.strip()][-1:]
    how = "ran out of time" if ran.code is None else f"ended with status {ran.code}"
    return f"the engine's own validation cannot be asked: it {how}" + (f": {last[0].strip()[:300]}" if last else "")


def _answer(said: Mapping[str, Any]) -> Answer:
    if said["passed"]:
        return Answer(True, resolved=said["resolved"], log=said["log"])
    log = said.get("log", "")
    frames = tuple(Frame(file, line, function) for file, line, function in said.get("frames", ()))
    message = _usage_error(log) if said["type"] == "SystemExit" else ""
    return Answer(
        False, said["type"], message or said["message"], said.get("file", ""), said.get("line", 0), {}, log, frames
    )


def _usage_error(log: str) -> str:
    """Return the line in which argparse says what it refused."""
    return next((line.strip() for line in reversed(log.splitlines()) if ": error: " in line), "")


@dataclass(frozen=True)
class Known:
    """The outcome of the first candidate as a log shows it: passed, or the type and place of the refusal."""

    passed: bool
    type: str = ""
    message: str = ""
    file: str = ""
    line: int = 0


def trusted(validation: Validation, known: Known | None) -> Validation:
    """Return `validation`, or one that says why it is not trusted where its first answer contradicts `known`."""
    if known is None or not validation.asked or not validation.answers:
        return validation
    why = _contradiction(validation.answers[0], known)
    return Validation(asked=False, why=why, seconds=validation.seconds) if why else validation


def _contradiction(answer: Answer, known: Known) -> str:
    """Say how an answer differs from what is known, "" where it does not."""
    seen, said = _outcome(known), _outcome(answer)
    if answer.passed == known.passed and (known.passed or _alike(answer, known)):
        return ""
    return f"the host's validation is not trusted: the log shows that these settings {seen}, but it says they {said}"


def _outcome(it: Answer | Known) -> str:
    if it.passed:
        return "pass validation"
    place = f" at {it.file.rpartition('/')[2]}:{it.line}" if it.file else ""
    return f"are refused with {it.type or 'an error'}{place}"


def _alike(answer: Answer, known: Known) -> bool:
    """Say whether two refusals are the same one; what is not known of the log is not compared."""
    types = not known.type or answer.type.rpartition(".")[2] == known.type.rpartition(".")[2]
    places = not known.file or answer.file.rpartition("/")[2] == known.file.rpartition("/")[2]
    return types and places
