"""Python tracebacks in a log: blocks, their chains, and lone exception lines."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from relight.logs.records import Record
from relight.words.diagnosis import Frame

Spot: TypeAlias = tuple[str, int, str]
Link: TypeAlias = Literal["during", "cause", ""]

_START = re.compile(r"(?:Exception Group )?Traceback \(most recent call last\):?\s*$")
_FRAME = re.compile(
    r'^[\s|]*(?:File ")?(?P<file>(?<=")[^"]+|[\w./-]+\.py)"?, line (?P<line>\d+)(?:, in (?P<function>.*))?$'
)
_CARETS = re.compile(r"^[\s|]*[\^~]+\s*$")
_BORDER = re.compile(r"^\s*(?:[|+][\s|+-]*)")
_DURING = re.compile(r"During handling of the above exception, another exception occurred")
_CAUSE = re.compile(r"The above exception was the direct cause of the following exception")
_NAMED = re.compile(
    r"^(?P<type>(?:[A-Za-z_][\w<>]*\.)*(?:Exception\b|[A-Za-z_]\w*)"
    r"(?:(?<=Exception)|Error|Exception|Exit|Interrupt|Warning|Failure|Timeout|OutOfResources|ExceptionGroup|NotFound|Unavailable"
    r"|Invalid|Aborted|Refused|DoesNotExist|Expired))(?:: ?(?P<message>.*))?$"
)
# A line of source that is annotated ("self.comm: Comm = connect(") looks like a type and its message.
_ANY = re.compile(
    r"^(?!(?:self|cls)\.|[\w.]+: [\w.\[\], ]+ = )(?P<type>(?:[A-Za-z_][\w<>]*\.)*[A-Za-z_]\w*)(?:: (?P<message>.*))?$"
)
_REPR = re.compile(
    r"^(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception))\((?P<q>['\"])(?P<message>.*?)(?:(?P=q),?\)?)?\s*$"
)
_RAISING = re.compile(r"^(?:assert\b|raise (?P<type>\w+)\b)")
_BARE = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)$")
_CODE = re.compile(r"[a-z]+[A-Z]\w*$")
"""A library's name of an error (ncclSystemError): printed as part of a message, never as an exception's type."""
_STEP = re.compile(r"\[\d+/\d+\] ")
_NATIVE = re.compile(r"\*\*\* \w+|!!!!!!! |Fatal Python error: |terminate called |Segmentation fault\b")
"""How a crash of native code begins to be told: never as part of a message."""
MOST_OPEN = 64
"""Tracebacks that are read at once: of ranks that fail together."""
LONGEST_MESSAGE = 60
"""Lines of one exception's message that are kept."""


@dataclass
class Block:
    """One traceback, or an exception line alone (no frames).

    `text` is the type and the message as printed, its lines joined by blanks; `joined` the same with nothing
    between them, for messages that a terminal cut inside a word. `lines` are the numbers of the message's lines.
    """

    start: Record
    end: Record
    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    link: Link = ""
    rank: str | None = None
    more: list[Record] = field(default_factory=list)
    prefix: str = ""

    @property
    def number(self) -> int:
        """The line that begins with the exception's type."""
        return self.end.number

    def text(self, glue: str = " ") -> str:
        """Return type and message, the message's lines joined by `glue`."""
        parts = [self.message, *(r.body.strip() for r in self.more)]
        message = glue.join(part for part in parts if part)
        return f"{self.type}: {message}" if message else self.type

    @property
    def places(self) -> str:
        """The frames as text: "file function", one a line, the innermost last."""
        return "\n".join(f"{f.file} {f.function}" for f in self.frames)


@dataclass(eq=False)
class _Open:
    start: Record
    indent: int
    frame_indent: int = 0
    frames: list[Frame] = field(default_factory=list)
    link: Link = ""
    source_due: bool = False
    source: Record | None = None
    rank: str | None = None
    prefix: str = ""

    @property
    def last(self) -> Spot | None:
        """Return where it ends so far."""
        return _spot(self.frames[-1]) if self.frames else None


Chain: TypeAlias = list[Block]


class Reader:
    """Read tracebacks line by line; `chains` holds what was found, `taken` the lines that belong to one.

    `cut` is the traceback that still lacked its exception when the log ended, without a type.
    """

    def __init__(self) -> None:
        self.chains: list[Chain] = []
        self.cut: Block | None = None
        self.taken: set[int] = set()
        self._stack: list[_Open] = []
        self._mixed = False
        self._follows: dict[Spot | None, set[Spot]] = {}
        self._last: Block | None = None
        self._message_open = False
        self._link: Link = ""
        self._linked: Chain | None = None
        self._said: Record | None = None

    def feed(self, rec: Record) -> None:
        """Take one record in."""
        body = rec.body
        self._said = rec if body.strip() else self._said
        start = _START.search(body)
        if start:
            self._begin(rec, body[: start.start()])
        elif _FRAME.match(body):
            self._frame(rec, body)
        elif not rec.fresh and self._stack and self._inside(rec, body):
            self.taken.add(rec.number)
        elif _DURING.search(body) or _CAUSE.search(body):
            self._link = "during" if _DURING.search(body) else "cause"
            self._linked = self._chain_of(self._last)
            self._message_open = False
            self.taken.add(rec.number)
        else:
            self._outside(rec, body)

    def _begin(self, rec: Record, before: str) -> None:
        text = _BORDER.sub("", before)
        self._mixed = self._mixed or self._interrupts(rec, text.strip())
        self._stack.append(_Open(rec, len(before) if not text.strip() else 0, rank=rec.rank, prefix=text.strip()))
        self._stack[-1].link, self._link = self._link, ""
        self._message_open = False
        del self._stack[:-MOST_OPEN]
        self.taken.add(rec.number)

    def _interrupts(self, rec: Record, prefix: str) -> bool:
        """Say whether a traceback begins in the middle of another that began alike: ranks write in turns."""
        top = self._stack[-1] if self._stack else None
        unfinished = top is not None and (not top.frames or top.source_due or rec.number - 1 in self.taken)
        return unfinished and top is not None and top.prefix == prefix

    def _frame(self, rec: Record, body: str) -> None:
        match = _FRAME.match(body)
        assert match is not None  # noqa: S101  the caller matched it
        if match["function"] is None and not self._stack:
            return
        if not self._stack:
            self._begin(rec, body[: _indent(body)])
        frame = Frame(match["file"], int(match["line"]), (match["function"] or "").strip())
        spot = _spot(frame)
        if self._mixed:
            self._turn_to([t for t in self._stack if spot in self._follows.get(t.last, ())] or self._leading())
        top = self._stack[-1]
        self._follows.setdefault(top.last, set()).add(spot)
        top.frames.append(frame)
        top.source_due, top.frame_indent = True, _indent(body)
        self.taken.add(rec.number)

    def _turn_to(self, fit: Sequence[_Open]) -> None:
        """Bring the last of these open tracebacks to the top where ranks that fail alike write their lines in turns."""
        if fit:
            self._stack.sort(key=lambda t: t is fit[-1])

    def _leading(self) -> list[_Open]:
        """Return the open tracebacks that are as far as any, so that what comes next for them was not seen yet."""
        return sorted((t for t in self._stack if not self._follows.get(t.last)), key=lambda t: len(t.frames))

    def _inside(self, rec: Record, body: str) -> bool:
        """Say whether the line belongs to the open traceback (and close it on the exception's line)."""
        bare = _BORDER.sub("", body) if body.lstrip()[:1] in {"|", "+"} else body
        if self._mixed:
            self._turn_to([t for t in self._stack if t.source_due][:1] if _indent(bare) else self._leading())
        top = self._stack[-1]
        if _CARETS.match(body) or re.match(r"\s*\[Previous line repeated", body):
            return True
        found = _exception(bare, strict=not top.frames)
        source_due, top.source_due = top.source_due, False
        if source_due and (_indent(bare) > top.indent or not found):
            self._note_source(top, bare)
            top.source = rec
            return bool(bare.strip())
        if found and (_indent(bare) <= top.indent or self._pasted(top, bare)):
            self._close(rec, found)
            return True
        return bool(bare.strip()) and _indent(bare) > top.indent and bool(top.frames)

    @staticmethod
    def _pasted(top: _Open, bare: str) -> bool:
        """Say whether a line ends a traceback that was indented as a whole, but for the line it began with."""
        return _indent(bare) == top.frame_indent and _NAMED.match(bare.strip()) is not None

    @staticmethod
    def _note_source(top: _Open, bare: str) -> None:
        if top.frames:
            last = top.frames[-1]
            top.frames[-1] = Frame(last.file, last.line, last.function, bare.strip())

    def _close(self, rec: Record, found: tuple[str, str]) -> None:
        top = self._stack.pop()
        block = Block(top.start, rec, *found, tuple(top.frames), top.link, top.rank, prefix=top.prefix)
        if top.link and self._linked is not None:
            self._linked.append(block)
        else:
            self.chains.append([block])
        self._last, self._message_open = block, True
        if not self._stack:
            self._mixed, self._follows = False, {}

    def close(self) -> None:
        """End the log: a traceback cut before its exception counts where its last line asserts or raises."""
        ended = self._said is not None and self._said.number in self.taken
        for top in self._stack:
            raising = _RAISING.match(top.frames[-1].text) if top.frames else None
            if raising and top.source is not None:
                kind = raising["type"] or "AssertionError"
                block = Block(top.start, top.source, kind, top.frames[-1].text, tuple(top.frames), rank=top.rank)
                self.chains.append([block])
            elif ended and top is self._stack[-1]:
                self.cut = Block(top.start, top.start, "", "", tuple(top.frames), rank=top.rank)
        self._stack.clear()

    def _outside(self, rec: Record, body: str) -> None:
        found = _exception(_BORDER.sub("", body) if body.lstrip()[:1] == "|" else body.strip(), strict=True)
        if found and not (self._message_open and _CODE.match(found[0]) and _continues(rec)):
            block = Block(rec, rec, *found, rank=rec.rank)
            self.chains.append([block])
            self._last, self._message_open = block, True
            self.taken.add(rec.number)
        elif self._last and self._message_open and self._continued(self._last, rec):
            self._last.more.append(rec)
        elif self._message_open and _STEP.match(body):
            pass  # a build tells its steps between what it says
        else:
            self._message_open = False

    @staticmethod
    def _continued(block: Block, rec: Record) -> bool:
        """Say whether a line goes on with the message of a block; a message may begin on the line after the type."""
        if rec.writer != block.end.writer or rec.rank not in {None, block.end.rank} or _NATIVE.match(rec.body):
            return False
        begins = not (block.message or block.more) and not rec.fresh and bool(rec.body.strip())
        return (begins or _continues(rec)) and len(block.more) < LONGEST_MESSAGE

    def _chain_of(self, block: Block | None) -> Chain | None:
        if block is None:
            return self.chains[-1] if self.chains else None
        return next((chain for chain in reversed(self.chains) if chain[-1] is block), None)


def _exception(text: str, *, strict: bool) -> tuple[str, str] | None:
    if strict and text[:1].isspace():
        return None
    bare = text.strip()
    quoted = _REPR.match(bare)
    if quoted and strict:
        return quoted["type"], quoted["message"]
    match = _NAMED.match(bare) or (None if strict else _ANY.match(bare))
    if match is None or (strict and match["message"] is None and not _BARE.match(bare)):
        return None
    return match["type"], (match["message"] or "").strip()


def names_exception(text: str) -> bool:
    """Say whether a line begins with the type of an exception."""
    return _exception(text, strict=True) is not None


def _continues(rec: Record) -> bool:
    return not rec.fresh and rec.level is None and bool(rec.body.strip()) and rec.body[:1] != "["


def _spot(frame: Frame) -> Spot:
    return frame.file, frame.line, frame.function


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def read(records: Iterable[Record]) -> Reader:
    """Read all tracebacks of a log."""
    reader = Reader()
    for rec in records:
        reader.feed(rec)
    return reader


def innermost(frames: Sequence[Frame]) -> Frame | None:
    """Return the innermost frame, None where there is none."""
    return frames[-1] if frames else None
