"""What a report is made of: a few kinds of block, which every format knows how to set.

All text in here is already plain and redacted (words/text.py); a format only escapes it for its own syntax.
"""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Tone: TypeAlias = Literal["good", "bad", "warn", "plain"]


@dataclass(frozen=True)
class Code:
    """A word of a prose text that is set as code: a flag, a value, a file."""

    text: str


# A line end in it breaks the line in a table's cell.
Prose: TypeAlias = tuple[str | Code, ...]


def words(prose: Prose, mark: str = "") -> str:
    """Return prose as one string, code between `mark` and `mark`."""
    return "".join(p if isinstance(p, str) else f"{mark}{p.text}{mark}" for p in prose)


@dataclass(frozen=True)
class Para:
    """A paragraph; `label` names what it tells (cause, repair), empty for none."""

    prose: Prose
    label: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True)
class Bullets:
    """A list of short paragraphs."""

    items: tuple[Prose, ...]
    label: str = ""


@dataclass(frozen=True)
class Pairs:
    """Names and values."""

    rows: tuple[tuple[str, Prose], ...]


@dataclass(frozen=True)
class Table:
    """A table; `tones` colours a row by its position, `caption` says what it shows."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Prose, ...], ...]
    tones: tuple[Tone, ...] = ()

    def tone(self, row: int) -> Tone:
        """Return the tone of a row."""
        return self.tones[row] if row < len(self.tones) else "plain"


@dataclass(frozen=True)
class Edit:
    """One line of a change to a command: `-` goes, `+` comes; `env` for a variable."""

    sign: Literal["-", "+"]
    text: str
    env: bool = False


@dataclass(frozen=True)
class Edits:
    """A change, as lines of a command; `note` says why. `told` was told before and can be set in fewer lines."""

    label: str
    edits: tuple[Edit, ...]
    note: Prose = ()
    told: bool = False


@dataclass(frozen=True)
class Choice:
    """One proposed repair and what became of it: `lines` are its edits in their shortest form.

    `passed` was passed over: `became` says for what.
    """

    lines: tuple[str, ...]
    became: str
    tone: Tone
    why: Prose
    costs: Prose = ()
    passed: bool = False


@dataclass(frozen=True)
class Choices:
    """All repairs of one failure, the one that was taken and those passed over."""

    label: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Row:
    """One line of an excerpt. `gap` (number None) stands for lines left out.

    `marks` are [start, end) columns of `text` that matter, with what is said below them.
    """

    number: int | None
    text: str
    marks: tuple[tuple[int, int, str], ...] = ()

    @property
    def gap(self) -> bool:
        """Say whether this row stands for lines left out."""
        return self.number is None


@dataclass(frozen=True)
class Excerpt:
    """Numbered lines of a log or of a source file; where the like was `told` before, its marked lines say enough."""

    label: str
    place: str
    rows: tuple[Row, ...]
    told: bool = False


@dataclass(frozen=True)
class Command:
    """A command ready to paste: lines of a shell, the continuations included."""

    lines: tuple[str, ...]
    label: str = ""


@dataclass(frozen=True)
class Sums:
    """Arithmetic, one line each."""

    label: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Bar:
    """One phase of one attempt: seconds since the attempt began; `broken` where it failed."""

    phase: str
    start: float
    end: float
    broken: bool = False


@dataclass(frozen=True)
class Lane:
    """One attempt on the timeline. `memory` holds (seconds, MiB); `length` is seconds."""

    n: int
    word: str
    tone: Tone
    bars: tuple[Bar, ...]
    length: float
    memory: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True)
class Timeline:
    """Launches side by side, from the start of each; `total` is the memory of a card in MiB, 0 if unknown."""

    lanes: tuple[Lane, ...]
    phases: tuple[str, ...]
    total: int = 0

    @property
    def longest(self) -> float:
        """Return the length of the longest lane in seconds."""
        return max((lane.length for lane in self.lanes), default=0.0)


Block: TypeAlias = Para | Bullets | Pairs | Table | Edits | Choices | Excerpt | Command | Sums | Timeline


@dataclass(frozen=True)
class Section:
    """A part of a report. `folded` parts are closed at first where the format can fold; `gist` is then still seen.

    `long` parts are closed at first on a small screen only. `spare` parts repeat what can be put together from others:
    a format that cannot fold leaves them out.
    """

    id: str
    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple["Section", ...] = ()
    folded: bool = False
    long: bool = False
    tone: Tone = "plain"
    tag: str = ""
    gist: Prose = ()
    spare: bool = False

    def __bool__(self) -> bool:
        return bool(self.blocks or self.sections)


@dataclass(frozen=True)
class Story:
    """A report, before it is set: the verdict, the facts at the head, what matters now, then the details."""

    run: str
    title: str
    word: str
    tone: Tone
    verdict: Prose
    head: Pairs
    folder: str = ""
    sections: tuple[Section, ...] = field(default_factory=tuple)
