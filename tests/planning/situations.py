"""Playbooks, parsers, diagnoses and records for the tests of planning."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from relight.planning.plan import next_step
from relight.planning.world import World
from relight.words.attempt import Attempt, Outcome, Record, Rung
from relight.words.diagnosis import Advice, Cause, Constraint, Diagnosis
from relight.words.knowledge import FlagFact, Knowledge, Rename
from relight.words.parser import HostParser, ParserFlag
from relight.words.playbook import Budget, Lever, Playbook, Variant
from relight.words.settings import Repair, Settings
from relight.words.step import Ask, Candidate, Launch, Plan, Reject

PARSER = HostParser(
    (
        ParserFlag(("model-path", "model"), "model_path", required=True),
        ParserFlag(("port",), "port", "int", default=30000),
        ParserFlag(("tensor-parallel-size", "tp-size", "tp"), "tp_size", "int", default=1),
        ParserFlag(("mem-fraction-static",), "mem_fraction_static", "float"),
        ParserFlag(("chunked-prefill-size",), "chunked_prefill_size", "int"),
        ParserFlag(("cuda-graph-max-bs",), "cuda_graph_max_bs", "int"),
        ParserFlag(("attention-backend",), "attention_backend", choices=("flashinfer", "triton", "fa3", "trtllm_mha")),
        ParserFlag(("moe-runner-backend",), "moe_runner_backend", default="auto"),
        ParserFlag(("kv-cache-dtype",), "kv_cache_dtype", default="auto"),
        ParserFlag(("speculative-algorithm", "speculative-algo"), "speculative_algorithm"),
        ParserFlag(("speculative-num-steps",), "speculative_num_steps", "int"),
        ParserFlag(("speculative-eagle-topk",), "speculative_eagle_topk", "int"),
        ParserFlag(("speculative-num-draft-tokens",), "speculative_num_draft_tokens", "int"),
        ParserFlag(("mamba-scheduler-strategy",), "mamba_scheduler_strategy", default="auto"),
        ParserFlag(("disable-radix-cache",), "disable_radix_cache", action="store_true", default=False),
        ParserFlag(("enable-mscclpp",), "enable_mscclpp", action="store_true", default=False),
        ParserFlag(("enable-torch-symm-mem",), "enable_torch_symm_mem", action="store_true", default=False),
        ParserFlag(("overlap", "no-overlap"), "overlap", action="boolean_optional", default=True),
    ),
    "0.5.9",
)
FACTS = {
    "model-path": FlagFact("model-path", always_protected=True),
    "port": FlagFact("port", always_protected=True),
    "ssl-*": FlagFact("ssl-*", always_protected=True),
    "kv-cache-dtype": FlagFact("kv-cache-dtype", alters_answers=True, ladder=("fp8_e4m3", "auto")),
    "attention-backend": FlagFact("attention-backend", ladder=("flashinfer", "triton")),
    "mem-fraction-static": FlagFact("mem-fraction-static", bounds=(0.3, 0.97)),
    "cuda-graph-max-bs": FlagFact("cuda-graph-max-bs", ladder=(256, 64, 8)),
}
RENAMES = (
    Rename("cuda-graph-max-batch", {"cuda-graph-max-bs": "{value}"}, since="0.5.0", why="renamed"),
    Rename("enable-flashmla", {"attention-backend": "triton"}, since="0.4.9"),
    Rename("long-gone", {}, since="0.5.0", why="it is the default now"),
)
KNOWLEDGE = Knowledge(renames=RENAMES, facts=FACTS)
WORLD = World(parser=PARSER, version="0.5.9", knowledge=KNOWLEDGE)
BASE: Mapping[str, Any] = {"model-path": "m", "tp-size": 8, "port": 30000}


def playbook(*levers: Lever, flags: Mapping[str, Any] | None = None, **more: Any) -> Playbook:
    more.setdefault("protect_flags", frozenset({"tp-size"}))
    return Playbook("p", flags={**BASE, **(flags or {})}, levers=levers, **more)


def lever(name: str, *variants: Variant | str, keep: float = 1.0) -> Lever:
    return Lever(name, tuple(Variant(off=True) if isinstance(v, str) else v for v in variants), keep)


def variant(flags: Mapping[str, Any] | None = None, **more: Any) -> Variant:
    return Variant(flags or {}, **more)


def cause(kind: str = "assertion.args", *, blames: tuple[str, ...] = (), confidence: float = 0.9, **more: Any) -> Cause:
    more.setdefault("signature", "s-" + kind if blames else None)
    more.setdefault("fingerprint", kind + "/" + ",".join(blames))
    more.setdefault("phase", None)
    facts = {"line": 7, "text": "boom", "rank": None, "summary": kind, **more}
    return Cause(kind.split(".", maxsplit=1)[0], kind, confidence=confidence, blames=blames, **facts)


def diagnosis(
    cause_: Cause | None, *repairs: Repair, action: Advice = "change", constraint: Constraint | None = None
) -> Diagnosis:
    return Diagnosis("log", "failed", cause=cause_, repairs=repairs, action=action, constraint=constraint)


def record(*attempts: Attempt) -> Record:
    return Record("r", "f", "p", "h", ("h",), attempts=tuple(replace(a, n=i) for i, a in enumerate(attempts, 1)))


def attempt(
    candidate: Candidate | Settings,
    outcome: Outcome = "crashed",
    found: Diagnosis | None = None,
    rung: Rung = "real",
    **more: Any,
) -> Attempt:
    if isinstance(candidate, Settings):
        candidate = Candidate(candidate)
    return Attempt(
        0,
        rung,
        candidate.settings,
        changes=candidate.changes,
        choice=candidate.choice,
        alters_answers=candidate.alters_answers,
        outcome=outcome,
        diagnosis=found,
        **more,
    )


def plan(book: Playbook, *attempts: Attempt, world: World = WORLD) -> Plan:
    return next_step(record(*attempts), book, world)


def launch(book: Playbook, *attempts: Attempt, world: World = WORLD) -> Candidate:
    step = plan(book, *attempts, world=world).step
    assert isinstance(step, Launch), step
    return step.candidate


Engine = Callable[[Candidate], Diagnosis | None]


def played(book: Playbook, engine: Engine, world: World = WORLD, most: int = 200) -> tuple[list[Attempt], Plan]:
    """Play a run against an engine that says what fails (None: healthy) until it ends."""
    attempts: list[Attempt] = []
    for _ in range(most):
        found = next_step(record(*attempts), book, world)
        step = found.step
        if isinstance(step, Reject):
            attempts.append(attempt(step.candidate, "rejected", rung=step.rung))
        elif isinstance(step, Launch):
            verdict = engine(step.candidate)
            attempts.append(attempt(step.candidate, "crashed" if verdict else "healthy", verdict))
            if verdict is None:
                return attempts, found
        else:
            assert not isinstance(step, Ask), step
            return attempts, found
    raise AssertionError(f"no end after {most} steps")


def budget(**more: Any) -> Budget:
    return Budget(**more)
