"""The nine runs that did not go as well, and the table of all ten."""

from collections.abc import Callable
from dataclasses import replace

from relight.words.argv import to_argv
from relight.words.attempt import Exit, Final, LeverState, Nogood, Option, Phase, Record
from relight.words.diagnosis import Cause, Diagnosis, Engine, LogLine
from relight.words.settings import Change, Repair, Settings
from tests.reports.stories import (
    ALL_OR_NONE,
    ASKED,
    CAPTURE_OOM,
    ENGINE,
    EXTRA,
    GDN,
    STEPS,
    at,
    failed,
    healthy,
    launch,
    record,
    refused,
)

NO_KERNEL = failed(
    "kernel.no_image",
    912,
    "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    "The binary holds no kernel for this GPU (SM120)",
    cause_phase="capture",
    cause_rank="TP0",
    cause_confidence=0.9,
    evidence=(
        LogLine(911, "[2026-11-29 08:08:02 TP0] Capture cuda graph begin. avail mem=7.41 GB"),
        LogLine(912, "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
    ),
)
TRITON = Repair(
    set={"attention-backend": "triton"}, why="its kernels are compiled for the card", cost=2, gives_up="some speed"
)
UNTEACHABLE = failed(
    "assertion.backend",
    40,
    "ValueError: triton does not support this head size",
    "The triton backend refuses the model's head size",
    cause_confidence=1.0,
)


def exhausted() -> Record:
    """Everything was tried; the table proves it."""
    triton = ASKED.changed(TRITON)
    off = Settings({k: v for k, v in ASKED.flags.items() if not k.startswith("speculative")}, {})
    attempts = (
        launch(1, 4, ASKED, last="capture", cut=3, diagnosis=NO_KERNEL, exit=Exit(None, 9)),
        refused(2, 470, triton, UNTEACHABLE, TRITON),
        launch(3, 480, off, last="capture", cut=3, diagnosis=NO_KERNEL, choice={"speculation": None, "mscclpp": 1}),
    )
    return record(
        "exhausted",
        "exhausted",
        attempts,
        options=(
            Option("`--attention-backend triton`", "rejected", "validate: does not support this head size"),
            Option("speculation off", "tried", "attempt 3"),
            Option("`--moe-runner-backend auto`", "excluded", "nogood: no kernel image (attempt 1)"),
            Option("`--dtype float16`", "protected", "the playbook protects dtype"),
        ),
        nogoods=(Nogood("`attention-backend` is flashinfer", "attempt 1", "kernel.no_image", 0.9),),
    )


def budget() -> Record:
    """The launches are spent while there are options left."""
    attempts = (
        launch(1, 4, ASKED, last="args", cut=9, diagnosis=GDN, exit=Exit(1)),
        launch(2, 30, ASKED.changed(EXTRA), last="load_weights", cut=431, changes=(EXTRA,), diagnosis=CAPTURE_OOM),
    )
    return record(
        "budget",
        "budget",
        attempts,
        reason="both launches that the budget allows are spent, and options are left",
        options=(
            Option("`--mem-fraction-static 0.86`", "untried"),
            Option("mscclpp off", "untried", "its buffers take 1.1 GiB"),
            Option("`+ --mamba-scheduler-strategy extra_buffer`", "tried", "attempt 2"),
        ),
    )


def person() -> Record:
    """Nothing about the settings can help."""
    missing = failed(
        "model.auth",
        18,
        "huggingface_hub.errors.GatedRepoError: 401 Client Error. Access to model is restricted.",
        "The model is gated and the host's token has no access to it",
        cause_phase="load_weights",
        cause_signature="hub-gated",
        action="person",
        evidence=(
            LogLine(18, "huggingface_hub.errors.GatedRepoError: 401 Client Error. HF_TOKEN=hf_abcdefghijklmnop123"),
        ),
    )
    return record(
        "person",
        "person",
        (launch(1, 4, ASKED, last="load_weights", cut=6, diagnosis=missing, exit=Exit(1)),),
        reason="the model is gated and the host's token has no access to it",
        next="ask for access on the model's page, then set HF_TOKEN under [hosts.rtx8.secrets]",
    )


def busy() -> Record:
    """Somebody else holds the cards: nothing was launched."""
    return record(
        "busy",
        "busy",
        reason="port 30000 and GPUs 0-7 of rtx8 are held by the server of run 20261128-221403-night",
        engine=Engine("sglang", None),
        environment={},
    )


def deploy_failed() -> Record:
    """One launch, one diagnosis, and the step it would take next."""
    return record(
        "deploy",
        "failed",
        (launch(1, 4, ASKED.changed(EXTRA), last="args", cut=9, diagnosis=ALL_OR_NONE, exit=Exit(1)),),
    )


def unknown() -> Record:
    """A failure nobody has described: best evidence, nothing invented."""
    seen = Diagnosis(
        "server.log",
        "failed",
        ENGINE,
        Cause("unknown", "unknown", None, "77aa", 731, "frobnicator: quux is not aligned", "TP5", "pools", 0.2, ""),
        evidence=(
            LogLine(729, "[2026-11-29 08:07:30 TP5] KV Cache is allocated. #tokens: 812345"),
            LogLine(731, "frobnicator: quux is not aligned"),
        ),
        action="change",
    )
    off = ASKED.changed(Repair(unset=("enable-mscclpp",)))
    drop = Repair(
        unset=("enable-mscclpp",),
        why="half of what differs from settings known to work",
        origin="isolation",
        gives_up="MSCCL++",
    )
    second = replace(seen, cause=replace(seen.cause, line=733)) if seen.cause else seen
    attempts = (
        launch(1, 4, ASKED, last="pools", cut=2, diagnosis=seen, exit=Exit(None, 9)),
        launch(2, 460, off, last="pools", cut=2, changes=(drop,), diagnosis=second, exit=Exit(None, 6)),
    )
    return record("unknown", "exhausted", attempts, next="send the report upstream: relight report --issue")


def sick() -> Record:
    """Up and ready, and talking nonsense; the second settings answer, at a price."""
    nonsense = failed(
        "numerics.garbage",
        2014,
        "POST /generate 200",
        "The server is up and its answers are garbage: one token, repeated",
        cause_phase="warmup",
        cause_line=None,
        cause_text="",
    )
    plain = Repair(
        set={"quantization": "w8a8_fp8"},
        why="the NVFP4 kernels give wrong numbers on this card",
        cost=9,
        gives_up="the weights' own precision",
        alters_answers=True,
    )
    after = ASKED.changed(plain).changed(Change(unset=tuple(n for n in ASKED.flags if n.startswith("speculative"))))
    attempts = (
        launch(
            1,
            4,
            ASKED,
            outcome="sick",
            diagnosis=nonsense,
            judged=('the token "!" is 64 of 64 tokens', "4 of 5 plain questions are answered wrongly"),
        ),
        launch(
            2,
            600,
            after,
            outcome="healthy",
            changes=(plain,),
            alters_answers=True,
            judged=("5 of 5 answers are right",),
        ),
    )
    levers = (LeverState("speculation", 1, None), LeverState("mscclpp", 1, 1, in_effect=False))
    return record("sick", "healthy", attempts, final=Final(to_argv(after.flags), after.env, levers))


def hang() -> Record:
    """Silence while graphs are captured; interrupted by the operator."""
    silent = failed(
        "hang.startup",
        640,
        "Capturing batches (bs=160 avail_mem=6.91 GB):  12%|#2        | 6/52",
        "Nothing was said for 15 min while graphs were captured; ranks 2 and 6 wait in a collective",
        cause_phase="capture",
        cause_confidence=0.6,
        evidence=(LogLine(640, "Capturing batches (bs=160 avail_mem=6.91 GB):  12%|#2        | 6/52"),),
    )
    attempts = (
        launch(1, 4, ASKED, last="capture", cut=900, outcome="hung", diagnosis=silent, exit=Exit(None, 9)),
        launch(2, 1400, ASKED.changed(STEPS), last="load_weights", cut=60, outcome="aborted", changes=(STEPS,)),
    )
    return record("hang", "interrupted", attempts, reason="interrupted by the operator during attempt 2")


def transient() -> Record:
    """A port that frees itself: the same settings again, and still on the way."""
    taken = failed(
        "comm.port_in_use",
        55,
        "[Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use",
        "Port 30000 is still held by a connection that is closing",
        cause_phase="warmup",
        action="again",
        evidence=(LogLine(55, "[Errno 98] error while attempting to bind on address ('0.0.0.0', 30000)"),),
    )
    again = launch(2, 600, ASKED, last="load_weights", cut=60, outcome="aborted")
    again = replace(again, outcome=None, ended=None, phases=(*again.phases[:-1], Phase("load_weights", at(640))))
    return record("transient", "running", (launch(1, 4, ASKED, diagnosis=taken, exit=Exit(1)), again), ended=None)


STORIES: dict[str, Callable[[], Record]] = {
    "healthy": healthy,
    "exhausted": exhausted,
    "budget": budget,
    "person": person,
    "busy": busy,
    "deploy-failed": deploy_failed,
    "unknown": unknown,
    "sick": sick,
    "hang": hang,
    "transient": transient,
}
