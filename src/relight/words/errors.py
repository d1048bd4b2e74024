"""Errors that reach a user.

RelightError             1
+-- UsageError           2   wrong usage or a wrong file
+-- UnreachableError     3   host unreachable or its key not trusted
+-- PersonError          5   needs a person
+-- BusyError            6   another run holds these GPUs or this port
"""

from typing import ClassVar


class RelightError(Exception):
    """Something a person can act on: where it is, what is wrong, what to do next."""

    exit_status: ClassVar[int] = 1

    def __init__(self, text: str, *, place: str = "", next: str = "") -> None:  # noqa: A002  the contract's own word
        super().__init__(text)
        self.text = text
        self.place = place
        self.next = next

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place else ""
        after = f" ({self.next})" if self.next else ""
        return f"{place}{self.text}{after}"


class UsageError(RelightError):
    """A command line or a file that cannot be used as it is."""

    exit_status = 2


class UnreachableError(RelightError):
    """A host that does not answer, refuses the login, or shows a key nobody accepted.

    `passing` where only the link is missing: that may be had again later.
    """

    exit_status = 3
    passing: bool = False


class PersonError(RelightError):
    """A state that only a person can change."""

    exit_status = 5


class BusyError(RelightError):
    """GPUs or a port held by another relight or by the server of an earlier run."""

    exit_status = 6
