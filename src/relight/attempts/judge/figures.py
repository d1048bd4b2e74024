"""What the answers cost: figures for the report, taken while judging."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from relight.attempts.judge.answers import Answered, read_reply


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
