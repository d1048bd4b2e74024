"""Is the process that answers on the port ours? Another server answers just as well."""

from collections.abc import Collection, Sequence
from typing import Literal, TypeAlias

from relight.words.host import Listener

Ownership: TypeAlias = Literal["ours", "foreign", "unseen", "none"]


def ownership(listeners: Sequence[Listener], port: int, tree: Collection[int]) -> Ownership:
    """Say whose the port is: `tree` are the pids of our launch; `unseen` when the owner may not be looked at.

    Several processes may listen on one port (another address, or a shared socket); one that is not ours is enough to
    doubt every answer.
    """
    pids = [listener.pid for listener in listeners if listener.port == port]
    if not pids:
        return "none"
    if any(pid is not None and pid not in tree for pid in pids):
        return "foreign"
    return "unseen" if None in pids else "ours"
