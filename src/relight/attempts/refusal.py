"""The diagnosis of settings that are refused before any launch."""

from collections.abc import Iterator, Mapping

from relight.diagnosis.diagnose import diagnose
from relight.diagnosis.source.wishes import Wishes
from relight.logs.lines import Line
from relight.planning.parse_rung import Fault, Finding, check
from relight.words.attempt import Attempt, Rung
from relight.words.diagnosis import Cause, Diagnosis
from relight.words.knowledge import Knowledge
from relight.words.parser import HostParser
from relight.words.settings import Repair
from relight.words.step import Answer

KINDS: Mapping[Fault, str] = {
    "typo": "args.unrecognized",
    "gone": "args.unrecognized",
    "ambiguous": "args.unrecognized",
    "value": "args.invalid_value",
    "missing": "args.missing",
}


def refused_by_validation(
    attempt: Attempt, answer: Answer, knowledge: Knowledge, sources: Mapping[str, str], wishes: Wishes | None = None
) -> Diagnosis:
    """Return the diagnosis of a refusal by the host's own argument validation: what it wrote, read like a log."""
    lines = tuple(Line(i, 0, text) for i, text in enumerate(_written(answer), start=1))
    argv, env = attempt.argv, attempt.settings.env
    return diagnose(lines, knowledge, name="validation", argv=argv, env=env, sources=sources, wishes=wishes)


def _written(answer: Answer) -> Iterator[str]:
    yield from answer.log.splitlines()
    if answer.type == "SystemExit":
        return
    yield "Traceback (most recent call last):"
    for frame in answer.frames:
        yield f'  File "{frame.file}", line {frame.line}, in {frame.function}'
        if frame.text:
            yield f"    {frame.text}"
    # Messages of several lines stand in a log as several lines.
    yield from (f"{answer.type}: {answer.message}" if answer.message else answer.type).split("\n")


def refused_by_parser(attempt: Attempt, parser: HostParser, knowledge: Knowledge, because: str) -> Diagnosis:
    """Return the diagnosis of settings that the host's parser does not take."""
    findings = check(attempt.settings, parser, knowledge)
    cause = _cause(findings[0]) if findings else _unnamed(because)
    repairs = tuple(repair for finding in findings for repair in finding.repairs)
    return Diagnosis(
        log="parser",
        verdict="failed",
        cause=cause,
        repairs=repairs,
        action="change",
    )


def _cause(finding: Finding) -> Cause:
    kind = KINDS[finding.fault]
    return Cause(
        family="args",
        kind=kind,
        signature=None,
        fingerprint=f"{kind}:{finding.name}",
        line=None,
        text=finding.text,
        rank=None,
        phase="args",
        confidence=1.0,
        summary=f"The host's parser refuses {finding.text}",
        facts={"flag": finding.name},
        blames=(finding.name,),
    )


def _unnamed(because: str) -> Cause:
    return Cause("args", "args.conflict", None, "args.conflict", None, because, None, "args", 1.0, because)


def port_taken(port: int, holder: str, free: int) -> Diagnosis:
    """Return the diagnosis of a port that `holder`, a process not ours, listens on; `free` is a port nobody uses."""
    kind, text = "comm.port_in_use", f"port {port} is taken by {holder}"
    cause = Cause("comm", kind, None, kind, None, text, None, "args", 1.0, f"Port {port} is taken.", blames=("port",))
    move = Repair(set={"port": free}, why=f"{text}; {free} is free", origin="message", cost=0.5)
    return Diagnosis(log="", verdict="failed", cause=cause, repairs=(move,), action="person")


def model_missing(path: str, where: str) -> Diagnosis:
    """Return the diagnosis of a model whose path does not exist on the host: the engine would end the same way."""
    kind, text = "model.not_found", f"there is no {path} on {where}"
    said = "The model's path does not exist on the host."
    cause = Cause("model", kind, None, f"{kind}:{path}", None, text, None, "args", 1.0, said,
                  facts={"path": path}, blames=("model-path",))  # fmt: skip
    then = f"correct model-path, or put the model there; {text}"
    return Diagnosis(log="", verdict="failed", cause=cause, action="person", next=then)


def refusal(
    attempt: Attempt,
    answer: Answer | None,
    knowledge: Knowledge,
    *,
    rung: Rung,
    parser: HostParser | None,
    because: str,
    sources: Mapping[str, str],
    wishes: Wishes | None = None,
) -> Diagnosis:
    """Return the diagnosis of a rejected attempt, from the answer of the rung that refused it."""
    if rung == "validate" and answer is not None:
        return refused_by_validation(attempt, answer, knowledge, sources, wishes)
    if parser is not None:
        return refused_by_parser(attempt, parser, knowledge, because)
    return Diagnosis(log="", verdict="failed", cause=_unnamed(because), action="change")
