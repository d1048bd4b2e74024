"""What the answers cost: figures for the report, taken while judging."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from relight.attempts.judge.answers import Answered, parsed, read_reply


def figures(answers: Sequence[Answered]) -> Mapping[str, float]:
    """Return tokens per second of one stream alone (`tokens_per_second`), and `accept_length` where it was said."""
    read = [(a, read_reply(a)) for a in answers if a.status == 200]
    alone = [
        r.completion_tokens / a.seconds
        for a, r in read
        if r and r.completion_tokens and a.seconds > 0 and a.question.role in {"plain", "probe", "sampled"}
    ]
    accepted = [r.accept_length for _, r in read if r and r.accept_length]
    found = {"tokens_per_second": max(alone)} if alone else {}
    return found | ({"accept_length": round(fmean(accepted), 2)} if accepted else {})


def rate(answers: Sequence[Answered]) -> Mapping[str, float]:
    """Return the tokens per second that requests sent at once got together, as `tokens_per_second_N` for N of them."""
    replies = [read_reply(a) for a in answers if a.status == 200]
    tokens = sum(r.completion_tokens or 0 for r in replies if r)
    seconds = max((a.seconds for a in answers), default=0.0)
    whole = len(replies) == len(answers) and tokens > 0 and seconds > 0
    return {f"tokens_per_second_{len(answers)}": round(tokens / seconds, 1)} if whole else {}


def first_token(answer: Answered) -> Mapping[str, float]:
    """Return how long a request for one token took, as `time_to_first_token` in seconds."""
    good = answer.status == 200 and answer.seconds > 0
    return {"time_to_first_token": round(answer.seconds, 3)} if good else {}


def accepted(answer: Answered) -> Mapping[str, float]:
    """Return the `accept_length` that the server's description of itself gives, {} where it gives none."""
    data = parsed(answer) if answer.status == 200 else None
    states = data.get("internal_states") if isinstance(data, dict) else None
    told = [s.get("avg_spec_accept_length") for s in states or () if isinstance(s, dict)]
    lengths = [float(x) for x in told if isinstance(x, int | float) and not isinstance(x, bool)]
    return {"accept_length": round(fmean(lengths), 2)} if lengths else {}
