"""Ten runs, written by hand: what a report must be able to tell."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from relight.words.argv import to_argv
from relight.words.attempt import (
    Attempt,
    Exit,
    Final,
    LeverState,
    Nogood,
    Option,
    Outcome,
    Phase,
    Record,
    Rung,
    State,
)
from relight.words.diagnosis import Cause, Constraint, Diagnosis, Engine, Frame, LogLine, Traceback
from relight.words.host import Gpu
from relight.words.settings import Repair, Settings, WrittenFloat

PHASES = ("args", "init_dist", "load_weights", "pools", "capture", "warmup")
SECONDS = {"args": 11, "init_dist": 24, "load_weights": 402, "pools": 5, "capture": 96, "warmup": 14}
ENGINE = Engine("sglang", "0.5.9")
SERVER_ARGS = "/opt/sglang/lib/python3.11/site-packages/sglang/srt/server_args.py"
ASKED = Settings(
    {
        "model-path": "nvidia/Qwen3.5-397B-A17B-NVFP4",
        "tp-size": 8,
        "port": 30000,
        "mem-fraction-static": WrittenFloat("0.90"),
        "speculative-algorithm": "NEXTN",
        "speculative-eagle-topk": 1,
        "speculative-num-draft-tokens": 2,
        "enable-mscclpp": True,
    },
    {"NCCL_P2P_LEVEL": "SYS", "SGLANG_ENABLE_SPEC_V2": "1"},
)
CHOICE: dict[str, int | None] = {"speculation": 1, "mscclpp": 1}


def at(second: float) -> str:
    """Return a moment of the day all stories happen on."""
    whole = int(second)
    return f"2026-11-29T{8 + whole // 3600:02}:{whole % 3600 // 60:02}:{whole % 60:02}Z"


def phases(begin: float, last: str, *, cut: float | None = None) -> tuple[tuple[Phase, ...], float]:
    """Return the phases up to `last` (which lasts `cut` seconds and has no end if given) and when they are over."""
    out: list[Phase] = []
    now = begin
    for name in PHASES:
        length = cut if name == last and cut is not None else SECONDS[name]
        out.append(Phase(name, at(now), None if name == last and cut is not None else at(now + length)))
        now += length
        if name == last:
            break
    return tuple(out), now


def memory(length: float) -> tuple[tuple[float, int], ...]:
    """Return how a card fills while a model is loaded."""
    steps = [(0.0, 4), (30.0, 1120), (38.0, 1900), (220.0, 31000), (430.0, 61200), (442.0, 86500), (520.0, 90100)]
    kept = [s for s in steps if s[0] <= length]
    return (*kept, (length, kept[-1][1]))


def launch(
    n: int,
    begin: float,
    settings: Settings,
    *,
    last: str = "warmup",
    cut: float | None = None,
    outcome: Outcome = "crashed",
    rung: Rung = "real",
    **more: Any,
) -> Attempt:
    """Return one attempt that got as far as the phase `last`."""
    known, end = phases(begin, last, cut=cut)
    base = Attempt(
        n,
        rung,
        settings,
        to_argv(settings.flags),
        phases=known,
        outcome=outcome,
        started=at(begin),
        ended=at(end + 1),
        log=f"attempts/{n:03}/server.log",
        gpu_memory=memory(end - begin),
        choice=CHOICE,
    )
    return replace(base, **more)


def refused(n: int, when: float, settings: Settings, diagnosis: Diagnosis, *changes: Repair) -> Attempt:
    """Return a candidate that the host's own validation refused."""
    return Attempt(
        n,
        "validate",
        settings,
        to_argv(settings.flags),
        changes,
        outcome="rejected",
        diagnosis=diagnosis,
        started=at(when),
        ended=at(when + 3),
        choice=CHOICE,
    )


def failed(kind: str, line: int, text: str, summary: str, **more: Any) -> Diagnosis:
    """Return a diagnosis with a cause of `kind`; `cause_...` arguments go to the cause."""
    of_cause = {name.removeprefix("cause_"): more.pop(name) for name in list(more) if name.startswith("cause_")}
    cause = Cause(
        **{
            "family": kind.split(".", maxsplit=1)[0],
            "kind": kind,
            "signature": None,
            "fingerprint": f"{kind}-{line}",
            "line": line,
            "text": text,
            "rank": None,
            "phase": "args",
            "confidence": 0.97,
            "summary": summary,
            **of_cause,
        }
    )
    return replace(Diagnosis("server.log", "failed", ENGINE, cause, action="change"), **more)


ENVIRONMENT: Mapping[str, Any] = {
    "gpus": tuple(
        Gpu(i, "NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, 4, driver="580.95.05") for i in range(8)
    ),
    "python": "/opt/sglang/bin/python",
    "kernel": "6.8.0-87-generic",
    "versions": {"torch": "2.9.1", "flashinfer": "0.6.3", "sgl-kernel": "0.3.21"},
    "link": None,
}


def record(name: str, state: State, attempts: tuple[Attempt, ...] = (), **more: Any) -> Record:
    """Return a run on the host that all stories share."""
    base = Record(
        f"20261129-080000-{name}",
        f"~/.local/state/relight/runs/20261129-080000-{name}",
        "qwen3.5-397b-nvfp4",
        "rtx8",
        ("rtx8",),
        ENGINE,
        state,
        at(0),
        at(30) if not attempts else attempts[-1].ended,
        attempts,
        environment=ENVIRONMENT,
    )
    return replace(base, **more)


EXTRA = Repair(
    set={"mamba-scheduler-strategy": "extra_buffer"},
    why="the message names the flag it needs",
    origin="message",
    cost=0,
    confirmed=True,
)
GDN = failed(
    "assertion.args",
    31,
    "ValueError: Speculative decoding for a hybrid model needs --mamba-scheduler-strategy extra_buffer",
    "A hybrid model with speculative decoding needs `--mamba-scheduler-strategy extra_buffer`",
    cause_signature="gdn-spec-extra-buffer",
    evidence=(
        LogLine(29, '  File ".../server_args.py", line 2211, in _handle_mamba'),
        LogLine(30, "    raise ValueError("),
        LogLine(
            31, "ValueError: Speculative decoding for a hybrid model needs --mamba-scheduler-strategy extra_buffer"
        ),
    ),
    traceback=Traceback("ValueError", "", (Frame(SERVER_ARGS, 2211, "_handle_mamba", "raise ValueError("),)),
    repairs=(EXTRA,),
)
UNSET = Repair(
    unset=("speculative-eagle-topk", "speculative-num-draft-tokens"),
    why="the engine then chooses all three by itself",
    origin="source",
    cost=1.0,
    confirmed=True,
    gives_up="the draft depth that was asked for",
)
STEPS = Repair(
    set={"speculative-num-steps": 1},
    why="all three given together is the other way to make the condition hold",
    origin="source",
    cost=0.5,
    confirmed=True,
)
ALL_OR_NONE = failed(
    "assertion.args",
    26,
    "AssertionError",
    "`--speculative-num-steps` is not given, so `--speculative-eagle-topk` must not be given either",
    cause_signature="spec-params-all-or-none",
    evidence=(
        LogLine(24, f'  File "{SERVER_ARGS}", line 3056, in _handle_speculative_decoding'),
        LogLine(25, "    and self.speculative_num_draft_tokens is None"),
        LogLine(26, "AssertionError"),
    ),
    traceback=Traceback("AssertionError", "", (Frame(SERVER_ARGS, 3056, "_handle_speculative_decoding"),)),
    constraint=Constraint(
        SERVER_ARGS,
        3056,
        "speculative_eagle_topk and speculative_num_draft_tokens are both not given",
        ("speculative_num_steps is not given", "speculative_algorithm is given"),
        ("speculative-eagle-topk", "speculative-num-draft-tokens", "speculative-num-steps"),
        values={"speculative_eagle_topk": 1, "speculative_num_draft_tokens": 2, "speculative_num_steps": None},
        operand="self.speculative_eagle_topk is None",
        excerpt=(
            (3053, "            if self.speculative_num_steps is None:"),
            (3054, "                assert ("),
            (3055, "                    self.speculative_eagle_topk is None"),
            (3056, "                    and self.speculative_num_draft_tokens is None"),
            (3057, "                )"),
        ),
    ),
    cascade=(LogLine(27, "Exception ignored in atexit callback"),),
    repairs=(STEPS, UNSET),
)
SMALLER = Repair(
    set={"mem-fraction-static": WrittenFloat("0.86")},
    why="the sums leave 0.84 to 0.87; 0.86 keeps most of the pool",
    origin="memory",
    cost=0.4,
    gives_up="about 4 % of the token pool",
)
CAPTURE_OOM = failed(
    "oom.gpu.draft",
    1184,
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 3 has 1.87 GiB free.",
    "The draft model does not fit beside the token pool: 2.32 GiB wanted, 1.87 GiB free",
    cause_phase="load_weights",
    cause_rank="TP3",
    cause_signature="oom-draft-load",
    cause_confidence=0.93,
    evidence=(
        LogLine(1102, "[2026-11-29 08:11:20 TP3] Memory pool end. avail mem=1.87 GB"),
        LogLine(1103, "[2026-11-29 08:11:20 TP3] Load weight begin. avail mem=1.87 GB"),
        LogLine(
            1184, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 3 has 1.87 GiB free."
        ),
    ),
    cascade=(LogLine(1190, "Received sigquit from a child process. It usually means the child failed."),) * 8,
    memory=(
        "95.6 GiB on the card x 0.90 = 86.0 GiB for weights and pools",
        "95.6 - 86.0 - 7.7 (context, buffers) = 1.9 GiB left; the draft model wants 2.3 GiB + 0.6 GiB for its graphs",
        "mem-fraction-static must be at least 0.84 (weights + smallest pool) and at most 0.87",
    ),
    repairs=(
        SMALLER,
        Repair(unset=("enable-mscclpp",), why="its buffers take 1.1 GiB of each card", cost=3, gives_up="MSCCL++"),
        Repair(
            set={"kv-cache-dtype": "fp8_e4m3"},
            why="half the pool's bytes",
            cost=8,
            gives_up="precision of the cache",
            alters_answers=True,
        ),
    ),
)
TOPK3 = Repair(set={"speculative-eagle-topk": 4}, why="a wider draft tree", origin="lever", cost=1)


def healthy() -> Record:
    """The story the project exists for: three different failures, then a server that answers."""
    two = ASKED.changed(EXTRA)
    three = two.changed(STEPS)
    four = three.changed(SMALLER)
    attempts = (
        launch(1, 4, ASKED, last="args", cut=9, diagnosis=GDN, exit=Exit(1)),
        launch(2, 30, two, last="args", cut=9, changes=(EXTRA,), diagnosis=ALL_OR_NONE, exit=Exit(1)),
        launch(
            3,
            60,
            three,
            last="load_weights",
            cut=431,
            changes=(EXTRA, STEPS),
            diagnosis=CAPTURE_OOM,
            exit=Exit(None, 9),
        ),
        launch(4, 520, four, outcome="healthy", changes=(EXTRA, STEPS, SMALLER), judged=("5 of 5 answers are right",)),
    )
    effective = {
        **{n.replace("-", "_"): v for n, v in four.flags.items()},
        "attention_backend": "triton",
        "tp_size": 8,
        "max_running_requests": 48,
        "speculative_num_draft_tokens": 3,
    }
    levers = (
        LeverState("speculation", 1, 1, ("--speculative-num-steps 1",), in_effect=True),
        LeverState("mscclpp", 1, 1, in_effect=True),
    )
    return record(
        "healthy",
        "healthy",
        attempts,
        final=Final(to_argv(four.flags), four.env, levers, effective),
        nogoods=(
            Nogood(
                "`speculative-num-steps` is not given and `speculative-eagle-topk` is given",
                "attempt 2",
                "assertion.args",
                hard=True,
            ),
            Nogood("`mem-fraction-static` >= 0.90 with a draft model", "attempt 3", "oom.gpu.draft", 0.93),
        ),
        options=(
            Option("`+ --speculative-num-steps 1`", "tried", "attempt 3"),
            Option("drop `--speculative-eagle-topk` and `--speculative-num-draft-tokens`", "untried", "not needed"),
            Option("`--tp-size 4`", "protected", "the playbook protects tp-size"),
        ),
    )
