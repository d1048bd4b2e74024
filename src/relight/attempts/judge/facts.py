"""What is known about the server that is asked: from the settings at first, then from what it says itself."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from relight.attempts.judge.answers import Answered, Reply, parsed


@dataclass(frozen=True)
class Facts:
    """None: not known. `concurrency` is the most requests at once; lengths are tokens.

    `overlap` says whether speculation may run beside the next batch; what is not known may.
    """

    version: str | None = None
    model: str | None = None
    context_length: int | None = None
    chunk: int | None = None
    pool: int | None = None
    concurrency: int | None = None
    speculation: str | None = None
    overlap: bool = True
    generates: bool = True
    chars_per_token: float | None = None


def learn(facts: Facts, answer: Answered) -> Facts:
    """Return `facts` with what a 200 answer about the server adds; anything else changes nothing."""
    data = parsed(answer) if answer.status == 200 else None
    if not isinstance(data, dict):
        return facts
    if answer.question.role == "info":
        return replace(facts, generates=data.get("is_generation") is not False)
    if answer.question.role == "models":
        return _from_models(facts, data)
    return _from_server(facts, data) if answer.question.role == "server" else facts


def measure(facts: Facts, answer: Answered, reply: Reply) -> Facts:
    """Return `facts` with the ratio of characters to tokens that this answer shows."""
    if not reply.prompt_tokens or not answer.question.prompt:
        return facts
    return replace(facts, chars_per_token=max(0.5, len(answer.question.prompt) / reply.prompt_tokens))


def _from_models(facts: Facts, data: Mapping[str, Any]) -> Facts:
    listed = data.get("data")
    first = listed[0] if isinstance(listed, list) and listed else {}
    if not isinstance(first, dict):
        return facts
    length = _count(first.get("max_model_len"))
    return replace(facts, model=first.get("id") or facts.model, context_length=length or facts.context_length)


def _from_server(facts: Facts, data: Mapping[str, Any]) -> Facts:
    states = data.get("internal_states")
    worker = states[0] if isinstance(states, list) and states and isinstance(states[0], dict) else {}
    # The scheduler's own view is what is really used; the top level is what the main process resolved.
    seen = {**data, **{k: v for k, v in worker.items() if v is not None}}
    per_rank = _count(seen.get("effective_max_running_requests_per_dp"))
    return replace(
        facts,
        version=data.get("version") or facts.version,
        context_length=facts.context_length or _count(seen.get("context_length")),
        chunk=_count(seen.get("chunked_prefill_size")) or facts.chunk,
        pool=_count(seen.get("max_total_num_tokens")) or facts.pool,
        concurrency=per_rank or _count(seen.get("max_running_requests")) or facts.concurrency,
        speculation=seen.get("speculative_algorithm") or facts.speculation,
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
