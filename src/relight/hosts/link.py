"""A way to a host: something that starts commands there and gives their stdin and stdout."""

from typing import Protocol

from relight.hosts.pace import Pace


class LinkError(Exception):
    """The link was lost, stalled or could not be had this time: trying again may help."""


class SilentError(LinkError):
    """The link shows no sign of life: it may be lost, or only slow."""


class CommandError(Exception):
    """The command could not be started on the host; trying the same again does not help."""


class Pipe(Protocol):
    """Stdin and stdout of one command on the host. `heard` is when its connection last gave a byte (monotonic)."""

    @property
    def heard(self) -> float:
        """Return when a byte last came over the connection, for this command or for another."""

    def send(self, data: bytes) -> None:
        """Send every byte. Raises LinkError."""

    def recv(self, timeout: float) -> bytes | None:
        """Return bytes, b"" at the end of the stream, None when none came in time. Raises LinkError."""

    def errors(self) -> str:
        """Return what the command wrote to stderr so far, without waiting."""

    def exit_code(self) -> int | None:
        """Return how the command ended, None while it runs or where that is not known."""

    def end(self) -> None:
        """Close its stdin: the command is to come to its end."""

    def close(self) -> None:
        """Give it up."""

    def abandon(self) -> None:
        """Give up the connection it runs over too: that is lost or stalled. A newer connection is not touched."""

    def doubt(self) -> None:
        """Give it up; what is started next has a new connection, unless this one is heard again before that is made."""


class Link(Protocol):
    """A connection to a host, made when first needed and made anew when it was lost."""

    @property
    def pace(self) -> Pace:
        """Return what is known of how long it takes."""

    def start(self, line: str, *, timeout: float) -> Pipe:
        """Start a command. Raises LinkError, or UnreachableError for what trying again cannot mend."""

    def close(self) -> None:
        """Give up for good."""
