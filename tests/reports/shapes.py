"""Records of every shape: each part there or missing, each state, each outcome, drawn with a seed."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias

from relight.words.attempt import (
    Attempt,
    Exit,
    Final,
    Incident,
    LeverState,
    NodeEnd,
    Nogood,
    Option,
    Phase,
    Record,
    Term,
)
from relight.words.diagnosis import Cause, Constraint, Diagnosis, Engine, Frame, LogLine, Traceback
from relight.words.host import Gpu
from relight.words.kinds import KINDS
from relight.words.settings import Repair, Settings

Draw: TypeAlias = Callable[[Random], Any]


def one(*values: Any) -> Draw:
    """Draw one of the values."""
    return lambda dice: dice.choice(values)


def some(draw: Draw, most: int) -> Draw:
    """Draw a tuple of none to `most`."""
    return lambda dice: tuple(draw(dice) for _ in range(dice.randint(0, most)))


def maybe(draw: Draw) -> Draw:
    """Draw a value or None."""
    return lambda dice: draw(dice) if dice.random() < 0.7 else None


def table(keys: Draw, values: Draw, most: int) -> Draw:
    """Draw a dictionary of up to `most` rows."""
    return lambda dice: {keys(dice): values(dice) for _ in range(dice.randint(0, most))}


def made(cls: type, /, **parts: Draw) -> Draw:
    """Draw the parts of a value, in the order they are named."""
    return lambda dice: cls(**{name: draw(dice) for name, draw in parts.items()})


def share(most: float = 1.0) -> Draw:
    """Draw a number."""
    return lambda dice: dice.uniform(0, most)


TIMES = one("2026-11-29T08:00:00Z", "2026-11-29T08:07:30Z", "2026-11-29T09:00:00Z")
SENTENCES = one("", "it does not fit", "Two words.", "a `--flag 1` is asked for", "why: so")
NAMES = one("tp-size", "mem-fraction-static", "enable-x", "attention-backend")
VALUES = one(1, 0.9, True, False, "triton", (1, 2), {"a": 1})
ENV = table(one("NCCL_P2P_LEVEL", "SGLANG_X"), one("1", "SYS", ""), 2)
ENGINE = made(Engine, name=one("sglang"), version=one(None, "0.5.9"))
EXIT = maybe(made(Exit, code=one(None, 1), signal=one(None, 9)))
SOURCE = "/x/site-packages/sglang/srt/a.py"
YES_NO = one(True, False)

settings_ = made(Settings, flags=table(NAMES, VALUES, 4), env=ENV)
_repairs = made(
    Repair,
    set=table(one("tp-size", "enable-x"), VALUES, 2),
    unset=some(one("attention-backend"), 1),
    set_env=ENV,
    unset_env=some(one("SGLANG_Y"), 1),
    why=SENTENCES,
    origin=one("message", "source", "memory", "signature", "lever", "isolation"),
    cost=share(9),
    confirmed=YES_NO,
    gives_up=SENTENCES,
    alters_answers=YES_NO,
)


def repairs(dice: Random) -> Repair:
    """Draw a repair; one that changes nothing is none."""
    drawn: Repair = _repairs(dice)
    return drawn or replace(drawn, set={"tp-size": 4})


LINES = made(LogLine, line=lambda dice: dice.randint(1, 40), text=one("", "  raise X(", "RuntimeError: no", "x" * 300))
_causes = made(
    Cause,
    family=one("x"),
    kind=one(*sorted(KINDS)),
    signature=one(None, "some-signature"),
    fingerprint=one("", "a1", "b2"),
    line=one(None, 3, 17),
    text=one("", "RuntimeError: no", "AssertionError"),
    rank=one(None, "TP0", "DP1 TP1"),
    phase=one(None, "args", "load_weights", "serving"),
    confidence=share(),
    summary=SENTENCES,
)


def causes(dice: Random) -> Cause:
    """Draw a cause of any kind."""
    drawn: Cause = _causes(dice)
    return replace(drawn, family=drawn.kind.split(".", maxsplit=1)[0])


FRAMES = made(Frame, file=one(SOURCE), line=one(3), function=one("f"), text=one("", "assert x"))
CONSTRAINTS = made(
    Constraint,
    file=one(SOURCE),
    line=one(3),
    condition=one("", "--tp-size is 1"),
    guards=some(one("a is given", "x" * 200), 5),
    operand=one("", "self.tp_size == 1"),
    values=table(NAMES, maybe(VALUES), 3),
    excerpt=one((), ((2, ""), (3, "    assert self.tp_size == 1"))),
    opaque=some(one("f(x)", "g"), 5),
)
_diagnoses = made(
    Diagnosis,
    log=one("server.log"),
    verdict=one("failed", "healthy", "starting", "unknown"),
    engine=ENGINE,
    cause=maybe(causes),
    traceback=maybe(made(Traceback, type=one("X"), message=SENTENCES, frames=some(FRAMES, 2))),
    constraint=maybe(CONSTRAINTS),
    cascade=some(made(LogLine, line=one(20, 30), text=one("Received sigquit")), 2),
    repairs=some(repairs, 3),
    action=one("change", "again", "clean", "person", "none"),
    evidence=some(LINES, 4),
    memory=some(one("94.1 GiB are there, 96 GiB were asked for."), 2),
    next=SENTENCES,
)
NODES = made(
    NodeEnd,
    rank=one(0, 1),
    host=one("rtx-b"),
    log=one("", "attempts/001/node1.log"),
    exit=EXIT,
    stopped=YES_NO,
    first=YES_NO,
    kind=one("", "comm.nccl"),
    text=SENTENCES,
)
ATTEMPTS = made(
    Attempt,
    n=one(1),
    rung=one("parse", "validate", "dummy", "real", "real"),
    settings=settings_,
    argv=one((), ("--tp-size", "8")),
    changes=some(repairs, 2),
    alters_answers=YES_NO,
    phases=some(made(Phase, name=one("args", "load_weights", "serving"), started=TIMES, ended=maybe(TIMES)), 3),
    outcome=one(None, "healthy", "crashed", "hung", "sick", "rejected", "aborted"),
    diagnosis=maybe(_diagnoses),
    exit=EXIT,
    started=one("", "2026-11-29T08:00:00Z"),
    ended=maybe(TIMES),
    log=one("", "attempts/001/server.log"),
    choice=table(one("spec"), one(None, 1, 2), 1),
    effective=table(NAMES, maybe(VALUES), 2),
    judged=some(one("5 of 5 answers are right", "it says !"), 2),
    gpu_memory=some(lambda dice: (dice.uniform(0, 500), dice.randint(0, 97887)), 5),
    measured=table(one("tokens_per_second", "else", "tokens_per_second_8"), one(81.0, float("nan")), 2),
    because=SENTENCES,
    nodes=some(NODES, 2),
)
TERMS = made(
    Term,
    name=NAMES,
    op=one("=", "!=", "set", "unset"),
    value=lambda dice: [maybe(VALUES)(dice) for _ in range(dice.randint(1, 2))],
    env=YES_NO,
)
NOGOODS = made(
    Nogood,
    when=one("--tp-size = 8"),
    because=one("attempt 1", "attempts 1, 2", "run y, attempt 3"),
    kind=one("oom.gpu.kv_pool"),
    confidence=share(),
    hard=YES_NO,
    terms=some(TERMS, 3),
)
OPTIONS = made(
    Option,
    change=one("--tp-size", "spec: off"),
    status=one("tried", "excluded", "rejected", "protected", "untried"),
    why=SENTENCES,
)
LEVERS = made(
    LeverState,
    name=one("spec"),
    requested=one(None, 1),
    kept=one(None, 1, 2),
    changed=some(one("--x 1"), 1),
    in_effect=one(None, True, False),
)
FINAL = made(
    Final, argv=one(("--tp-size", "8")), env=ENV, levers=some(LEVERS, 1), effective=table(NAMES, maybe(VALUES), 2)
)
STATES = one(
    "running", "healthy", "failed", "exhausted", "budget", "person", "busy", "unreachable", "interrupted", "replaced"
)
_records = made(
    Record,
    run=one("20261129-0800-x-abcd"),
    folder=one("/state/runs/x"),
    playbook=one("x"),
    host=one("rtx8"),
    hosts=one((), ("rtx8",), ("rtx-a", "rtx-b")),
    engine=ENGINE,
    state=STATES,
    started=TIMES,
    ended=maybe(TIMES),
    attempts=some(ATTEMPTS, 3),
    nogoods=some(NOGOODS, 3),
    options=some(OPTIONS, 3),
    final=maybe(FINAL),
    reason=SENTENCES,
    next=SENTENCES,
    environment=one(
        {}, {"gpus": (Gpu(0, "RTX PRO 6000", 97887, 4, driver="580"),), "kernel": "6.8", "link": None, "versions": {}}
    ),
    incidents=some(made(Incident, attempt=one(1), at=TIMES, why=SENTENCES, healthy=share(9e4)), 1),
    asked=maybe(settings_),
)


def record_of(seed: int) -> Record:
    """Return the record of a seed."""
    drawn: Record = _records(Random(seed))  # noqa: S311  nothing secret
    return replace(drawn, attempts=tuple(replace(a, n=n) for n, a in enumerate(drawn.attempts, 1)))


def diagnosis_of(seed: int) -> Diagnosis:
    """Return the diagnosis of a seed."""
    drawn: Diagnosis = _diagnoses(Random(seed))  # noqa: S311  nothing secret
    return drawn
