"""Answers compared with each other: equal questions, and different questions with the same answer."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from relight.attempts.judge.answers import Question, Reply
from relight.attempts.judge.form import Sign

# Batching moves a log probability by hundredths, so it cannot turn two tokens that were both this certain.
CERTAIN = -0.11
NUMBER = re.compile(r"\d+")
SAME = 60
"""Characters in which two answers must agree to be one."""


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


def sameness(pairs: Sequence[tuple[Question, Reply]], thinking: re.Pattern[str]) -> Iterator[Sign]:
    """Yield a sign for one long answer that was given where four different things or more were expected.

    Numbers, and how long it goes on, make no other answer of it. Models that think aloud (`thinking`) do begin alike,
    whatever they are asked.
    """
    asked: dict[str, set[str]] = {}
    for question, reply in pairs:
        if len(reply.text.strip()) >= 12 and question.expect and not thinking.search(reply.text):
            asked.setdefault(NUMBER.sub("0", reply.text.strip())[:SAME], set()).add(question.expect)
    for text, expected in asked.items():
        if len(expected) >= 4:
            yield Sign("numerics.garbage", 1, f"{len(expected)} different questions have the answer {text[:40]!r}")
