"""The form of one answer, whatever it says: numbers, repetition, control characters, length."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from relight.attempts.judge.answers import Question, Reply

# Fillers that sound models print in rows: blanks to fill in, rules, tables, zeros of a matrix.
FILLER = frozenset(" \t\n_-=.*|#:0,~\u2026\u2014\u00b7\u3002\uff0c\u3001`")
# `\1` is the unit that comes again and again; lazy, so that the shortest unit is found.
REPEATED = re.compile(r"(.{1,60}?)\1{5,}", re.DOTALL)
LONGEST = 8000  # characters looked at: an answer is far shorter, a hostile one may not cost minutes
KEPT_FREE = 8  # tokens that servers keep free behind a request
BLANK = 32  # blanks and line ends behind an answer that was not over
SENTENCE_END = frozenset(".?!;\n\u3002\uff01\uff1f\uff1b\u0964\u061f")


@dataclass(frozen=True)
class Sign:
    """Something wrong with an answer. `weight` 1: enough by itself; less: needs company."""

    kind: str
    weight: float
    text: str


def form(question: Question, reply: Reply) -> tuple[Sign, ...]:
    """Return what is wrong with the form of one answer to `question`."""
    checks = (_numbers(question, reply), _tokens(reply), _characters(reply.text), _length(question, reply))
    return tuple(sign for signs in (*checks, _repetition(reply)) for sign in signs)


def numbers(question: Question, reply: Reply) -> tuple[Sign, ...]:
    """Return what is wrong with the numbers alone: all that may be said where the text is not judged."""
    found = [] if reply.finite else [Sign("numerics.nan", 1, "a log probability is not a finite number")]
    if _too_short(question, reply):
        found.append(Sign("numerics.garbage", 1, _count(question, reply)))
    return (*found, *_aborted(reply))


def _too_short(question: Question, reply: Reply) -> bool:
    """Say whether an answer ended for length before the length asked for; where there was no room left it may."""
    count = reply.completion_tokens
    if count is None or count >= question.tokens or reply.finish != "length" or question.role == "long":
        return False
    return not _full(question, reply)


def _full(question: Question, reply: Reply) -> bool:
    used = (reply.prompt_tokens or 0) + (reply.completion_tokens or 0)
    return bool(question.room) and used >= question.room - KEPT_FREE


def _count(question: Question, reply: Reply) -> str:
    return f"{reply.completion_tokens} tokens came where {question.tokens} were asked for"


def _numbers(question: Question, reply: Reply) -> Iterator[Sign]:
    if not reply.finite:
        yield Sign("numerics.nan", 1, "a log probability is not a finite number")
    missing = sum(p is None for p in reply.logprobs)
    # Some servers write NaN as null; others send null where they have nothing to say.
    if missing and missing < len(reply.logprobs):
        yield Sign("numerics.nan", 0.5, "a log probability is missing")
    known = [p for p in reply.logprobs if p is not None]
    if reply.finite and question.greedy and len(known) >= 12:
        yield from _certainty(sum(known) / len(known))


def _certainty(mean: float) -> Iterator[Sign]:
    # The likeliest token of a sound model has a log probability above -2 on average, whatever the text.
    if mean < -4.5:
        yield Sign("numerics.garbage", 1, f"even the likeliest tokens are unlikely (mean log probability {mean:.1f})")
    elif mean < -3.5:
        yield Sign("numerics.garbage", 0.5, f"the likeliest tokens are unlikely (mean log probability {mean:.1f})")


def _tokens(reply: Reply) -> Iterator[Sign]:
    ids = reply.ids
    if len(ids) >= 8 and ids.count(0) >= 0.9 * len(ids):
        yield Sign("numerics.nan", 1, "token 0 over and over, which is what an argmax over NaN gives")
        return
    run = _tail_run(ids)
    if run >= 12 and run >= len(ids) / 3:
        weight = 0.4 if set(reply.text[-run:]) <= FILLER else 1.0
        yield Sign("numerics.garbage", weight, f"token {ids[-1]} came {run} times in a row")


def _tail_run(ids: Sequence[int]) -> int:
    run = 0
    for token in reversed(ids):
        if token != ids[-1]:
            break
        run += 1
    return run


def _characters(text: str) -> Iterator[Sign]:
    # A cut in the middle of a character leaves replacement characters at the end: no fault.
    body = text.rstrip("\ufffd")
    lost = body.count("\ufffd")
    control = sum(_is_control(c) for c in body)
    if control >= 2 or (control and control / len(body) > 0.05):
        yield Sign("numerics.garbage", 1, f"{control} control characters in the text")
    elif control:
        yield Sign("numerics.garbage", 0.5, "a control character in the text")
    if lost >= 3 and lost / len(body) > 0.04:
        yield Sign("numerics.garbage", 1, f"{lost} broken characters in the text")
    elif not body and len(text) > 4:
        yield Sign("numerics.garbage", 1, "nothing but broken characters")


def _is_control(char: str) -> bool:
    return char not in "\t\n\r\f\v\x85" and unicodedata.category(char) in {"Cc", "Co", "Cn"}


def _length(question: Question, reply: Reply) -> Iterator[Sign]:
    if reply.finish == "length" and not reply.text.strip() and not _full(question, reply):
        # Blank lines only are odd; no character at all for many tokens is broken.
        weight = 1.0 if not reply.text else 0.5
        yield Sign("numerics.garbage", weight, f"no text, although {question.tokens} tokens were made")
    if _too_short(question, reply):
        yield Sign("numerics.garbage", 1, f"ended for length after {_count(question, reply)}")
    yield from _aborted(reply)


def _aborted(reply: Reply) -> Iterator[Sign]:
    if reply.finish == "abort":
        yield Sign("engine.request", 0.5, f"the server aborted the request: {reply.reason or 'no reason given'}")


def _repetition(reply: Reply) -> Iterator[Sign]:
    text = reply.text[-LONGEST:].strip()
    blank = len(reply.text) - len(reply.text.rstrip())
    if text and blank >= BLANK and reply.finish == "length":
        yield Sign("numerics.garbage", 0.4, f"the answer decays into {blank} blanks or line ends")
    for match in REPEATED.finditer(text):
        unit, run = match.group(1), len(match.group(0))
        at_end = match.end() >= len(text) - len(unit)
        weight = _unit_weight(unit)
        if weight and run >= _enough(text, unit, at_end=at_end):
            yield Sign("numerics.garbage", weight, _repeated(unit, run, text))
            return


def _enough(text: str, unit: str, *, at_end: bool) -> float:
    # A loop that reaches the end of an answer goes on for ever; inside, it may be style.
    share = min(0.25 * len(text), 40) if at_end else 0.6 * len(text)
    return max(16, 6 * len(unit), share)


def _unit_weight(unit: str) -> float:
    if set(unit) <= FILLER:
        return 0.4
    words = unit.split()
    spaced = " " in unit.strip() or len(words) > 1
    if any(c in SENTENCE_END for c in unit) and (len(words) > 3 or (not spaced and len(unit) > 8)):
        return 0.0  # small models that only continue text do say a sentence again and again
    if len(words) <= 3 and (spaced or len(unit) <= 16):
        return 1.0
    return 0.6


def _repeated(unit: str, run: int, text: str) -> str:
    whole = "the answer is" if run >= 0.9 * len(text) else "the answer decays into"
    return f"{whole} {unit.strip()[:20]!r} {run // len(unit)} times"
