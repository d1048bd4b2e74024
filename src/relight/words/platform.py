"""What a server runs on, as data: how a log shows it, and what is not there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Platform:
    """A kind of device: shown by a value of --device, or by `words` of a log.

    `absent` are the flags and variables (a name may end in *) that nothing reads there, `values` the values of a flag
    that exist there. With the variables `waiting` every call waits for its kernel.
    """

    name: str
    device: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    waiting: Mapping[str, str] = field(default_factory=dict)

    def reads(self, name: str) -> bool:
        """Say whether anything there reads a flag or an environment variable."""
        return not any(fnmatchcase(name, pattern) for pattern in self.absent)

    def takes(self, flag: str, value: object) -> bool:
        """Say whether a value of a flag exists there."""
        known = self.values.get(flag)
        return self.reads(flag) and (known is None or str(value) in known)


@dataclass(frozen=True)
class Card:
    """A kind of GPU, told by `words` of its name, and the values of flags for which it has no kernels.

    Such a value is not chosen while another way is open; who asks for it is not refused, since versions differ.
    """

    name: str
    words: tuple[str, ...] = ()
    lacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
