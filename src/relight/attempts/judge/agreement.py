"""Answers compared with each other: equal questions have equal answers."""

from collections.abc import Sequence
from itertools import combinations

from relight.attempts.judge.answers import Reply
from relight.attempts.judge.form import Sign

# Batching moves a log probability by hundredths, so it cannot turn two tokens that were both this certain.
CERTAIN = -0.11


def disagreement(replies: Sequence[Reply]) -> tuple[Sign, ...]:
    """Return what is wrong when one greedy question was answered by all of `replies`.

    Answers may part where two tokens were about equally likely. They may not part where both were certain, nor may
    all of many begin differently.
    """
    if any(_certain_split(a, b) for a, b in combinations(replies, 2)):
        return (Sign("numerics.garbage", 1, "equal greedy questions were answered differently with certainty"),)
    starts = {reply.text.strip()[:8] for reply in replies}
    if len(replies) >= 4 and len(starts) >= 4 and len(starts) >= len(replies) - 1:
        return (Sign("numerics.garbage", 1, f"{len(replies)} equal greedy questions had {len(starts)} answers"),)
    return ()


def _certain_split(a: Reply, b: Reply) -> bool:
    for i, (left, right) in enumerate(zip(a.ids, b.ids, strict=False)):
        if left != right:
            return _certain(a, i) and _certain(b, i)
    return False


def _certain(reply: Reply, i: int) -> bool:
    if i >= len(reply.logprobs) or len(reply.logprobs) != len(reply.ids):
        return False
    value = reply.logprobs[i]
    return value is not None and value > CERTAIN
