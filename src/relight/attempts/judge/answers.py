"""A question to a server, what came back, and the reading of it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Role: TypeAlias = Literal[
    "health", "info", "server", "models", "plain", "probe", "equal", "sampled", "long", "chat", "load"
]
# Whose fault it is that nothing came back: ours (time-out, a bug, a lost link), or the server's side closed or refused.
Fault: TypeAlias = Literal["", "ours", "timeout", "refused", "closed"]
Judged: TypeAlias = Literal["good", "odd", "absent", "ours", "failed"]
# torch clamps log probabilities at the most negative float, so that is what minus infinity looks like.
CLAMPED = -1e30


@dataclass(frozen=True)
class Question:
    """One HTTP request. `tokens` is the length asked for, `expect` a regex, `greedy` whether answers are repeatable.

    `room` is how many tokens the server holds for a question and its answer together, 0 where that is not known.
    `label` says in words what is asked, for the notes of the verdict.
    """

    role: Role
    method: str
    path: str
    body: Mapping[str, Any] | None = None
    timeout: float = 30.0
    prompt: str = ""
    expect: str = ""
    tokens: int = 0
    room: int = 0
    greedy: bool = True
    label: str = ""


@dataclass(frozen=True)
class Answered:
    """What came back: `status` None when nothing did, and then `fault` says on whose side. `seconds`: time taken."""

    question: Question
    status: int | None
    body: str = ""
    fault: Fault = ""
    error: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Reply:
    """The generation inside an answer. `logprobs` holds None where the server sent null; `ids` may be empty."""

    text: str
    finish: str = ""
    completion_tokens: int | None = None
    prompt_tokens: int | None = None
    ids: tuple[int, ...] = ()
    logprobs: tuple[float | None, ...] = ()
    reason: str = ""
    accept_length: float | None = None

    @property
    def finite(self) -> bool:
        """Say whether every number that was sent is a finite one."""
        return all(p is None or (math.isfinite(p) and p > CLAMPED) for p in self.logprobs)


def parsed(answer: Answered) -> Any:
    """Return the JSON of the body, None where it is not JSON; NaN and Infinity are read as such."""
    try:
        return json.loads(answer.body)
    except ValueError:
        return None


def read_reply(answer: Answered) -> Reply | None:
    """Return the generation in a 200 answer of /generate or of chat completions, None where there is none."""
    data = parsed(answer)
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return None
    if "text" in data:
        return _native(data)
    return _chat(data) if data.get("choices") else None


def _native(data: Mapping[str, Any]) -> Reply:
    meta = data.get("meta_info") or {}
    finish = meta.get("finish_reason") or {}
    pairs = meta.get("output_token_logprobs") or ()
    return Reply(
        text=str(data["text"] or ""),
        finish=_finish(finish),
        completion_tokens=_integer(meta.get("completion_tokens")),
        prompt_tokens=_integer(meta.get("prompt_tokens")),
        ids=_ids(data.get("output_ids"), pairs),
        logprobs=tuple(_number(p[0]) for p in pairs if isinstance(p, list) and p),
        reason=str(finish.get("message", "")) if isinstance(finish, dict) else "",
        accept_length=_number(meta.get("spec_accept_length")),
    )


def _chat(data: Mapping[str, Any]) -> Reply:
    choice = data["choices"][0]
    message = choice.get("message") or {}
    usage = data.get("usage") or {}
    thoughts = message.get("reasoning_content") or ""
    said = message.get("content") or choice.get("text") or ""
    return Reply(
        # Thoughts without an answer are still thinking aloud, whoever split them off.
        text=f"<think>{thoughts}</think>{said}" if thoughts and said else f"<think>{thoughts}" if thoughts else said,
        finish=str(choice.get("finish_reason") or ""),
        completion_tokens=_integer(usage.get("completion_tokens")),
        prompt_tokens=_integer(usage.get("prompt_tokens")),
    )


def _finish(value: object) -> str:
    return str(value.get("type") or "") if isinstance(value, dict) else str(value)


def _ids(listed: object, pairs: Sequence[Any]) -> tuple[int, ...]:
    if isinstance(listed, list):
        return tuple(i for i in listed if isinstance(i, int))
    return tuple(p[1] for p in pairs if isinstance(p, list) and len(p) > 1 and isinstance(p[1], int))


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
