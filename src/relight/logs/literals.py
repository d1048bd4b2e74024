"""Which of many literals occur in a text, without regard to case."""

import re
from collections.abc import Iterable, Sequence

try:
    import ahocorasick
except ImportError:  # the pure fallback gives the same answers, slower
    ahocorasick = None


class Literals:
    """Find literals in texts: one pass over the text, however many there are."""

    def __init__(self, literals: Iterable[str]) -> None:
        self.all: tuple[str, ...] = tuple(dict.fromkeys(text.lower() for text in literals))
        self._find = _automaton(self.all) if ahocorasick else _alternation(self.all)

    def find(self, text: str) -> set[int]:
        """Return the positions in `all` of the literals that occur in `text`."""
        found: set[int] = self._find(text.lower())
        return found


def _automaton(literals: Sequence[str]):  # type: ignore[no-untyped-def]  # noqa: ANN202  the library has no types
    machine = ahocorasick.Automaton()
    for index, text in enumerate(literals):
        machine.add_word(text, index)
    machine.make_automaton()

    def find(text: str) -> set[int]:
        found: set[int] = {index for _, index in machine.iter(text)} if literals else set()
        return found

    return find


def _alternation(literals: Sequence[str]):  # type: ignore[no-untyped-def]  # noqa: ANN202
    # A lookahead finds overlapping literals; one that is a prefix of another is looked for at the same place.
    regex = re.compile("(?=(" + "|".join(re.escape(x) for x in sorted(literals, key=len, reverse=True)) + "))")
    place = {text: i for i, text in enumerate(literals)}
    inside = {a: {place[b] for b in literals if b in a} for a in literals}

    def find(text: str) -> set[int]:
        return {i for m in regex.finditer(text) if m[1] for i in inside[m[1]]}

    return find
