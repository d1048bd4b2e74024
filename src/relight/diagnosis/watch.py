"""Watch a log while it grows: say at once that something died."""

from dataclasses import dataclass
from typing import Literal

from relight.diagnosis.match import Matcher, matcher
from relight.diagnosis.traceback import Reader
from relight.logs.lines import Line
from relight.logs.records import Record, record
from relight.words.knowledge import Knowledge


@dataclass(frozen=True)
class Seen:
    """A line that shows a crash: a possible root, or a consequence (cascade); `fatal` ends the server by itself."""

    line: int
    role: Literal["root", "cascade"]
    text: str
    signature: str | None = None
    fatal: bool = False


class Watch:
    """Fed line by line; `seen` keeps what showed a crash, in order.

    An exception may still be caught and survived, so a root alone is a hint; a cascade line means that the tree is
    being taken down, and a line whose signature is `fatal` ends the server even where its process stays.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self._matcher: Matcher = matcher(knowledge.signatures)
        self._reader = Reader()
        self.seen: list[Seen] = []

    @property
    def crashed(self) -> bool:
        """Say whether a consequence of a crash was seen, or a line that ends the server by itself."""
        return any(seen.role == "cascade" or seen.fatal for seen in self.seen)

    def feed(self, line: Line) -> Seen | None:
        """Take one line in and return what it shows, None where it shows nothing."""
        return self.read(record(line))

    def read(self, rec: Record) -> Seen | None:
        """Take in a record already understood and return what it shows."""
        chains = len(self._reader.chains)
        self._reader.feed(rec)
        if rec.number in self._reader.taken and len(self._reader.chains) == chains:
            return None
        claims = [c.signature for c in self._matcher.claims(rec.body)]
        if claims and claims[0].role in {"advice", "noise", "confirmation"}:
            return None
        new = len(self._reader.chains) > chains
        if not (claims or new):
            return None
        role: Literal["root", "cascade"] = "cascade" if claims and claims[0].role == "cascade" else "root"
        if role == "root" and not new and rec.fresh and not claims[0].fatal:
            return None
        fatal = bool(claims) and claims[0].fatal
        return self._saw(Seen(rec.number, role, rec.body.strip(), claims[0].id if claims else None, fatal))

    def _saw(self, seen: Seen) -> Seen:
        self.seen.append(seen)
        return seen
