"""What the judge noted of answers, in few lines: what was said alike of many questions once, gibberish cut short."""

import re
from collections.abc import Sequence

from relight.reports.prose import listed

_NOTE = re.compile(r'(?P<question>\w+ ".*?(?<!\\)"): (?P<said>.+)', re.DOTALL)
_ANSWER = re.compile(r'(?P<question>\w+ ".*?(?<!\\)") -> (?P<said>.+)', re.DOTALL)
_IS_ANSWER, _IS_SAID = "->", ":"
_QUESTIONS = 2
_LONGEST = 60
_TWICE = 2


def told(judged: Sequence[str]) -> tuple[str, ...]:
    """Return the judge's notes, those that say the same of several questions together."""
    notes: dict[tuple[str, str], list[str]] = {}
    for note in judged:
        form, found = _read(note)
        key = (form, found["said"]) if found else ("", note)
        notes.setdefault(key, []).append(found["question"] if found else "")
    return tuple(_together(form, said, questions) for (form, said), questions in notes.items())


def _read(note: str) -> tuple[str, re.Match[str] | None]:
    """Return whether a note is an answer or what is said of one, with its parts."""
    forms = ((_IS_ANSWER, _ANSWER.fullmatch(note)), (_IS_SAID, _NOTE.fullmatch(note)))
    return next(((form, found) for form, found in forms if found), ("", None))


def _together(form: str, said: str, questions: Sequence[str]) -> str:
    if not form:
        return said
    if len(questions) == 1:
        return f"{questions[0]} -> {briefly(said)}" if form == _IS_ANSWER else f"{questions[0]}: {said}"
    if form == _IS_ANSWER:
        return f"the {len(questions)} answers that were kept are one and the same: {briefly(said)}"
    return f"{said}; among them {listed([_quoted(q) for q in questions[:_QUESTIONS]])}"


def _quoted(question: str) -> str:
    return question[question.index('"') :]


def briefly(answer: str) -> str:
    """Return a quoted answer cut short; one that repeats itself once, and how often."""
    quote = answer[:1] if answer[:1] in {"'", '"'} else ""
    text = answer.strip(quote) if quote else answer
    unit, times = _repeated(text.removesuffix("..."))
    if times >= _TWICE:
        return f"{quote}{_cut(unit)}{quote}, {times:.0f} times over"
    if times > 1:
        return f"{quote}{_cut(unit)}{quote}, and the same from its beginning again"
    return f"{quote}{_cut(text)}{quote}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()} ..."


def _repeated(text: str) -> tuple[str, float]:
    """Return the shortest beginning that the whole text repeats, and how often; the last time may be cut off."""
    for size in range(1, len(text)):
        if text.startswith(text[size:]) and len(text) - size >= min(size, _LONGEST // 4):
            return text[:size], len(text) / size
    return text, 1.0
