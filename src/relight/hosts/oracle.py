"""Ask the host's own argument validation about settings, without launching anything."""

from collections.abc import Sequence
from dataclasses import dataclass

from relight.hosts.values import Ran, Validation
from relight.words.parser import HostParser
from relight.words.settings import Settings


@dataclass(frozen=True)
class Limits:
    """How much one question may cost: seconds for the import and per candidate, MiB per candidate."""

    load: float = 180.0
    candidate: float = 60.0
    memory: int = 8192


def command(python: str = "PYTHON") -> tuple[str, ...]:
    """Return the argv that runs the oracle; its stdin is what `request` returns."""
    return (python, "-u", "-c", "")


def request(
    candidates: Sequence[Settings], parser: HostParser | None, *, limits: Limits | None = None, module: str = ""
) -> bytes:
    """Return the bytes for the oracle's stdin: its source, then the candidates."""
    return b""


def answers(ran: Ran, candidates: Sequence[Settings]) -> Validation:
    """Return what the oracle said; `asked` is False with the reason where it could not be asked."""
    return Validation(asked=False, why="not asked")


@dataclass(frozen=True)
class Known:
    """The outcome of the first candidate as a log shows it: passed, or the type (and place) of the refusal."""

    passed: bool
    type: str = ""
    message: str = ""
    file: str = ""
    line: int = 0


def trusted(validation: Validation, known: Known | None) -> Validation:
    """Return `validation`, or one that says why it is not trusted where its first answer contradicts `known`."""
    return validation
