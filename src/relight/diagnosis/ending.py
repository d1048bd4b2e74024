"""How a server ended as evidence: where its log names no cause, a signal from outside is one."""

from dataclasses import dataclass, replace

from relight.diagnosis.candidates import Candidate
from relight.diagnosis.kernel import seen_by_us
from relight.diagnosis.match import matcher
from relight.diagnosis.rank import Choice
from relight.logs.lines import Line
from relight.logs.records import record
from relight.words.attempt import Exit
from relight.words.knowledge import Knowledge

SIGKILL = 9


@dataclass(frozen=True)
class Ended:
    """How the process ended, and what the kernel logged since it began; () where that may not be read.

    `oom_kills` is how many processes the kernel killed for want of memory meanwhile, None where it does not count.
    """

    exit: Exit | None = None
    kernel: tuple[str, ...] = ()
    oom_kills: int | None = None


def with_exit(choice: Choice, ended: Ended, phase: str | None, knowledge: Knowledge) -> Choice:
    """Return the choice after it was heard how the server ended: that explains only what the log does not."""
    root = choice.root
    if root is not None and root.role != "cascade" and not (ended.oom_kills and seen_by_us(root)):
        return choice
    text = _of_a_child(ended) if root and _was_killed(root) else _of_the_main_process(choice, ended)
    claims = matcher(knowledge.signatures).claims(text)[:1] if text else []
    if not claims:
        return choice
    if root and _was_killed(root):
        return replace(choice, root=replace(root, text=text, claim=claims[0]))
    told = Candidate(-1, record(Line(0, 0, text)), text, phase, claims[0])
    return replace(choice, root=told, cascade=(*((root,) if root else ()), *choice.cascade))


def _was_killed(root: Candidate) -> bool:
    return root.claim is not None and root.claim.signature.kind == "process.killed"


def _of_a_child(ended: Ended) -> str:
    by = _by_the_kernel(ended)
    return f"relight: a process of the server ended by signal {SIGKILL}{by}" if by else ""


def _of_the_main_process(choice: Choice, ended: Ended) -> str:
    number = ended.exit.signal if ended.exit else None
    if number is None or _ended_itself(choice):
        return ""
    by = _by_the_kernel(ended) if number == SIGKILL else ""
    return f"relight: the main process ended by signal {number}{by}"


def _ended_itself(choice: Choice) -> bool:
    """Say whether the log shows that the server took itself down: the engine's own way to do so is SIGKILL."""
    seen = (c for c in (choice.root, *choice.cascade) if c is not None)
    return any(c.claim is not None and c.claim.signature.fatal for c in seen)


def _by_the_kernel(ended: Ended) -> str:
    if ended.oom_kills is None:
        return ""
    killed = f"{ended.oom_kills} processes" if ended.oom_kills else "nothing"
    return f"; the kernel killed {killed} for want of memory meanwhile"
