"""Hear the end of a server while its log grows: the same signatures, line by line."""

from relight.diagnosis.match import matcher
from relight.logs.lines import Line
from relight.logs.records import record
from relight.words.knowledge import Knowledge


class Watch:
    """Say when a line was seen after which a server does not live on.

    That is what others say of a death (role cascade) and what ends a server by itself (`fatal`). A traceback alone is
    not: healthy starts print many. `fatal` is the first such line, None while there is none.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self.fatal: Line | None = None
        self._matcher = matcher(knowledge.signatures)

    def feed(self, line: Line) -> bool:
        """Take one line in; say whether it is the first that tells of the end."""
        if self.fatal is not None or not self._ends(line):
            return False
        self.fatal = line
        return True

    def _ends(self, line: Line) -> bool:
        claims = self._matcher.claims(record(line).body)
        return any(c.signature.role == "cascade" or c.signature.fatal for c in claims[:1])
