"""What an answer says: the expected thing, language at all, the same language to the end."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from relight.attempts.judge.answers import Question, Reply
from relight.attempts.judge.book import CHARACTER_SCRIPTS, ENDING_SCRIPTS, Book
from relight.attempts.judge.decoding import decoding
from relight.attempts.judge.form import Sign
from relight.attempts.judge.scripts import EAST_ASIAN, Run, family, runs, script_of, switches
from relight.attempts.judge.texture import texture, written

Rightness: TypeAlias = Literal["right", "wrong", "cut", "unasked"]
WORD = re.compile(r"[^\W\d_]+(?:['\u2019\u093c-\u094d\u0301-\u0345][^\W\d_]*)*", re.UNICODE)
CODE = re.compile(r"[{}()\[\]=;<>\\/\"`$&@|+*^%]")
# What stands between the items of a list; inside a word it is something else.
SEPARATOR = re.compile(r"[,;:](?=\s|$)|[、،\n\t•|]|\d+")
# Sounds are written with letters of other scripts, between slashes or brackets.
SOUNDS = re.compile(r"[/\[][^/\[\]\n]*[\u0250-\u02ff][^/\[\]\n]*[/\]]")
# One character of these scripts says about as much as this many letters of another.
DENSE = 3
JOINT = re.compile(r"[^\W\d_][)(\]\[:.!?'\u2019]+(?=[^\W\d_])")
# Below this share of its commonest pieces a text of that script is no language; sound text has four times as many.
LEAST = {"han": 0.3, "hangul": 0.3, "kana": 0.45, "thai": 0.5, "latin": 0.045}
LEAST_ELSEWHERE = 0.04
# Above this share of its different words a text of small words says nothing; sound text has half of it.
MOST = 0.8
ENOUGH_WORDS = 22
ENOUGH_CHARACTERS = 30


def rightness(question: Question, reply: Reply, book: Book) -> Rightness:
    """Say whether the answer holds what was expected; `cut` when it ended before a model that thinks aloud said it."""
    if not question.expect:
        return "unasked"
    if re.search(question.expect, reply.text):
        return "right"
    if reply.finish != "stop" and (question.role == "chat" or book.thinking.search(reply.text)):
        return "cut"
    return "wrong"


def language(reply: Reply, book: Book) -> tuple[Sign, ...]:
    """Return the signs that the text is not language: scripts mixed, fragments, good words that decay."""
    text = SOUNDS.sub(" ", reply.text)
    woven = () if is_code(text) else texture(text, book.common["latin"])
    checks = (_mixed(text), _fragments(text, book), _joints(text), _decay(text, book), decoding(text), woven)
    return tuple(sign for signs in checks for sign in signs)


def _mixed(text: str) -> Iterator[Sign]:
    found = runs(text)
    pairs = list(switches(found))
    joined = [p for p in pairs if _odd_join(*p)]
    families = {name for name, size in _letters(found).items() if size >= 2}
    # Names and commands are Latin in the texts of every script; a salad goes between the others, too.
    apart = sum("latin" not in (left.script, right.script) for left, right in pairs) >= 2
    rate = len(pairs) / max(1, len(found)) if apart else 0.0
    if len(joined) >= 3 or (len(families) >= 4 and rate >= 0.25 and len(pairs) >= 4):
        yield Sign("numerics.garbage", 1, f"language salad: {', '.join(sorted(families))} in one text")
    elif len(joined) == 2 or (len(families) >= 3 and rate >= 0.3 and len(pairs) >= 4):
        yield Sign("numerics.garbage", 0.6, f"scripts mixed: {', '.join(sorted(families))}")


def _odd_join(left: Run, right: Run) -> bool:
    """Say whether two scripts meet inside a word as no language writes it.

    Latin beside East Asian is how names are written there; a letter or two of another script are a symbol of
    mathematics or a joined article.
    """
    families = {family(left.script), family(right.script)}
    short = min(len(left.text), len(right.text)) <= (2 if "greek" in families else 1)
    return not right.before and families != {"latin", "east asian"} and not short


def _letters(found: Sequence[Run]) -> Counter[str]:
    sizes: Counter[str] = Counter()
    for run in found:
        sizes[family(run.script)] += len(run.text)
    return sizes


def _fragments(text: str, book: Book) -> Iterator[Sign]:
    found = share_of_common(text, book)
    if found is None:
        return
    share, script = found
    # There are more languages than the book has words of; what is written like running text may be one of them.
    foreign = share < LEAST.get(script, LEAST_ELSEWHERE) and not written(text)
    if foreign:
        yield Sign("numerics.garbage", 0.6, f"{share:.0%} of the {script} text are common words")
    elif script == "latin" and not written(text):
        kinds = {w.lower() for w in WORD.findall(text)}
        short = sum(w in book.common[script] for w in kinds)
        if len(kinds) >= ENOUGH_WORDS / 2 and short > MOST * len(kinds):
            yield Sign("numerics.garbage", 0.6, f"{short} of {len(kinds)} different words only join others")


def _joints(text: str) -> Iterator[Sign]:
    # In prose a mark is followed by a blank; in code brackets close what was opened.
    joints, words = len(JOINT.findall(text)), len(text.split())
    if joints >= 6 and joints > 0.4 * words and not _balanced(text):
        yield Sign("numerics.garbage", 0.6, f"{joints} marks inside {words} words")


def _decay(text: str, book: Book) -> Iterator[Sign]:
    words = WORD.findall(text)
    if len(words) < 2 * ENOUGH_WORDS:
        return
    cut = _start_of_last(text, ENOUGH_WORDS)
    head, tail = share_of_common(text[:cut], book), share_of_common(text[cut:], book)
    # A text that goes on in another script is no longer measured with the same words.
    if head and tail and head[1] == tail[1] and head[0] > 0.2 and tail[0] == 0:
        yield Sign("numerics.garbage", 1, f"the answer begins as language and decays into {text[cut:][:40]!r}")


def _start_of_last(text: str, count: int) -> int:
    return list(WORD.finditer(text))[-count].start()


def share_of_common(text: str, book: Book) -> tuple[float, str] | None:
    """Return the share of the commonest pieces and the script, None where the text is too short, a list or code."""
    script = main_script(text)
    if script not in book.common or is_code(text):
        return None
    return _by_character(text, script, book) if script in CHARACTER_SCRIPTS else _by_word(text, script, book)


def main_script(text: str) -> str:
    """Return the script that says most in `text`, "" where there is none; Latin words in other scripts are names."""
    sizes: Counter[str] = Counter()
    for run in runs(text):
        sizes[run.script] += len(run.text) * (DENSE if run.script in EAST_ASIAN else 1)
    others = {script: size for script, size in sizes.items() if script != "latin" and size > 0.3 * sizes.total()}
    script = max(others or sizes, key=lambda s: sizes[s], default="")
    # Japanese is written with both.
    return "kana" if script == "han" and sizes["kana"] > 0.1 * sizes["han"] else script


def _by_character(text: str, script: str, book: Book) -> tuple[float, str] | None:
    pieces = book.common["han"] | book.common["kana"] if script == "kana" else book.common[script]
    scripts = {"han", "kana"} if script == "kana" else {script}
    letters = [c for c in text if c.isalpha() and script_of(c) in scripts]
    if len(letters) < ENOUGH_CHARACTERS or is_list(text, len(letters) / 3):
        return None
    return sum(c in pieces for c in letters) / len(letters), script


def _by_word(text: str, script: str, book: Book) -> tuple[float, str] | None:
    words = [w.lower() for w in WORD.findall(text) if script_of(w[0]) == script]
    if len(words) < ENOUGH_WORDS or is_list(text, len(words)):
        return None
    if script in ENDING_SCRIPTS:
        words = [w[-1] for w in words]
    return sum(_is_common(w, script, book) for w in words) / len(words), script


def _is_common(word: str, script: str, book: Book) -> bool:
    # Article and preposition are joined to the word: l'eau, aujourd'hui, الكتاب, والبيت, kädessä.
    common = book.common[script]
    joined = word.startswith(("ال", "وال", "بال")) or (len(word) > 5 and word.endswith(book.endings))
    return word in common or word.partition("'")[0] in common or joined


def is_list(text: str, words: float) -> bool:
    """Say whether the text is a list of things rather than sentences."""
    return len(SEPARATOR.findall(text)) >= 0.28 * words


def is_code(text: str) -> bool:
    """Say whether the text is code, JSON or a formula: many symbols of several kinds, brackets that match."""
    symbols = CODE.findall(text)
    return len(symbols) > 0.03 * len(text) and len({*symbols} - {"(", ")"}) >= 2 and _balanced(text)


def _balanced(text: str) -> bool:
    depth = stray = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if depth < 0:
            stray, depth = stray + 1, 0
    return stray <= 1
